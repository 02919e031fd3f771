import HTTP
import Synchronization

/// A loop's side of a body that is being received.
struct Upload {
  let receiver: StreamingUpload
  /// What arrived and isn't with a worker yet.
  var filling: BodyChunk?
  /// A worker has a piece.
  var isBusy = false
  /// A worker has had a piece.
  var wasBegun = false
}

/// A piece of a body on its way from a loop to a worker.
final class BodyChunk: @unchecked Sendable {
  // Unchecked: the loop fills it, then a worker reads it; it is never with both.
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

  /// The part that isn't filled.
  var space: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: memory[count...]) }

  /// `extra` bytes were written into `space`.
  func filled(_ extra: Int) { count = min(count &+ extra, memory.count) }

  /// Adds bytes, which fit.
  func append(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { space.copyMemory(from: $0) }
    filled(bytes.byteCount)
  }
}

/// A body receiver with its life: made, fed and ended on worker threads, one job at a time.
final class StreamingUpload: @unchecked Sendable {
  // Unchecked: `receiver` and `ended` are touched by one worker job at a time; the loop submits the next one
  // when the last has reported back.
  private let make: @Sendable () -> any BodyReceiver
  private var receiver: (any BodyReceiver)?
  private var ended = false
  private let cancelled = Atomic(false)
  /// Whose workers it lives on.
  let pool: WorkerPool

  init(_ make: @escaping @Sendable () -> any BodyReceiver, on pool: WorkerPool) {
    self.make = make
    self.pool = pool
  }

  /// A receiver that nobody told the end is told here, at the latest.
  deinit { abort() }

  /// Gives the receiver the next piece, or asks whether it wants any; the answer, when it takes no more.
  func take(_ chunk: BodyChunk?, last: Bool) -> Response? {
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

  /// Tells the receiver that the rest will not come.
  func abort() {
    guard !ended else { return }
    ended = true
    receiver?.abort()
    receiver = nil
  }

  /// Asks the job that is running now to abort at its end.
  func cancel() { cancelled.store(true, ordering: .releasing) }

  private func finish(_ receiver: any BodyReceiver) -> Response {
    ended = true
    self.receiver = nil
    return receiver.finish()
  }
}
