/// The name of a host as the DNS asks for it: labels of 63 bytes at most, 253 together, in small letters.
struct HostName: Hashable, Sendable, CustomStringConvertible {
  /// Without a dot at its end.
  let text: String

  /// Nil for an address, and for what is no name.
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

  /// As messages have it: each label behind its length, and a zero (RFC 1035 §3.1).
  var wire: [UInt8] {
    text.utf8.split(separator: UInt8(ascii: ".")).flatMap { [UInt8($0.count)] + $0 } + [0]
  }

  var description: String { text }
}
