/// Reads the parts of an untrusted DNS message.
struct DNSMessageReader {
  let bytes: [UInt8]
  private(set) var offset = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Reads a two-byte number; nil at the end of the message.
  mutating func word() -> UInt16? {
    guard bytes.count - offset >= 2 else { return nil }
    defer { offset += 2 }
    return UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1])
  }

  /// Reads a four-byte number; nil at the end of the message.
  mutating func long() -> UInt32? {
    guard let high = word(), let low = word() else { return nil }
    return UInt32(high) << 16 | UInt32(low)
  }

  /// Reads `count` bytes; nil if the message is shorter.
  mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
    guard bytes.count - offset >= count else { return nil }
    defer { offset += count }
    return bytes[offset..<offset + count]
  }

  /// Reads a name as length-prefixed labels, in lower case; nil if it is invalid.
  ///
  /// A pointer leads to "a prior occurrence of the same name" (RFC 1035 §4.1.4), so each has to point further back, which
  /// bounds their number.
  mutating func name() -> [UInt8]? {
    var name: [UInt8] = []
    var offset = self.offset
    /// The end of the name in the message: after its first pointer.
    var end: Int?
    var bound = self.offset
    for _ in 0..<Self.maxParts {
      guard offset < bytes.count else { return nil }
      let length = Int(bytes[offset])
      switch length {
      case 0:
        self.offset = end ?? offset + 1
        return name + [0]
      case 1...63:
        guard bytes.count - offset > length, name.count + length + 2 <= 255 else { return nil }
        name.append(UInt8(length))
        name += bytes[offset + 1...offset + length].map(Self.small)
        offset += length + 1
      case 0xC0...:
        guard bytes.count - offset >= 2 else { return nil }
        end = end ?? offset + 2
        let target = (length & 0x3F) << 8 | Int(bytes[offset + 1])
        guard target < bound else { return nil }
        bound = target
        offset = target
      default: return nil
      }
    }
    return nil
  }

  /// The most labels and pointers of one name: it has at most 127 labels, and never needs that many pointers.
  private static let maxParts = 160

  private static func small(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte + 32 : byte
  }
}
