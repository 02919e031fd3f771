import Values

/// A pattern of page URLs, such as `https://third.example.com/*`.
///
/// Scheme, host and port are as in a URL. `*` as the scheme matches http and https, `*` as the host any host, and
/// `*.` before the host the domain and its subdomains. In the path, `*` matches any characters, including `/`. The
/// query counts only if the pattern has a `?`, as with prefetch entries; escapes of printable ASCII match the
/// characters themselves.
package struct MatchPattern: Hashable, Sendable, CustomStringConvertible {
  /// The maximum length in bytes.
  package static let limit = 1024

  /// The pattern in canonical form: the host in lowercase, no default port.
  package let text: String
  private let scheme: String?
  private let host: Host
  private let port: String
  /// The text between the wildcards of path and query, with escapes decoded.
  private let parts: [[UInt8]]
  private let hasQuery: Bool

  private enum Host: Hashable, Sendable {
    case any
    case exactly(String)
    /// A domain and its subdomains.
    case below(String)
  }

  package var description: String { text }

  package init(_ text: String) throws(MatchPatternError) {
    do throws(MatchPatternError.Problem) {
      try self.init(parsing: text)
    } catch {
      throw MatchPatternError(text: text, problem: error)
    }
  }

  private init(parsing text: String) throws(MatchPatternError.Problem) {
    guard text.utf8.count <= Self.limit else { throw .tooLong(limit: Self.limit) }
    if text.utf8.contains(UInt8(ascii: "#")) { throw .fragment }
    let (scheme, rest) = try Self.takeScheme(text)
    guard let slash = rest.firstIndex(of: "/") else { throw .noPath }
    // The URL parser would skip further slashes and take what follows for the host.
    if slash == rest.startIndex { throw .url(.noHost) }
    let (host, prefix, plainHost) = try Self.host(rest[..<slash])
    // The URL parser puts the rest into canonical form; for that alone, the host `*` gets a name.
    let url: ResourceURL
    do {
      url = try ResourceURL("\(scheme ?? "https")://\(plainHost)\(rest[slash...])")
    } catch {
      throw .url(error.problem)
    }
    self.scheme = scheme
    port = String(url.authority.dropFirst(url.host.count))
    switch host {
    case .any: self.host = .any
    case .exactly: self.host = .exactly(String(url.host))
    case .below: self.host = .below(String(url.host))
    }
    let target = url.text.dropFirst(url.scheme.count + 3 + url.authority.count)
    hasQuery = url.query != nil
    parts = target.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false)
      .map { Array(ResourceURL.matchKey(of: String(Substring($0))).utf8) }
    let name = host == .any ? "*" : prefix + url.host
    self.text = "\(scheme ?? "*")://\(name)\(port)\(target)"
    // With what was escaped it may be longer, and it is this text that is stored and read again.
    guard self.text.utf8.count <= Self.limit else { throw .tooLong(limit: Self.limit) }
  }

  private static func takeScheme(
    _ text: String
  ) throws(MatchPatternError.Problem) -> (scheme: String?, rest: Substring) {
    for (prefix, scheme) in [("*://", nil), ("http://", "http"), ("https://", "https")] as [(String, String?)]
    where text.prefix(prefix.count).lowercased() == prefix {
      return (scheme, text.dropFirst(prefix.count))
    }
    throw .scheme
  }

  /// Returns the kind of host, the wildcard before it, and the text of host and port without wildcard.
  private static func host(
    _ text: Substring
  ) throws(MatchPatternError.Problem) -> (host: Host, prefix: String, plain: String) {
    if text == "*" || text.hasPrefix("*:") { return (.any, "", "any" + text.dropFirst()) }
    let isBelow = text.hasPrefix("*.")
    let plain = String(isBelow ? text.dropFirst(2) : text)
    if plain.contains("*") { throw .hostWildcard }
    return isBelow ? (.below(plain), "*.", plain) : (.exactly(plain), "", plain)
  }

  // MARK: - Matching

  /// Whether the pattern matches a page.
  package func matches(_ page: ResourceURL) -> Bool {
    if let scheme, scheme != page.scheme { return false }
    guard page.authority.dropFirst(page.host.count) == port, matchesHost(page.host) else { return false }
    let target = page.text.dropFirst(page.scheme.count + 3 + page.authority.count)
    let key = Array(ResourceURL.matchKey(of: String(target)).utf8)
    return Self.matches(parts, hasQuery ? key[...] : key.prefix { $0 != UInt8(ascii: "?") })
  }

  private func matchesHost(_ host: Substring) -> Bool {
    switch self.host {
    case .any: true
    case .exactly(let name): host == name
    case .below(let name): host == name || host.hasSuffix("." + name)
    }
  }

  /// Whether the text begins with the first part, ends with the last, and has the others between them in order.
  /// Taking the first occurrence of each is enough, so the time is at most the sum of the lengths.
  private static func matches(_ parts: [[UInt8]], _ text: ArraySlice<UInt8>) -> Bool {
    guard let first = parts.first, let last = parts.last, text.starts(with: first) else { return false }
    if parts.count == 1 { return text.count == first.count }
    var rest = text.dropFirst(first.count)
    for part in parts.dropFirst().dropLast() {
      guard let after = end(of: part, in: rest) else { return false }
      rest = rest[after...]
    }
    return rest.count >= last.count && rest.suffix(last.count).elementsEqual(last)
  }

  /// Returns where the first occurrence of a part ends, by the algorithm of Knuth, Morris and Pratt: a pattern and a URL may come from anyone.
  private static func end(of part: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
    guard let first = part.first else { return text.startIndex }
    guard let start = text.firstIndex(of: first) else { return nil }
    // The length of the longest proper prefix of the part that each of its prefixes ends with.
    var borders = [0]
    borders.reserveCapacity(part.count)
    for byte in part.dropFirst() {
      borders.append(extend(borders[borders.count - 1], by: byte, part, borders))
    }
    var length = 0
    for at in start..<text.endIndex {
      length = extend(length, by: text[at], part, borders)
      if length == part.count { return at + 1 }
    }
    return nil
  }

  /// Returns how much of a part has been found once a byte follows what `length` bytes of it were found of.
  private static func extend(_ length: Int, by byte: UInt8, _ part: [UInt8], _ borders: [Int]) -> Int {
    var length = length
    while length > 0, part[length] != byte { length = borders[length - 1] }
    return part[length] == byte ? length + 1 : 0
  }

  package static func == (a: MatchPattern, b: MatchPattern) -> Bool { a.text == b.text }
  package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

/// Why a text isn't a match pattern.
package struct MatchPatternError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong with a pattern.
  package enum Problem: Error, Hashable, Sendable {
    /// It doesn't begin with `http://`, `https://` or `*://`.
    case scheme
    /// A `*` in the host that is neither the whole host nor its first label.
    case hostWildcard
    case noPath
    case fragment
    case tooLong(limit: Int)
    case url(ResourceURLError.Problem)
  }

  package let text: String
  /// What is wrong with it.
  package let problem: Problem

  /// What is wrong and what to do about it.
  package var description: String {
    switch problem {
    case .scheme: "a pattern begins with http://, https:// or *://; write it like https://third.example.com/*"
    case .hostWildcard: "in a host, * stands for the whole host or its first labels; write *.example.com"
    case .noPath: "the pattern ends with the host; append /* for all its pages"
    case .fragment: "a pattern can't have a #fragment, which is never sent; remove it"
    case .tooLong(let limit): "the pattern is longer than \(limit) bytes; shorten it with *"
    case .url(let problem):
      // A text with a user name may contain a password, which mustn't be logged.
      "\(ResourceURLError(text: text, problem: problem))"
    }
  }
}
