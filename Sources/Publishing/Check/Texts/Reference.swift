/// A place in a text that names another resource.
struct Reference: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    // In pages
    case script, moduleScript, stylesheet, image, media, frame, icon, hint, appManifest, link
    // In style sheets
    case styleImport, styleURL
    // In scripts
    case staticImport, dynamicImport, moduleURL
    case sourceMap
    // In web app manifests
    case appIcon, appPage

    /// Whether a page is broken when such a reference leads nowhere.
    var breaksPages: Bool {
      switch self {
      case .script, .moduleScript, .stylesheet, .image, .media, .frame, .styleImport, .styleURL,
        .staticImport,
        .dynamicImport:
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

/// Marks of templates, which stand for what isn't known before somebody fills them in.
enum Placeholder {
  private static let marks = ["{{", "}}", "{%", "<%", "%>", "${", "#{", "<?", "[[", "@{", "$$", "%%"]

  static func isIn(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.contains(where: { mayMark($0) }) else { return false }
    return marks.contains { contains(bytes, Array($0.utf8)) } || hasNamed(bytes)
  }

  private static func mayMark(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "<"), UInt8(ascii: "%"), UInt8(ascii: "$"),
      UInt8(ascii: "["), UInt8(ascii: "_"), UInt8(ascii: "#"):
      true
    default: false
    }
  }

  private static func contains(_ bytes: [UInt8], _ mark: [UInt8]) -> Bool {
    guard bytes.count >= mark.count else { return false }
    return (0...(bytes.count - mark.count)).contains { bytes[$0..<($0 + mark.count)].elementsEqual(mark) }
  }

  /// `__PUBLIC_PATH__`, `%PUBLIC_URL%`, `{name}`: capital letters between such signs, or any name in braces.
  private static func hasNamed(_ bytes: [UInt8]) -> Bool {
    var at = 0
    while at < bytes.count {
      if let end = named(bytes, at) { return end > at }
      at += 1
    }
    return false
  }

  private static func named(_ bytes: [UInt8], _ start: Int) -> Int? {
    switch bytes[start] {
    case UInt8(ascii: "{"):
      return bytes[start...].firstIndex(of: UInt8(ascii: "}"))
    case UInt8(ascii: "%"):
      let name = bytes[(start + 1)...].prefix { isCapital($0) }
      // `%AB` is an escape: a name is longer, and ends in the same sign.
      return name.count > 2 && name.endIndex < bytes.count && bytes[name.endIndex] == UInt8(ascii: "%")
        ? name.endIndex : nil
    case UInt8(ascii: "_") where start + 1 < bytes.count && bytes[start + 1] == UInt8(ascii: "_"):
      let name = bytes[(start + 2)...].prefix { isCapital($0) }
      return name.count > 3 && name.suffix(2).elementsEqual("__".utf8) ? name.endIndex : nil
    default: return nil
    }
  }

  private static func isCapital(_ byte: UInt8) -> Bool {
    byte >= 0x41 && byte <= 0x5A || byte == UInt8(ascii: "_") || byte >= 0x30 && byte <= 0x39
  }
}
