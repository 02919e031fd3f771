import Linux
import System
import XCacheRuntime

/// A connection without TLS.
final class SocketStream: ProxyStream {
  private let descriptor: Descriptor
  private let broken = Locked(false)

  /// Takes over a nonblocking socket.
  init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// The socket's descriptor, valid as long as this object lives.
  var raw: Int32 { descriptor.raw }

  func read(into buffer: UnsafeMutableRawBufferPointer, within milliseconds: Int) -> Int? {
    while true {
      switch Kernel.receive(raw, into: buffer) {
      case .bytes(let count): return count
      case .end: return 0
      case .broken:
        broken.withLock { $0 = true }
        return 0
      case .wouldBlock:
        guard Kernel.wait(raw, for: .reading, milliseconds: milliseconds) else { return nil }
      }
    }
  }

  var isBroken: Bool { broken.withLock { $0 } }

  func write(_ bytes: UnsafeRawBufferPointer, within milliseconds: Int) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      switch Kernel.send(raw, rest) {
      case .bytes(let count): rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      case .end, .broken: return false
      case .wouldBlock:
        guard Kernel.wait(raw, for: .writing, milliseconds: milliseconds) else { return false }
      }
    }
    return true
  }

  var isGone: Bool { Kernel.isHungUp(raw) }
  func finishWriting() { Kernel.shutdownSending(raw) }
  func close() { Kernel.shutdown(raw) }

  func reset() {
    let end = Clock.monotonicNanoseconds() + Self.delivery
    while Kernel.unacknowledged(raw) > 0, Clock.monotonicNanoseconds() < end {
      Clock.sleep(for: .milliseconds(5))
    }
    Kernel.abortConnection(raw)
  }

  /// Nanoseconds within which the other side has to receive what was written.
  private static let delivery: UInt64 = 5_000_000_000
}
