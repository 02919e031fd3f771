/// The bytes around a position in a text, for the rules that recognise secrets.
struct SecretText {
  private let bytes: UnsafeBufferPointer<UInt8>

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  var count: Int { bytes.count }

  subscript(index: Int) -> UInt8? { bytes.indices.contains(index) ? bytes[index] : nil }

  /// Returns the end of the bytes from `start` on that belong to `alphabet`, at most `limit` of them.
  func end(of alphabet: SecretAlphabet, from start: Int, limit: Int = 4096) -> Int {
    var index = start
    while index < bytes.count, index - start < limit, alphabet.contains(bytes[index]) { index += 1 }
    return index
  }

  /// Returns the start of the bytes before `end` that belong to `alphabet`.
  func start(of alphabet: SecretAlphabet, before end: Int, limit: Int = 256) -> Int {
    var index = end
    while index > 0, end - index < limit, alphabet.contains(bytes[index - 1]) { index -= 1 }
    return index
  }

  /// Whether these bytes begin at an index.
  func has(_ text: [UInt8], at index: Int) -> Bool {
    index >= 0 && index + text.count <= bytes.count
      && text.indices.allSatisfy { bytes[index + $0] == text[$0] }
  }

  /// Returns where a text begins, from an index on and before `end`.
  func first(_ text: String, from index: Int, before end: Int) -> Int? {
    let text = Array(text.utf8)
    return index <= end ? (index..<max(index, min(end, count))).first { has(text, at: $0) } : nil
  }

  /// Returns the index after white space.
  func skippingSpace(from index: Int) -> Int { end(of: .space, from: index) }

  /// Whether a value looks like a real secret rather than an example, such as `xxxx…` or `AKIA…EXAMPLE`.
  func isPlausible(_ range: Range<Int>, distinct: Int = 8) -> Bool {
    let value = bytes[range]
    guard Set(value).count >= distinct else { return false }
    let lowered = String(decoding: value, as: UTF8.self).lowercased()
    return !Self.placeholders.contains { lowered.contains($0) }
  }

  /// Whether a URL's user and password (RFC 3986, section 3.2.1) come next, and a host that isn't an example: only a password
  /// with letters and digits counts, because documentation is full of `user:password@`.
  func hasPassword(from start: Int) -> Bool {
    let colon = end(of: .userinfo, from: start, limit: 128)
    guard self[colon] == UInt8(ascii: ":") else { return false }
    let password = colon + 1..<end(of: .userinfo, from: colon + 1, limit: 256)
    guard self[password.upperBound] == UInt8(ascii: "@"), password.count >= 8 else { return false }
    let host = password.upperBound + 1..<end(of: .dotted, from: password.upperBound + 1)
    let value = bytes[password]
    guard value.contains(where: SecretAlphabet.digits.contains),
      value.contains(where: { ($0 | 0x20) > 0x60 }), isPlausible(password, distinct: 6), !host.isEmpty
    else { return false }
    let name = String(decoding: bytes[host], as: UTF8.self).lowercased()
    let isExample = ["example", "localhost", "127.0.0.1"].contains { name.contains($0) }
    let lowered = String(decoding: value, as: UTF8.self).lowercased()
    return !isExample && !["pass", "pa55", "secret"].contains { lowered.contains($0) }
  }

  private static let placeholders = [
    "example", "xxxx", "placeholder", "your_", "your-", "yourkey", "yoursecret", "yourtoken", "0123456789",
    "1234567890", "abcdefgh", "redacted", "dummy", "deadbeef",
  ]
}

/// A set of bytes that a secret consists of.
enum SecretAlphabet: Sendable {
  case base32, hex, alphanumeric, digits
  /// What a URL's user or password is mostly written with: letters, digits, `%`, and some punctuation.
  case userinfo
  /// Letters, digits, `_`, `-`.
  case word
  /// Letters, digits, `+`, `/`, `=`.
  case base64
  /// Letters, digits, `_`, `-`, `.`, `=`.
  case dotted
  case space

  func contains(_ byte: UInt8) -> Bool {
    switch self {
    case .base32: (0x41...0x5A).contains(byte) || (0x32...0x37).contains(byte)
    case .hex: Self.isDigit(byte) || (0x61...0x66).contains(byte)
    case .alphanumeric: Self.isDigit(byte) || Self.isLetter(byte)
    case .word: Self.isDigit(byte) || Self.isLetter(byte) || byte == 0x5F || byte == 0x2D
    case .base64: Self.isDigit(byte) || Self.isLetter(byte) || byte == 0x2B || byte == 0x2F || byte == 0x3D
    case .dotted: Self.word.contains(byte) || byte == 0x2E || byte == 0x3D
    case .digits: Self.isDigit(byte)
    case .userinfo: Self.word.contains(byte) || [0x25, 0x2E, 0x7E, 0x21, 0x2A, 0x2B].contains(byte)
    case .space: byte == 0x20 || (0x09...0x0D).contains(byte)
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}
