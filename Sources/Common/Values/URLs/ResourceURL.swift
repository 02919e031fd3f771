/// The absolute http or https URL of a resource, without fragment, as the WHATWG URL serialiser writes it.
///
/// The text is ASCII, so URLs sort by their bytes.
package struct ResourceURL: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The maximum length in bytes, as serialised.
  package static let limit = 4096

  package let text: String
  // 16 bits are enough, since a path ends within `limit`.
  private let pathStart: UInt16
  private let pathEnd: UInt16

  /// Parses a URL as a browser would, but refuses tabs, line breaks, user names and hosts outside ASCII.
  package init(_ text: String) throws(ResourceURLError) {
    if PlainURL.isPlain(text) {
      self = ResourceURL(serialised: text)
      return
    }
    var parser = URLTextParser(text)
    let parsed = try parser.parse()
    self = ResourceURL(text: parsed.text, path: parsed.path)
  }

  /// Creates a URL from the text of another one, without parsing it again.
  package init(serialised text: String) {
    let bytes = text.utf8Bytes
    var at = 8
    func advance(to byte: UInt8) { while at < bytes.count, bytes[at] != byte { at += 1 } }
    advance(to: UInt8(ascii: "/"))
    let path = at
    advance(to: UInt8(ascii: "?"))
    self.init(text: text, path: path..<at)
  }

  private init(text: String, path: Range<Int>) {
    self.text = text
    pathStart = UInt16(path.lowerBound)
    pathEnd = UInt16(path.upperBound)
  }

  package var description: String { text }

  /// `http` or `https`.
  package var scheme: String { text.utf8.dropFirst(4).first == UInt8(ascii: "s") ? "https" : "http" }

  /// The host and, unless it is the scheme's default, the port: `m.example.com:8080`.
  package var authority: Substring {
    let start = text.utf8.index(text.startIndex, offsetBy: scheme.utf8.count + 3)
    return text[start..<index(pathStart)]
  }

  /// The host without port; an IPv6 address in its brackets.
  package var host: Substring {
    let authority = authority
    guard let last = authority.utf8.lastIndex(of: UInt8(ascii: ":")),
      !authority[last...].utf8.contains(UInt8(ascii: "]"))
    else { return authority }
    return authority[..<last]
  }

  /// The path, from its first `/`.
  package var path: Substring { text[index(pathStart)..<index(pathEnd)] }

  /// The query without its `?`; nil if the URL has none.
  package var query: Substring? {
    let rest = text[index(pathEnd)...]
    return rest.isEmpty ? nil : rest.dropFirst()
  }

  /// The URL without its query.
  package var withoutQuery: Substring { text[..<index(pathEnd)] }

  private func index(_ offset: UInt16) -> String.Index {
    text.utf8.index(text.startIndex, offsetBy: Int(offset))
  }

  package static func == (a: ResourceURL, b: ResourceURL) -> Bool { a.text == b.text }
  package static func < (a: ResourceURL, b: ResourceURL) -> Bool { a.text < b.text }
  package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension ResourceURL {
  /// Returns the URL of a file under `base`: `path`, with `/` between its parts, percent-encoded byte by byte.
  ///
  /// Escapes the standard's path set and `%`, `?`, `#` and `\`, which are literal in a file name. A path that
  /// ends in `/`, or is empty, gives the URL of the folder.
  /// - Throws: `pathNotUTF8`, `path` (an empty part, `.` or `..`), `tooLong`.
  package static func mapping(base: BaseURL, path: [UInt8]) throws(ResourceURLError) -> ResourceURL {
    guard String(validating: path, as: UTF8.self) != nil else {
      throw ResourceURLError(text: String(decoding: path, as: UTF8.self), problem: .pathNotUTF8)
    }
    var text = Array(base.text.utf8)
    let parts = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for (i, part) in parts.enumerated() {
      let isFolder = part.isEmpty && i == parts.count - 1
      guard isFolder || !(part.isEmpty || part.elementsEqual(".".utf8) || part.elementsEqual("..".utf8))
      else {
        throw ResourceURLError(text: String(decoding: path, as: UTF8.self), problem: .path)
      }
      text.append(UInt8(ascii: "/"))
      for byte in part {
        if URLEscapes.inFileName(byte) { ASCII.appendEscape(of: byte, to: &text) } else { text.append(byte) }
      }
    }
    return try ResourceURL(String(decoding: text, as: UTF8.self))
  }

  /// Does the same for a path given as a string.
  package static func mapping(base: BaseURL, path: String) throws(ResourceURLError) -> ResourceURL {
    try mapping(base: base, path: Array(path.utf8))
  }
}

extension ResourceURL {
  /// The key by which URLs of the same resource are equal: escapes of printable ASCII are decoded, except those
  /// of `% / ? # \ & = + ;`, whose meaning would change. Other escapes stay as written.
  package var matchKey: String { Self.matchKey(of: text) }

  /// Returns the key of a part of a URL that doesn't split an escape.
  package static func matchKey(of text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return text }
    let bytes = Array(text.utf8)
    var key: [UInt8] = []
    key.reserveCapacity(bytes.count)
    var at = 0
    while at < bytes.count {
      if let decoded = decodable(bytes, at: at) {
        key.append(decoded)
        at += 3
      } else {
        key.append(bytes[at])
        at += 1
      }
    }
    return String(decoding: key, as: UTF8.self)
  }

  private static func decodable(_ bytes: [UInt8], at: Int) -> UInt8? {
    guard bytes[at] == UInt8(ascii: "%"), at + 2 < bytes.count, let high = ASCII.hexValue(bytes[at + 1]),
      let low = ASCII.hexValue(bytes[at + 2])
    else { return nil }
    let byte = high << 4 | low
    guard byte >= 0x20, byte <= 0x7E, !"%/?#\\&=+;".utf8.contains(byte) else { return nil }
    return byte
  }

  /// Whether this page's URL matches that of `entry`: scheme, host, port and path, and the query only if the
  /// entry has one.
  package func isPage(of entry: ResourceURL) -> Bool {
    if entry.query != nil { return matchKey == entry.matchKey }
    guard let page = try? ResourceURL(String(withoutQuery)) else { return false }
    return page.matchKey == entry.matchKey
  }
}

/// Why a text can't be the URL of a resource.
package struct ResourceURLError: Error, Hashable, Sendable {
  /// What is wrong with a URL.
  package enum Problem: Hashable, Sendable {
    /// No scheme: the URL isn't absolute.
    case relative
    /// A scheme other than http and https.
    case scheme(String)
    /// A tab or a line break.
    case lineBreak
    /// A user name or password.
    case userinfo
    /// No host.
    case noHost
    /// A host with characters outside ASCII, which has to be written in its ASCII form (`xn--…`).
    case hostNotASCII
    /// A byte that a host can't contain.
    case hostByte(UInt8)
    /// Not an IPv4 address, though its last part is a number.
    case ipv4
    /// Not an IPv6 address.
    case ipv6
    /// Not a port.
    case port
    /// Longer than `ResourceURL.limit` bytes.
    case tooLong(Int)
    /// A base URL with `?` or `#`.
    case baseWithQuery
    /// A file path with an empty part, `.` or `..`.
    case path
    /// A file path that isn't UTF-8; `text` has U+FFFD in place of invalid bytes.
    case pathNotUTF8
  }

  /// The URL or file path as given.
  package let text: String
  /// What is wrong with it.
  package let problem: Problem

  package init(text: String, problem: Problem) {
    self.text = text
    self.problem = problem
  }
}
