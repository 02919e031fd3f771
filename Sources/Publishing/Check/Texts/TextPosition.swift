/// Where something stands in a text, as editors count: both from 1, columns in characters.
struct TextPosition: Hashable, Sendable {
  let line: Int
  let column: Int

  /// The position of the byte `at`.
  init(of at: Int, in bytes: [UInt8]) {
    var line = 1
    var start = 0
    let end = min(at, bytes.count)
    for i in 0..<end where bytes[i] == 0x0A {
      line += 1
      start = i + 1
    }
    self.line = line
    // Bytes that continue a character aren't counted.
    column = 1 + bytes[start..<end].count { $0 & 0xC0 != 0x80 }
  }
}
