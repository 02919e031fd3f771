import Manifests

/// A place in a text that names another resource.
package struct Reference: Hashable, Sendable {
  /// What it is loaded as, which decides whether it may be missing.
  package enum Kind: Hashable, Sendable {
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
    package var breaksPages: Bool {
      switch self {
      case .script, .moduleScript, .stylesheet, .image, .media, .frame, .styleImport, .styleURL,
        .staticImport,
        .dynamicImport, .moduleStyle:
        true
      case .icon, .hint, .appManifest, .link, .moduleURL, .sourceMap, .appIcon, .appPage: false
      }
    }
  }

  package let kind: Kind
  /// What the URL parser is given: escapes and character references are decoded.
  package let text: String
  /// The byte of the file at which it stands.
  package let at: Int
  /// Whether it is fetched when the file that holds it is used, and as it is written.
  package var isCertain = true
  /// Alternatives of which a browser takes the first that it can use (the `src` of one @font-face) share a number.
  var group: Int?

  /// Whether the text holds what a server or a script will put something else in place of.
  var isPlaceholder: Bool { Placeholder.isIn(text) }
}

/// Marks of templates, which stand for what isn't known before a server or a script fills them in.
///
/// A file whose name holds such marks is taken for a placeholder, too: then nothing is said of it, which is better than
/// an error about a text that is no address yet.
enum Placeholder {
  static func isIn(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    // No address that could be published.
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
    // `%PUBLIC_URL%`, `%s`: no escape
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
