import Backports

/// The WHATWG URL standard's basic URL parser (section 4.4), for absolute http and https URLs.
///
/// It refuses some input that browsers accept: tabs and line breaks (which are mistakes in a build), user
/// names, and hosts outside ASCII. The fragment is dropped.
struct URLTextParser {
  struct Parsed {
    package let text: String
    /// Where the path begins and ends in `text`, in bytes.
    let path: Range<Int>
  }

  private let given: String
  private var input: ArraySlice<UInt8>
  private var output: [UInt8] = []

  init(_ text: String) {
    given = text
    input = Array(text.utf8)[...]
    output.reserveCapacity(input.count + 16)
  }

  mutating func parse() throws(ResourceURLError) -> Parsed {
    try trim()
    let defaultPort = try scheme()
    try authority(defaultPort: defaultPort)
    let start = output.count
    path()
    let end = output.count
    query()
    guard output.count <= ResourceURL.limit else { throw error(.tooLong(output.count)) }
    return Parsed(text: String(decoding: output, as: UTF8.self), path: start..<end)
  }

  private func error(_ problem: ResourceURLError.Problem) -> ResourceURLError {
    ResourceURLError(text: given, problem: problem)
  }

  /// "Remove any leading and trailing C0 control or space from input."
  private mutating func trim() throws(ResourceURLError) {
    for byte in input where byte == 0x09 || byte == 0x0A || byte == 0x0D { throw error(.lineBreak) }
    while let first = input.first, first <= 0x20 { input.removeFirst() }
    while let last = input.last, last <= 0x20 { input.removeLast() }
  }

  /// Writes `http://` or `https://`, and returns the scheme's default port.
  private mutating func scheme() throws(ResourceURLError) -> Int {
    guard let colon = input.firstIndex(of: UInt8(ascii: ":")), let first = input.first, ASCII.isLetter(first),
      input[..<colon].allSatisfy(Self.isSchemeByte)
    else { throw error(.relative) }
    let name = String(decoding: input[..<colon].map(ASCII.lowered), as: UTF8.self)
    guard name == "http" || name == "https" else { throw error(.scheme(name)) }
    input = input[(colon + 1)...]
    // "special authority ignore slashes state": any number of either slash.
    input = input.drop(while: Self.isSlash)
    output.append(contentsOf: name.utf8)
    output.append(contentsOf: "://".utf8)
    return name == "http" ? 80 : 443
  }

  private static func isSchemeByte(_ byte: UInt8) -> Bool {
    ASCII.isLetterOrDigit(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: ".")
  }

  private static func isSlash(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
  }

  private static func endsSegment(_ byte: UInt8) -> Bool {
    isSlash(byte) || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }

  private mutating func authority(defaultPort: Int) throws(ResourceURLError) {
    let authority = input.prefix { !Self.endsSegment($0) }
    input = input[authority.endIndex...]
    if authority.contains(UInt8(ascii: "@")) { throw error(.userinfo) }
    let bracket = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
    let colon = authority[bracket...].firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
    do {
      try URLHost.append(authority[..<colon], to: &output)
    } catch {
      throw self.error(error)
    }
    guard let port = Self.port(authority[colon...].dropFirst()) else { throw error(.port) }
    if let port = port.number, port != defaultPort {
      output.append(UInt8(ascii: ":"))
      output.append(contentsOf: String(port).utf8)
    }
  }

  /// Returns the port, which is nil for no digits; the whole result is nil if they aren't a port.
  private static func port(_ digits: ArraySlice<UInt8>) -> (number: Int?, ())? {
    var number = 0
    for byte in digits {
      guard ASCII.isDigit(byte) else { return nil }
      number = number * 10 + Int(byte - 0x30)
      if number > 65535 { return nil }
    }
    return (digits.isEmpty ? nil : number, ())
  }

  /// "path start state" and "path state".
  private mutating func path() {
    let start = output.count
    if let first = input.first, Self.isSlash(first) { input.removeFirst() }
    while true {
      let segment = input.prefix { !Self.endsSegment($0) }
      input = input[segment.endIndex...]
      let isLast = input.first.map { !Self.isSlash($0) } ?? true
      append(segment, isLast: isLast, pathStart: start)
      if isLast { return }
      input.removeFirst()
    }
  }

  private mutating func append(_ segment: ArraySlice<UInt8>, isLast: Bool, pathStart: Int) {
    switch Self.dots(segment) {
    case 1: if isLast { output.append(UInt8(ascii: "/")) }
    case 2:
      let parent = output[pathStart...].lastIndex(of: UInt8(ascii: "/")) ?? pathStart
      output.removeSubrange(parent...)
      if isLast { output.append(UInt8(ascii: "/")) }
    default:
      output.append(UInt8(ascii: "/"))
      for byte in segment { append(byte, escaped: URLEscapes.inPath(byte)) }
    }
  }

  /// Returns 1 for a single-dot segment, 2 for a double-dot one, 0 for any other; a dot may be written `%2e`.
  private static func dots(_ segment: ArraySlice<UInt8>) -> Int {
    var rest = segment
    var count = 0
    while let first = rest.first {
      if first == UInt8(ascii: ".") {
        rest = rest.dropFirst()
      } else if rest.count >= 3, rest.prefix(3).map(ASCII.lowered).elementsEqual("%2e".utf8) {
        rest = rest.dropFirst(3)
      } else {
        return 0
      }
      count += 1
      if count > 2 { return 0 }
    }
    return count
  }

  private mutating func query() {
    guard input.first == UInt8(ascii: "?") else { return }
    output.append(UInt8(ascii: "?"))
    for byte in input.dropFirst() {
      if byte == UInt8(ascii: "#") { return }
      append(byte, escaped: URLEscapes.inQuery(byte))
    }
  }

  private mutating func append(_ byte: UInt8, escaped: Bool) {
    if escaped { ASCII.appendEscape(of: byte, to: &output) } else { output.append(byte) }
  }
}

/// The host parser of the WHATWG URL standard, section 3.5, for hosts in ASCII.
///
/// Labels in their ASCII form (`xn--…`) are lowercased, but not decoded.
enum URLHost {
  /// Writes the host as the standard's serialiser does.
  package static func append(
    _ text: ArraySlice<UInt8>, to output: inout [UInt8]
  ) throws(ResourceURLError.Problem) {
    if text.isEmpty { throw .noHost }
    if text.first == UInt8(ascii: "[") {
      guard text.count > 1, text.last == UInt8(ascii: "]"),
        let address = IPAddress.v6(Array(text.dropFirst().dropLast()).span.bytes)
      else { throw .ipv6 }
      return output.append(contentsOf: address.authority.utf8)
    }
    let domain = PercentEncoding.decodeLeniently(text).map(ASCII.lowered)
    for byte in domain {
      if byte >= 0x80 { throw .hostNotASCII }
      if isForbidden(byte) { throw .hostByte(byte) }
    }
    switch IPv4Host.read(domain[...]) {
    case .address(let address): output.append(contentsOf: address.text.utf8)
    case .invalid: throw .ipv4
    case .domain: output.append(contentsOf: domain)
    }
  }

  /// "A forbidden domain code point is a forbidden host code point, a C0 control, U+0025 (%), or U+007F
  /// DELETE."
  private static func isForbidden(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == 0x7F || "#/:<>?@[\\]^|%".utf8.contains(byte)
  }
}

extension ResourceURLError.Problem: Error {}
