import System

/// Passes bytes on between two connections, both ways, unread.
package enum ProxyTunnel {
  private static let size = 65_536
  /// Milliseconds without a byte in either direction, after which it ends.
  private static let idle = 3_600_000

  /// Comes back when both directions have ended.
  package static func join(_ one: any ProxyStream, _ other: any ProxyStream) {
    let back = try? OSThread(name: "proxy tunnel") { pass(from: other, to: one) }
    if back != nil { pass(from: one, to: other) }
    back?.join()
    one.close()
    other.close()
  }

  private static func pass(from source: any ProxyStream, to target: any ProxyStream) {
    var buffer = [UInt8](repeating: 0, count: size)
    while true {
      let count = buffer.withUnsafeMutableBytes { source.read(into: $0, within: idle) } ?? 0
      guard count > 0 else { break }
      let isSent = buffer.withUnsafeBytes {
        target.write(UnsafeRawBufferPointer(rebasing: $0[..<count]), within: idle)
      }
      if !isSent {
        source.close()
        break
      }
    }
    target.finishWriting()
  }
}
