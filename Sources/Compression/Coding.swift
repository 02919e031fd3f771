/// Whether a body is worth being coded.
package enum Coding {
  /// Below these sizes a coded body and its fields take as many packets as the plain one; above them a file doesn't
  /// fit in memory while it is coded.
  package static let sizes: ClosedRange<Int64> = 512...(64 << 20)

  /// Whether coded bytes are so many fewer, by a twentieth, that decoding them pays.
  package static func pays(_ coded: Int, for plain: Int) -> Bool { coded < plain - plain / 20 }
}

/// Why coded bytes could not be decoded.
package enum CodingError: Error, Equatable, Sendable {
  /// The bytes are no such coding, or end too early.
  case damaged
  /// The bytes are a delta on another base.
  case otherBase
  /// Decoding would give more than the caller allows.
  case overLimit
  /// A frame of zstd wants more of what was decoded kept than the caller allows: more than this many bytes.
  case windowTooLarge(limit: Int)
}

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
