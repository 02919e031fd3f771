/// What a page refers to, and what its text says of itself.
struct PageContent {
  var references: [Reference] = []
  /// The `href` of the first `<base>` that has one.
  var base: (text: String, at: Int)?
  /// Whether its relative URLs are resolved against an address that only a script or a template knows.
  var hasUnknownBase = false
  /// Whether it is a document by itself, not a piece that something puts into another page.
  var isDocument = false
  /// Whether it says its encoding where browsers look for it: by a byte order mark, or within 1,024 bytes.
  var saysCharset = false
  /// Names that an import map gives addresses for.
  var importMap: [(name: String, address: String, at: Int)] = []
}
