import Foundation
import Synchronization

/// The line to the network that all pages share, as slow as somebody wants it.
///
/// A model, not a network: each answer begins later, and bytes come one after another. What a new connection costs besides isn't
/// in it.
final class Line: Sendable {
  private let delay: Double
  private let bytesPerSecond: Double
  /// When what is under way will have come.
  private let free = Mutex(ContinuousClock.now)

  init(_ limits: Settings.Network) {
    delay = limits.delay / 1_000
    bytesPerSecond = limits.kilobitsPerSecond * 1_000 / 8
  }

  /// Waits as an answer does on its way.
  func wait() { Thread.sleep(forTimeInterval: delay) }

  /// Waits until so many bytes have come.
  func carry(_ count: Int) {
    let until = free.withLock { free in
      free = max(free, .now) + .seconds(Double(count) / bytesPerSecond)
      return free
    }
    let left = until - .now
    if left > .zero { Thread.sleep(forTimeInterval: left / .seconds(1)) }
  }
}
