import Linux
import System
import XCacheRuntime

/// Listens on loopback for this app's engine, and serves each connection on a thread of its own.
public final class ProxyListener: Sendable {
  private struct State {
    /// The listening socket; nil if it was stopped or failed.
    var socket: Int32?
    var connections: [Int: SocketStream] = [:]
    var next = 0
  }

  private let proxy: PageProxy
  private let state: Locked<State>
  /// The port it listens on, which never changes.
  public let port: UInt16

  /// The most connections at a time; more are refused.
  private static let maxConnections = 512

  /// Listens on a port that the system chooses.
  ///
  /// - Throws: `SystemError` if no port is available.
  public init(_ proxy: PageProxy) throws {
    self.proxy = proxy
    let socket = try Self.listen(port: 0)
    port = try Kernel.localAddress(socket.raw).port
    state = Locked(State())
    try accept(on: socket.release())
  }

  /// The address for an engine's proxy settings, including the password. An engine that uses libsoup sends this password to
  /// every server.
  public var address: String { "http://\(PageProxy.user):\(proxy.password)@127.0.0.1:\(port)" }

  /// The same for SOCKS 5, whose password goes only to this proxy.
  public var socksAddress: String { "socks5://\(PageProxy.user):\(proxy.password)@127.0.0.1:\(port)" }

  /// Whether it is listening.
  public var isListening: Bool { state.withLock { $0.socket != nil } }

  /// Listens again on the same port after `stop`.
  ///
  /// - Throws: `SystemError` if another process has taken the port.
  public func restart() throws {
    guard !isListening else { return }
    try accept(on: try Self.listen(port: port).release())
  }

  /// Stops listening and closes every connection.
  public func stop() {
    let streams = state.withLock { state -> [SocketStream] in
      // Under the lock, since the listening thread closes the socket once it sees that it should stop.
      if let socket = state.socket { Kernel.stopListening(socket) }
      state.socket = nil
      return Array(state.connections.values)
    }
    for stream in streams { stream.close() }
  }

  deinit { stop() }

  private static func listen(port: UInt16) throws(SystemError) -> Descriptor {
    try Kernel.listen(SocketAddress(.loopback, port: port), backlog: 128)
  }

  private func accept(on socket: Int32) throws(SystemError) {
    let (state, proxy) = (state, proxy)
    state.withLock { $0.socket = socket }
    do {
      _ = try OSThread(name: "page proxy") {
        // Closed by the thread that uses it, so that its number is never reused for another file meanwhile.
        let listener = Descriptor(owning: socket)
        while state.withLock({ $0.socket == socket }) {
          guard Kernel.wait(listener.raw, for: .reading, milliseconds: 60_000) else { continue }
          Self.acceptAll(listener.raw, state, proxy)
        }
      }
    } catch {
      state.withLock { $0.socket = nil }
      _ = Descriptor(owning: socket)
      throw error
    }
  }

  private static func acceptAll(_ listener: Int32, _ state: Locked<State>, _ proxy: PageProxy) {
    while true {
      switch Kernel.accept(listener) {
      case .connection(let descriptor, _): serve(SocketStream(descriptor), state, proxy)
      case .none: return
      case .lost: continue
      case .exhausted:
        Clock.sleep(for: .milliseconds(100))
        return
      }
    }
  }

  private static func serve(_ stream: SocketStream, _ state: Locked<State>, _ proxy: PageProxy) {
    let id = state.withLock { state -> Int? in
      guard state.socket != nil, state.connections.count < maxConnections else { return nil }
      state.next += 1
      state.connections[state.next] = stream
      return state.next
    }
    guard let id else { return }
    let thread = try? OSThread(name: "proxied") {
      proxy.serve(stream)
      state.withLock { $0.connections[id] = nil }
    }
    if thread == nil { state.withLock { $0.connections[id] = nil } }
  }
}
