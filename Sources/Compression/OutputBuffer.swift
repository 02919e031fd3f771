/// Bytes that a C library writes piece by piece into room we keep for it.
struct OutputBuffer {
  private(set) var bytes: [UInt8] = []
  private let step = 64 << 10

  var count: Int { bytes.count }

  /// Gives `body` a place and its room; `body` gives back how much of it was written.
  mutating func fill<R>(_ body: (UnsafeMutablePointer<UInt8>, Int) -> (R, Int)) -> R {
    let room = max(step, bytes.count / 2)
    var result: R?
    let piece = [UInt8](unsafeUninitializedCapacity: room) { buffer, written in
      guard let start = buffer.baseAddress else { fatalError("an array of \(room) bytes has an address") }
      let (value, count) = body(start, room)
      result = value
      written = count
    }
    bytes.append(contentsOf: piece)
    guard let result else { fatalError("the initialiser ran") }
    return result
  }
}
