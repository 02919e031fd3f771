import XCacheClient

/// Bytes to and from the other side of a connection. One thread may read while another one writes; both may block.
public protocol ProxyStream: AnyObject, Sendable {
  /// Reads what has arrived, and waits for it so many milliseconds at most.
  /// - Returns: how many bytes; 0: no more come; nil: none came in that time.
  func read(into buffer: UnsafeMutableRawBufferPointer, within milliseconds: Int) -> Int?

  /// Whether `read` gave 0 because the connection broke off: it was reset, or its TLS failed. Else the other side ended it, and what
  /// lasts as long as the connection is whole. TLS may end without its closing alert, as it may in browsers.
  var isBroken: Bool { get }

  /// Sends all of `bytes`; false where the other side is gone, or takes nothing for so many milliseconds.
  func write(_ bytes: UnsafeRawBufferPointer, within milliseconds: Int) -> Bool

  /// Whether the other side has closed the connection, as far as is known without waiting.
  var isGone: Bool { get }

  /// Tells the other side that no more is sent; what it sends can still be read.
  func finishWriting()

  /// Ends both directions; who waits in `read` or `write` comes back.
  func close()

  /// As `close`, and so that the other side takes the connection for broken off, as far as that can be told to it. What was written
  /// before still arrives.
  func reset()
}

/// What the proxy needs of a system: TLS towards the engine, and connections that it passes on as they are.
///
/// `DeviceLinux` has one over libssl.
public protocol ProxyNetwork: StreamNetwork {
  /// TLS with an engine, by the certificate that is this device's own. The call blocks.
  ///
  /// - Parameters:
  ///   - stream: the connection, whose other side is the engine.
  ///   - early: what was read of `stream` already, the beginning of the engine's TLS.
  ///   - host: the name that the engine takes this side for.
  /// - Returns: nil where the handshake fails.
  func secure(_ stream: any ProxyStream, after early: [UInt8], as host: String) -> (any ProxyStream)?
}

extension ProxyStream {
  /// Milliseconds for which an engine may take nothing of what it asked for: pages read when they like to.
  static var timeout: Int { 600_000 }

  func write(_ bytes: UnsafeRawBufferPointer) -> Bool { write(bytes, within: Self.timeout) }

  func write(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { write($0) } }
}
