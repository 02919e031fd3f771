/// A host name as used in DNS queries: labels of at most 63 bytes, at most 253 bytes in total, in lower case.
struct HostName: Hashable, Sendable, CustomStringConvertible {
  /// The name without a trailing dot.
  let text: String

  /// Nil for an address, and for an invalid name.
  init?(_ text: String) {
    let text = text.lowercased()
    guard !text.isEmpty, text.utf8.count <= 253, IPAddress(text) == nil else { return nil }
    let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard labels.allSatisfy({ (1...63).contains($0.count) && $0.allSatisfy(Self.isAllowed) }) else {
      return nil
    }
    self.text = text
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
      UInt8(ascii: "_"):
      true
    default: false
    }
  }

  /// The wire format: each label after its length, then a zero (RFC 1035 §3.1).
  var wire: [UInt8] {
    text.utf8.split(separator: UInt8(ascii: ".")).flatMap { [UInt8($0.count)] + $0 } + [0]
  }

  var description: String { text }
}
