import Foundation
import PreviewProtocol
import Synchronization

/// The network line that all pages share, made as slow as the settings say.
///
/// A model, not a network: each answer starts later, and bytes arrive one after another. The extra cost of a new connection
/// isn't included.
final class Line: Sendable {
  private let delay: Double
  private let bytesPerSecond: Double
  /// When everything under way will have arrived.
  private let free = Mutex(ContinuousClock.now)

  init(_ limits: EngineSettings.Network) {
    delay = limits.delay / 1_000
    bytesPerSecond = limits.kilobitsPerSecond * 1_000 / 8
  }

  /// Waits for the delay of an answer.
  func wait() { Thread.sleep(forTimeInterval: delay) }

  /// Waits until `count` bytes have arrived.
  func carry(_ count: Int) {
    let until = free.withLock { free in
      free = max(free, .now) + .seconds(Double(count) / bytesPerSecond)
      return free
    }
    let left = until - .now
    if left > .zero { Thread.sleep(forTimeInterval: left / .seconds(1)) }
  }
}
