/// How a text in UTF-16 is written, as some programs on Windows do.
struct WideForm: Equatable {
  /// The offset of a unit's lower byte: 0 or 1.
  private let low: Int
  /// Where the text begins, after a byte order mark.
  private let start: Int

  /// From which part of all units on, one of four, a text without a byte order mark counts as UTF-16.
  private static let part = 4

  /// Recognises UTF-16 by its first bytes: by its byte order mark, or because many higher bytes are zero, as those of ASCII are,
  /// and no lower one is. A binary file has zeros in both places.
  init?(_ first: ArraySlice<UInt8>) {
    let bytes = Array(first)
    guard bytes.count >= 4 else { return nil }
    switch (bytes[0], bytes[1]) {
    case (0xFF, 0xFE): (low, start) = (0, 2)
    case (0xFE, 0xFF): (low, start) = (1, 2)
    default:
      var zeros = [0, 0]
      for index in bytes.indices where bytes[index] == 0 { zeros[index & 1] += 1 }
      let zeroHalf = zeros[0] > zeros[1] ? 0 : 1
      guard zeros[1 - zeroHalf] == 0, zeros[zeroHalf] * 2 * Self.part >= bytes.count else { return nil }
      (low, start) = (1 - zeroHalf, 0)
    }
  }

  /// Converts the text. What isn't UTF-16 after all goes without zeros, so that it isn't converted again.
  func utf8(_ bytes: [UInt8]) -> [UInt8] {
    let units = stride(from: start, to: bytes.count - 1, by: 2).lazy.map {
      UInt16(bytes[$0 + low]) | UInt16(bytes[$0 + 1 - low]) << 8
    }
    return String(decoding: Array(units), as: UTF16.self).utf8.map { $0 == 0 ? 0x20 : $0 }
  }
}
