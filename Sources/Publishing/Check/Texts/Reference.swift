/// A place in a text that names another resource.
struct Reference: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    // In pages
    case script, moduleScript, stylesheet, image, media, frame, icon, hint, appManifest, link
    // In style sheets
    case styleImport, styleURL
    // In scripts
    case staticImport, dynamicImport, moduleURL, moduleStyle
    case sourceMap
    // In web app manifests
    case appIcon, appPage

    /// Whether it means something only in a script that a page loads as a module.
    var isOfModule: Bool { self == .staticImport || self == .dynamicImport || self == .moduleStyle }

    /// Whether a page is broken when such a reference leads nowhere.
    var breaksPages: Bool {
      switch self {
      case .script, .moduleScript, .stylesheet, .image, .media, .frame, .styleImport, .styleURL,
        .staticImport,
        .dynamicImport, .moduleStyle:
        true
      case .icon, .hint, .appManifest, .link, .moduleURL, .sourceMap, .appIcon, .appPage: false
      }
    }
  }

  let kind: Kind
  /// What the URL parser is given: escapes and character references are decoded.
  let text: String
  /// The byte of the file at which it stands.
  let at: Int
  /// Whether it is fetched when the file that holds it is used, and as it is written.
  var isCertain = true
  /// Alternatives of which a browser takes the first that it can use (the `src` of one @font-face) share a number.
  var group: Int?

  /// Whether the text holds what a server or a script will put something else in place of.
  var isPlaceholder: Bool { Placeholder.isIn(text) }
}
