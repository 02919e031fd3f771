import Synchronization
import XCacheDevice
import XCacheRuntime
import XCacheWebKit

/// The network for connections that the proxy tunnels: direct, slowed down, or blocked.
final class LookNetwork: WebProxyNetwork {
  private let base: any WebProxyNetwork
  /// Why connections are refused; nil if they aren't.
  private let refusal: String?
  private let line: Line?

  init(_ base: any WebProxyNetwork, refusal: String?, line: Line?) {
    self.base = base
    self.refusal = refusal
    self.line = line
  }

  func certificate(for host: String) -> String? { base.certificate(for: host) }

  func secure(_ stream: any ProxyStream, after early: [UInt8], as host: String) -> (any ProxyStream)? {
    base.secure(stream, after: early, as: host)
  }

  func connect(
    to host: String, port: Int, isSecure: Bool, isCancelled: () -> Bool
  ) throws(TransportError) -> any ProxyStream {
    if let refusal { throw TransportError(.unreachable, "\(host): \(refusal)") }
    let stream = try base.connect(to: host, port: port, isSecure: isSecure, isCancelled: isCancelled)
    guard let line else { return stream }
    line.wait()
    return SlowStream(stream, line)
  }
}

/// A connection over a slow line.
private final class SlowStream: ProxyStream {
  private let base: any ProxyStream
  private let line: Line
  /// Whether something was sent since data last arrived, so that what arrives next is an answer.
  private let hasAsked = Atomic(false)

  init(_ base: any ProxyStream, _ line: Line) {
    self.base = base
    self.line = line
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, within milliseconds: Int) -> Int? {
    let count = base.read(into: buffer, within: milliseconds)
    if let count, count > 0 {
      if hasAsked.exchange(false, ordering: .relaxed) { line.wait() }
      line.carry(count)
    }
    return count
  }

  func write(_ bytes: UnsafeRawBufferPointer, within milliseconds: Int) -> Bool {
    hasAsked.store(true, ordering: .relaxed)
    return base.write(bytes, within: milliseconds)
  }

  var isBroken: Bool { base.isBroken }
  var isGone: Bool { base.isGone }
  func finishWriting() { base.finishWriting() }
  func close() { base.close() }
  func reset() { base.reset() }
}
