import HTTP
import Synchronization

/// A body receiver with its life: made, fed and ended on worker threads, one job at a time.
final class UploadReceiver: @unchecked Sendable {
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

  /// Gives the receiver the next piece; the answer, when it takes no more.
  func take(_ chunk: BodyChunk?, last: Bool) -> Response? {
    let receiver = self.receiver ?? make()
    self.receiver = receiver
    if let chunk, chunk.count > 0, !receiver.receive(chunk.bytes) { return finish(receiver) }
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
