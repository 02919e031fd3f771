import HTTP
import Synchronization

/// A loop's state of a body that is being received.
struct Upload {
  let receiver: StreamingUpload
  /// What has arrived but hasn't been passed to a worker yet.
  var filling: BodyChunk?
  /// Whether a worker is processing a piece.
  var isBusy = false
  /// Whether a worker has been given a piece.
  var wasBegun = false
}

/// A piece of a body on its way from a loop to a worker.
final class BodyChunk: @unchecked Sendable {
  // Unchecked: the loop fills it, then a worker reads it; never both at once.
  private let memory: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  init(capacity: Int) { memory = .allocate(byteCount: capacity, alignment: 16) }
  deinit { memory.deallocate() }

  var bytes: RawSpan {
    @_lifetime(borrow self)
    get {
      let filled = UnsafeRawBufferPointer(rebasing: memory[..<count])
      return _overrideLifetime(filled.bytes, borrowing: self)
    }
  }

  /// The unused part.
  var space: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: memory[count...]) }

  /// Records that `extra` bytes were written into `space`.
  func filled(_ extra: Int) { count = min(count &+ extra, memory.count) }

  /// Appends bytes, which must fit.
  func append(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { space.copyMemory(from: $0) }
    filled(bytes.byteCount)
  }
}

/// A body receiver and its lifetime: created, fed and ended on worker threads, one job at a time.
final class StreamingUpload: @unchecked Sendable {
  // Unchecked: only one worker job at a time uses `receiver` and `ended`; the loop submits the next one after the previous
  // one has reported back.
  private let make: @Sendable () -> any BodyReceiver
  private var receiver: (any BodyReceiver)?
  private var ended = false
  private let cancelled = Atomic(false)
  /// The workers that it runs on.
  let pool: WorkerPool
  /// On whose account.
  let holder: Int

  init(_ make: @escaping @Sendable () -> any BodyReceiver, on pool: WorkerPool, for holder: Int) {
    self.make = make
    self.pool = pool
    self.holder = holder
  }

  /// Aborts a receiver that hasn't been ended otherwise.
  deinit { abort() }

  /// Passes the next piece to the receiver, or asks whether it wants any; returns the answer if it takes no more.
  func consume(_ chunk: BodyChunk?, last: Bool) -> Response? {
    let receiver = self.receiver ?? make()
    self.receiver = receiver
    if let chunk, chunk.count > 0 {
      if !receiver.receive(chunk.bytes) { return finish(receiver) }
    } else if !last, !receiver.receive(RawSpan()) {
      return finish(receiver)
    }
    if last { return finish(receiver) }
    if cancelled.load(ordering: .acquiring) { abort() }
    return nil
  }

  /// Tells the receiver that the rest won't arrive.
  func abort() {
    guard !ended else { return }
    ended = true
    receiver?.abort()
    receiver = nil
  }

  /// Makes the running job abort when it finishes.
  func cancel() { cancelled.store(true, ordering: .releasing) }

  private func finish(_ receiver: any BodyReceiver) -> Response {
    ended = true
    self.receiver = nil
    return receiver.finish()
  }
}
