/// Finds tokens in text from outside, so that no message, file or log repeats one.
///
/// A token is `xcache_`, 12 hexadecimal digits, `_` and a secret in base64url. It is recognised in any case, with `%5F` instead
/// of `_` as in URLs, and when cut off, if a few characters of its secret remain.
package enum TokenMask {
  /// A token's range, and the part of it that may be shown.
  package struct Found: Hashable, Sendable {
    package let range: Range<Int>
    /// The token's ID, in lowercase.
    package let id: String
  }

  private static let name = Array("xcache".utf8)
  private static let idCount = 12
  /// The fewest characters of a secret that are recognised; fewer, left of one that was cut off, grant nothing.
  private static let leastSecret = 7
  /// The length of the shortest text that can hold a token.
  private static let leastCount = name.count + 1 + idCount + 1 + leastSecret

  /// Returns the first token in `bytes` from `start` on, or nil if there is none.
  package static func first(in bytes: [UInt8], from start: Int = 0) -> Found? {
    var from = start
    while from + leastCount <= bytes.count {
      if bytes[from] | 0x20 == name[0], let found = token(in: bytes, at: from) { return found }
      from += 1
    }
    return nil
  }

  /// Returns `bytes` with tokens replaced by `xcache_1a2b3c4d5e6f_…`, where `ellipsis` stands for `…`.
  package static func masked(_ bytes: [UInt8], ellipsis: String = "…") -> [UInt8] {
    guard var found = first(in: bytes) else { return bytes }
    var result: [UInt8] = []
    var from = 0
    while true {
      result += bytes[from..<found.range.lowerBound]
      result += "xcache_\(found.id)_\(ellipsis)".utf8
      from = found.range.upperBound
      guard let next = first(in: bytes, from: from) else { break }
      found = next
    }
    return result + bytes[from...]
  }

  private static func token(in bytes: [UInt8], at start: Int) -> Found? {
    var end = start
    for byte in name {
      guard bytes[end] | 0x20 == byte else { return nil }
      end += 1
    }
    guard let afterName = separator(in: bytes, at: end) else { return nil }
    let id = bytes[afterName...].prefix(idCount)
    guard id.count == idCount, id.allSatisfy(isHex), let secret = separator(in: bytes, at: id.endIndex)
    else { return nil }
    end = secret
    var count = 0
    while end < bytes.count {
      if isBase64URL(bytes[end]) {
        end += 1
      } else if let next = separator(in: bytes, at: end) {
        end = next
      } else {
        break
      }
      count += 1
    }
    guard count >= leastSecret else { return nil }
    return Found(range: start..<end, id: String(decoding: id, as: UTF8.self).lowercased())
  }

  /// Returns the index after an underscore, literal or `%5F`, or nil if there is none.
  private static func separator(in bytes: [UInt8], at index: Int) -> Int? {
    guard index < bytes.count else { return nil }
    if bytes[index] == UInt8(ascii: "_") { return index + 1 }
    guard index + 3 <= bytes.count, bytes[index] == UInt8(ascii: "%"), bytes[index + 1] == UInt8(ascii: "5"),
      bytes[index + 2] | 0x20 == UInt8(ascii: "f")
    else { return nil }
    return index + 3
  }

  private static func isHex(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
  }

  private static func isBase64URL(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) || byte == 0x2d || byte == 0x5f
  }
}
