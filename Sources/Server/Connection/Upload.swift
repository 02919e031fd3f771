import HTTP

/// A loop's side of a body that is being received.
struct Upload {
  let receiver: UploadReceiver
  var framing: BodyFraming
  private let limit: UInt64
  private(set) var received: UInt64 = 0
  /// What arrived and isn't with a worker yet.
  var filling: BodyChunk?
  /// A worker has a piece.
  var isBusy = false
  /// A worker has had a piece.
  var wasBegun = false
  /// The whole body has arrived.
  var isComplete = false

  init(_ receiver: UploadReceiver, _ framing: BodyFraming, limit: UInt64) {
    self.receiver = receiver
    self.framing = framing
    self.limit = limit
  }

  /// Counts `count` more bytes; false when the body is over its limit.
  mutating func count(_ count: Int) -> Bool {
    received &+= UInt64(count)
    return received <= limit
  }

  /// The chunk to fill, made if need be; nil when it is full.
  mutating func chunkWithSpace() -> BodyChunk? {
    if let filling { return filling.isFull ? nil : filling }
    // A small body gets a small chunk; a large one chunks that keep a worker busy for a while.
    let expected = framing.knownRemaining ?? 65_536
    let chunk = BodyChunk(capacity: Int(min(max(expected, 1), Upload.chunkSize)))
    filling = chunk
    return chunk
  }

  private static let chunkSize: UInt64 = 262_144
}
