import Platform
import System
import XCacheRuntime

/// A connection without TLS.
final class SocketStream: ProxyStream {
  private let descriptor: Descriptor

  /// Takes over a socket that doesn't block.
  init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// The socket's number, good as long as this is held.
  var raw: Int32 { descriptor.raw }

  func read(into buffer: UnsafeMutableRawBufferPointer, within milliseconds: Int) -> Int? {
    while true {
      switch Kernel.receive(raw, into: buffer) {
      case .bytes(let count): return count
      case .end, .broken: return 0
      case .wouldBlock:
        guard Kernel.wait(raw, for: .reading, milliseconds: milliseconds) else { return nil }
      }
    }
  }

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
}
