/// Decides whether a body is worth compressing.
package enum Coding {
  /// The sizes of files that are compressed. A smaller body and its fields take as many packets as the plain one; a
  /// larger file doesn't fit in memory during compression.
  package static let sizes: ClosedRange<Int64> = 512...(64 << 20)

  /// Whether the coded size is at least a twentieth smaller, so that decoding pays off.
  package static func pays(_ coded: Int, for plain: Int) -> Bool { coded < plain - plain / 20 }
}

/// Why coded bytes could not be decoded.
package enum CodingError: Error, Equatable, Sendable {
  /// The bytes aren't in this coding, or end too early.
  case damaged
  /// The bytes are a delta over another base.
  case otherBase
  /// Decoding would produce more bytes than the caller allows.
  case overLimit
  /// A zstd frame needs a window of more bytes than the caller allows: more than `limit`.
  case windowTooLarge(limit: Int)
}

/// A growing output buffer for a C library.
struct OutputBuffer {
  private(set) var bytes: [UInt8] = []
  private let step = 64 << 10

  var count: Int { bytes.count }

  /// Passes `body` a buffer and its capacity; `body` also returns how many bytes it wrote.
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
