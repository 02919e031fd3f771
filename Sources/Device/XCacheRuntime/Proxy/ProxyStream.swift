import XCacheDevice

/// A byte stream to and from the other side of a connection. One thread may read while another writes; both may block.
public protocol ProxyStream: AnyObject, Sendable {
  /// Reads what has arrived, waiting at most `milliseconds` for it.
  /// - Returns: the number of bytes; 0 if no more will come; nil if none came in that time.
  func read(into buffer: UnsafeMutableRawBufferPointer, within milliseconds: Int) -> Int?

  /// Whether `read` returned 0 because the connection broke off: it was reset, or its TLS failed. Otherwise the other side
  /// ended it, and a body delimited by the end of the connection is complete. TLS may end without its closing alert, as in
  /// browsers.
  var isBroken: Bool { get }

  /// Sends all of `bytes`; returns false if the other side is gone, or accepts nothing for `milliseconds`.
  func write(_ bytes: UnsafeRawBufferPointer, within milliseconds: Int) -> Bool

  /// Whether the other side has closed the connection, as far as is known without waiting.
  var isGone: Bool { get }

  /// Tells the other side that no more will be sent; what it sends can still be read.
  func finishWriting()

  /// Closes both directions; threads blocked in `read` or `write` return.
  func close()

  /// Like `close`, but makes the other side see a broken connection, as far as that can be signalled. What was written
  /// before still arrives.
  func reset()
}

/// What the proxy needs from a system: TLS towards the engine, and connections to tunnel.
///
/// `DeviceLinux` has an implementation over libssl.
public protocol ProxyNetwork: StreamNetwork {
  /// Performs the server side of TLS with an engine, using this device's own certificate. Blocks.
  ///
  /// - Parameters:
  ///   - stream: the connection to the engine.
  ///   - early: bytes already read from `stream`, the start of the engine's handshake.
  ///   - host: the host that the engine believes it talks to.
  /// - Returns: the decrypted stream; nil if the handshake fails.
  func secure(_ stream: any ProxyStream, after early: [UInt8], as host: String) -> (any ProxyStream)?
}

extension ProxyStream {
  /// Milliseconds for which an engine may accept nothing of what it requested: pages read when they like.
  static var timeout: Int { 600_000 }

  func write(_ bytes: UnsafeRawBufferPointer) -> Bool { write(bytes, within: Self.timeout) }

  func write(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { write($0) } }
}
