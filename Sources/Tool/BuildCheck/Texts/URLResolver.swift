import Values

/// Resolves references to absolute URLs (WHATWG URL standard, section 4.4, for http and https bases).
struct URLResolver {
  enum Target: Hashable {
    case url(ResourceURL)
    /// The document itself, or a fragment of it.
    case itself
    /// Not an http URL, or not a URL at all.
    case other
  }

  let base: ResourceURL

  /// Whether the text has no scheme and host, so that it needs a base.
  static func isRelative(_ text: String) -> Bool { scheme(text) == nil && !text.hasPrefix("//") }

  func resolve(_ text: String) -> Target {
    // "Remove all ASCII tab or newline from input."
    let written = text.utf8.contains { $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
    let text = TextBytes.trimmed(
      written
        ? String(decoding: text.utf8.filter { $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
        : text)
    guard let first = text.utf8.first, first != UInt8(ascii: "#") else { return .itself }
    guard let absolute = absolute(text, first), let url = try? ResourceURL(absolute) else { return .other }
    return .url(url)
  }

  private func absolute(_ text: String, _ first: UInt8) -> String? {
    if let scheme = Self.scheme(text) {
      let rest = text.utf8.dropFirst(scheme.utf8.count + 1)
      guard scheme == "http" || scheme == "https", rest.starts(with: "//".utf8) else { return nil }
      return text
    }
    if text.hasPrefix("//") || text.hasPrefix("\\\\") { return "\(base.scheme):\(text)" }
    if first == UInt8(ascii: "/") || first == UInt8(ascii: "\\") {
      return "\(base.scheme)://\(base.authority)\(text)"
    }
    if first == UInt8(ascii: "?") { return base.withoutQuery + text }
    let folder = base.withoutQuery.utf8.lastIndex(of: UInt8(ascii: "/")).map { base.text[...$0] } ?? ""
    return folder + text
  }

  /// Returns the lowercased text before a colon if it can be a scheme.
  private static func scheme(_ text: String) -> String? {
    guard let first = text.utf8.first, TextBytes.isLetter(first),
      let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
    else { return nil }
    let name = text.utf8[..<colon]
    let isScheme = name.allSatisfy {
      TextBytes.isLetter($0) || TextBytes.isDigit($0) || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-")
        || $0 == UInt8(ascii: ".")
    }
    return isScheme ? String(name)?.lowercased() : nil
  }
}
