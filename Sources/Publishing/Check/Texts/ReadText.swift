import Manifests

/// A text that was read for what it refers to.
struct ReadText {
  let form: TextForm
  /// In their order.
  private(set) var references: [Reference] = []
  private(set) var isDocument = false
  private(set) var saysCharset = false
  /// Names that the page gives addresses for.
  private(set) var importMap: [String] = []
  /// False for what isn't what its name says.
  private(set) var isReadable = true
  private let own: ResourceURL
  /// What relative references are resolved against; nil: only a script knows.
  private var base: ResourceURL?

  init(_ form: TextForm, _ bytes: [UInt8], at url: ResourceURL) {
    self.form = form
    own = url
    base = url
    switch form {
    case .page: read(PageScanner.content(bytes))
    case .style: references = StyleScanner.references(bytes)
    case .script: references = ScriptScanner.content(bytes).references
    case .sourceMap: isReadable = bytes.isEmpty || Self.isSourceMap(bytes)
    case .manifest: read(manifest: bytes)
    }
  }

  /// The absolute URL; nil for what is no http URL, leads to the text itself, stands for something else, or has no base
  /// that is known.
  func url(of reference: Reference) -> ResourceURL? {
    guard !reference.isPlaceholder, let base = URLResolver.isRelative(reference.text) ? base : own,
      case .url(let url) = URLResolver(base: base).resolve(reference.text)
    else { return nil }
    return url
  }

  private mutating func read(_ content: PageContent) {
    isDocument = content.isDocument
    saysCharset = content.saysCharset
    importMap = content.importMap.map(\.name)
    references = content.references
    if content.hasUnknownBase {
      base = nil
    } else if let given = content.base {
      switch URLResolver(base: own).resolve(given.text) {
      case .url(let url): base = url
      case .itself: break
      // No http URL: what is resolved against it is none, too.
      case .other: base = nil
      }
    }
    if isDocument { return }
    // Whoever puts the piece into a page gives it that page's base.
    for index in references.indices { references[index].isCertain = false }
  }

  private mutating func read(manifest bytes: [UInt8]) {
    if bytes.isEmpty { return }
    guard let json = try? JSONValue.parse(bytes), json.object != nil else {
      isReadable = false
      return
    }
    references = ManifestScanner.references(json, bytes)
  }

  private static func isSourceMap(_ bytes: [UInt8]) -> Bool {
    let start = bytes.drop { TextBytes.isSpace($0) }
    // ")]}'" in front keeps a map from being run as a script, and is part of the format.
    return start.first == UInt8(ascii: "{") || start.starts(with: ")]}'".utf8)
  }
}
