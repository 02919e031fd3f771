import XCacheClient

/// Bytes to and from the other side of a connection. One thread may read while another one writes; both may block.
public protocol ProxyStream: AnyObject, Sendable {
  /// Reads what has arrived, and waits for it so many milliseconds at most.
  /// - Returns: how many bytes; 0: no more come; nil: none came in that time.
  func read(into buffer: UnsafeMutableRawBufferPointer, within milliseconds: Int) -> Int?

  /// Sends all of `bytes`; false where the other side is gone, or takes nothing for so many milliseconds.
  func write(_ bytes: UnsafeRawBufferPointer, within milliseconds: Int) -> Bool

  /// Whether the other side has closed the connection, as far as is known without waiting.
  var isGone: Bool { get }

  /// Tells the other side that no more is sent; what it sends can still be read.
  func finishWriting()

  /// Ends both directions; who waits in `read` or `write` comes back.
  func close()
}

/// What the proxy needs of a system: TLS towards the engine, and connections that it passes on as they are.
///
/// `DeviceLinux` has one over libssl.
public protocol ProxyNetwork: StreamNetwork {
  /// TLS with an engine that takes the other side of `stream` for `host`, by the certificate that is this device's own; nil
  /// where it doesn't come about. The call blocks.
  func secure(_ stream: any ProxyStream, as host: String) -> (any ProxyStream)?
}

extension ProxyStream {
  /// Milliseconds that an engine may take for what it asked for.
  static var timeout: Int { 120_000 }

  func write(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { write($0, within: Self.timeout) } }
}
