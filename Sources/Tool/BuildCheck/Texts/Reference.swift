import Values

/// A reference to another resource in a text.
package struct Reference: Hashable, Sendable {
  /// How the target is loaded, which determines whether it may be missing.
  package enum Kind: Hashable, Sendable {
    // In pages
    case script, moduleScript, stylesheet, image, media, frame, icon, preload, hint, appManifest, link
    // In style sheets
    case styleImport, styleURL
    // In scripts
    case staticImport, dynamicImport, moduleURL, moduleStyle
    case sourceMap
    // In web app manifests
    case appIcon, appPage

    /// Whether it is meaningful only in a script that a page loads as a module.
    var isOfModule: Bool { self == .staticImport || self == .dynamicImport || self == .moduleStyle }

    /// Whether the target is opened as a document, so that a fallback page may answer.
    package var isNavigation: Bool { self == .link || self == .appPage || self == .frame }

    /// Whether a page that opens loads the target at once, be it through other such files.
    var isLoadedAtOnce: Bool { self == .preload || leadsOn }

    /// Whether what the target itself refers to is loaded with it.
    var leadsOn: Bool {
      switch self {
      case .script, .moduleScript, .stylesheet, .styleImport, .staticImport: true
      default: false
      }
    }

    /// Whether a missing target breaks a page.
    package var breaksPages: Bool {
      switch self {
      case .script, .moduleScript, .stylesheet, .image, .media, .frame, .styleImport, .styleURL,
        .staticImport,
        .dynamicImport, .moduleStyle:
        true
      case .icon, .preload, .hint, .appManifest, .link, .moduleURL, .sourceMap, .appIcon, .appPage: false
      }
    }
  }

  package let kind: Kind
  /// The URL parser's input, with escapes and character references decoded.
  package let text: String
  /// The offset in the file, in bytes.
  package let at: Int
  /// Whether the target is fetched, exactly as written, when the file is used.
  package var isCertain = true
  /// A number shared by alternatives of which a browser takes the first that it can use (the `src` of one @font-face).
  var group: Int?

  /// Whether the text contains a placeholder that a server or a script replaces.
  var isPlaceholder: Bool { Placeholder.isIn(text) }
}

/// Placeholders of templates, which a server or a script replaces.
///
/// A file name that contains such marks is taken for a placeholder, too, and nothing is reported, which is better than a
/// false error about a text that isn't a URL yet.
enum Placeholder {
  static func isIn(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    // Too long for a URL that can be published.
    if bytes.count > ResourceURL.limit { return true }
    if let first = bytes.first, "~@$".utf8.contains(first) { return true }
    return bytes.indices.contains { isMark(bytes, at: $0) }
  }

  private static func isMark(_ bytes: [UInt8], at: Int) -> Bool {
    let next = at + 1 < bytes.count ? bytes[at + 1] : 0
    switch bytes[at] {
    // `{{ root }}`, `${root}`, `<%= root %>`, `" + root + "`
    case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""),
      UInt8(ascii: "'"), UInt8(ascii: "`"):
      return true
    case UInt8(ascii: "["): return next == UInt8(ascii: "[")
    case UInt8(ascii: "$"): return next == UInt8(ascii: "$") || next == UInt8(ascii: "(")
    // `%PUBLIC_URL%`, `%s`: not an escape
    case UInt8(ascii: "%"):
      return at + 2 >= bytes.count || TextBytes.hexValue(next) == nil
        || TextBytes.hexValue(bytes[at + 2]) == nil
    // `__PUBLIC_PATH__`
    case UInt8(ascii: "_"):
      guard next == UInt8(ascii: "_"), at == 0 || bytes[at - 1] != UInt8(ascii: "_") else { return false }
      let name = bytes[(at + 2)...].prefix { isCapital($0) }
      return name.count > 3 && name.suffix(2).elementsEqual("__".utf8)
    default: return false
    }
  }

  private static func isCapital(_ byte: UInt8) -> Bool {
    byte >= 0x41 && byte <= 0x5A || byte == UInt8(ascii: "_") || byte >= 0x30 && byte <= 0x39
  }
}
