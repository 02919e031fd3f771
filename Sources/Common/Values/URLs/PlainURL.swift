/// A fast check for the most common kind of URL, which the parser would leave unchanged: a manifest can have 100,000 of
/// them.
///
/// It accepts `http` and `https` with a host of lowercase letters, digits, dots and hyphens, no port, and a path and a
/// query without anything that is resolved, escaped or dropped. All others go to the parser.
enum PlainURL {
  /// 63 bytes is the limit of one label in DNS, and here of the whole host.
  private static let longestHost = 63

  static func isPlain(_ text: String) -> Bool {
    let bytes = text.utf8Bytes
    guard bytes.count <= ResourceURL.limit, let host = hostStart(bytes), let path = pathStart(bytes, host)
    else {
      return false
    }
    var isQuery = false
    for i in path..<bytes.count {
      let byte = bytes[i]
      if kinds[Int(byte)] & inPath != 0 {
        // `.` and `..` are resolved; any segment that begins with a dot is left to the parser.
        if byte == UInt8(ascii: "."), !isQuery, bytes[i - 1] == UInt8(ascii: "/") { return false }
      } else if isQuery {
        guard byte == UInt8(ascii: "?") || byte == UInt8(ascii: "%") else { return false }
      } else {
        guard byte == UInt8(ascii: "?") else { return false }
        isQuery = true
      }
    }
    return true
  }

  private static func hostStart(_ bytes: UTF8Bytes) -> Int? {
    func starts(with scheme: StaticString) -> Bool {
      guard bytes.count > scheme.utf8CodeUnitCount else { return false }
      for i in 0..<scheme.utf8CodeUnitCount where bytes[i] != scheme.utf8Start[i] { return false }
      return true
    }
    return starts(with: "https://") ? 8 : starts(with: "http://") ? 7 : nil
  }

  /// Returns where the path begins; nil unless the host before it is a plain name.
  private static func pathStart(_ bytes: UTF8Bytes, _ start: Int) -> Int? {
    var label = start
    var i = start
    while i < bytes.count, kinds[Int(bytes[i])] & inHost != 0 {
      if bytes[i] == UInt8(ascii: ".") {
        guard i > label else { return nil }
        label = i + 1
      }
      // `xn--` is left to the parser.
      if bytes[i] == UInt8(ascii: "-"), bytes[i - 1] == UInt8(ascii: "-") { return nil }
      i += 1
    }
    // If the last label begins with a digit, this may be an IPv4 address.
    guard i < bytes.count, bytes[i] == UInt8(ascii: "/"), i > label, i - start <= longestHost,
      ASCII.isLetter(bytes[label])
    else { return nil }
    return i
  }

  private static let inPath: UInt8 = 1
  private static let inHost: UInt8 = 2
  private static let kinds: [UInt8] = {
    var kinds = [UInt8](repeating: 0, count: 256)
    for byte in UInt8(ascii: "a")...UInt8(ascii: "z") { kinds[Int(byte)] = inPath | inHost }
    for byte in UInt8(ascii: "0")...UInt8(ascii: "9") { kinds[Int(byte)] = inPath | inHost }
    for byte in UInt8(ascii: "A")...UInt8(ascii: "Z") { kinds[Int(byte)] = inPath }
    for byte in "-.".utf8 { kinds[Int(byte)] = inPath | inHost }
    for byte in "_~/!$&()*+,;=:@".utf8 { kinds[Int(byte)] = inPath }
    return kinds
  }()
}
