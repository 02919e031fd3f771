import HTTPDNS
import System
import Values

/// The SOCKS 5 handshake by which an engine asks for a connection (RFC 1928), with a user name and password (RFC 1929).
///
/// The password reaches only the proxy. With an HTTP proxy, libsoup sends the password inside the tunnel as well, to every
/// server.
struct SOCKSHandshake {
  /// The first byte that an engine sends.
  static let version: UInt8 = 5

  /// The reply to a request (RFC 1928 §6).
  enum Reply: UInt8 {
    case succeeded = 0
    case failed = 1
    case hostUnreachable = 4
    case commandNotSupported = 7
    case addressNotSupported = 8

    /// The reply with the address 0.0.0.0 and port 0, which no engine looks at.
    var bytes: [UInt8] { [SOCKSHandshake.version, rawValue, 0, 1, 0, 0, 0, 0, 0, 0] }
  }

  private let stream: any ProxyStream

  private static let byPassword: UInt8 = 2
  private static let noMethod: UInt8 = 0xFF
  private static let passwordVersion: UInt8 = 1
  private static let connect: UInt8 = 1
  private let limit: UInt64

  /// - Parameters:
  ///   - stream: the stream, of which the first byte, `version`, was read.
  ///   - limit: by when everything has to have arrived, in monotonic nanoseconds: an engine sends it at once.
  init(_ stream: any ProxyStream, until limit: UInt64) {
    self.stream = stream
    self.limit = limit
  }

  /// Returns the requested site, to which the caller has to reply. Nil if there is none or the client isn't allowed; the
  /// client was then told.
  func site(_ isAllowed: (_ user: [UInt8], _ password: [UInt8]) -> Bool) -> ResourceURL? {
    guard let methods = counted() else { return nil }
    guard methods.contains(Self.byPassword) else {
      _ = stream.write([Self.version, Self.noMethod])
      return nil
    }
    guard stream.write([Self.version, Self.byPassword]), read(1) == [Self.passwordVersion],
      let user = counted(), let password = counted()
    else { return nil }
    let isAllowed = isAllowed(user, password)
    guard stream.write([Self.passwordVersion, isAllowed ? 0 : 1]), isAllowed, let head = read(4),
      head[0] == Self.version
    else { return nil }
    return request(head[1], address: head[3])
  }

  private func request(_ command: UInt8, address type: UInt8) -> ResourceURL? {
    let host: String?
    switch type {
    case 1: host = read(4).flatMap { IPAddress(bytes: $0) }?.authority
    case 3: host = counted().map { Self.host(String(decoding: $0, as: UTF8.self)) }
    case 4: host = read(16).flatMap { IPAddress(bytes: $0) }?.authority
    default: return refuse(.addressNotSupported)
    }
    guard let host, let port = read(2) else { return nil }
    guard command == Self.connect else { return refuse(.commandNotSupported) }
    return ResourceURL(site: "\(host):\(Int(port[0]) << 8 | Int(port[1]))") ?? refuse(.failed)
  }

  /// Returns the host as it appears in a URL: an engine may send an address as a name, without brackets.
  private static func host(_ name: String) -> String { IPAddress(name)?.authority ?? name }

  private func refuse(_ reply: Reply) -> ResourceURL? {
    _ = stream.write(reply.bytes)
    return nil
  }

  /// Reads as many bytes as the next byte says.
  private func counted() -> [UInt8]? { read(1).flatMap { read(Int($0[0])) } }

  /// Reads exactly `count` bytes: what follows may be TLS.
  private func read(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let now = Clock.monotonicNanoseconds()
      guard now < limit else { return nil }
      let milliseconds = Int((limit - now) / 1_000_000)
      let read = bytes.withUnsafeMutableBytes {
        stream.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[filled...]), within: milliseconds)
      }
      guard let read, read > 0 else { return nil }
      filled += read
    }
    return bytes
  }
}
