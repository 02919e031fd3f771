import Platform
import System
import XCacheRuntime

/// Listens on loopback for the engine of this app, and has each connection served on a thread of its own.
public final class ProxyListener: Sendable {
  private struct State {
    /// The listening socket; nil: it was stopped, or failed.
    var socket: Int32?
    var connections: [Int: SocketStream] = [:]
    var next = 0
  }

  private let proxy: PageProxy
  private let state: Locked<State>
  /// Where it listens, the same as long as this lives.
  public let port: UInt16

  /// Connections at a time; more wait to be accepted.
  private static let mostConnections = 512

  /// Listens on a port that the system chooses.
  ///
  /// - Throws: where there is none to be had.
  public init(_ proxy: PageProxy) throws {
    self.proxy = proxy
    let socket = try Self.listen(port: 0)
    port = try Kernel.localAddress(socket.raw).port
    state = Locked(State())
    try accept(on: socket.release())
  }

  /// The address for an engine's proxy settings, password included. An engine that uses libsoup shows this password to each server.
  public var address: String { "http://\(PageProxy.user):\(proxy.password)@127.0.0.1:\(port)" }

  /// The same for SOCKS 5, whose password goes no further than here.
  public var socksAddress: String { "socks5://\(PageProxy.user):\(proxy.password)@127.0.0.1:\(port)" }

  /// Whether it listens.
  public var isListening: Bool { state.withLock { $0.socket != nil } }

  /// Listens again on the same port after `stop`.
  ///
  /// - Throws: where another process has the port by now.
  public func restart() throws {
    guard !isListening else { return }
    try accept(on: try Self.listen(port: port).release())
  }

  /// Ends listening and every connection.
  public func stop() {
    let streams = state.withLock { state -> [SocketStream] in
      // Under the lock: the thread that listens closes the socket once it sees that it isn't wanted any more.
      if let socket = state.socket { Kernel.stopListening(socket) }
      state.socket = nil
      return Array(state.connections.values)
    }
    for stream in streams { stream.close() }
  }

  deinit { stop() }

  private static func listen(port: UInt16) throws(SystemError) -> Descriptor {
    try Kernel.listen(SocketAddress(high: 0, low: 0xFFFF_7F00_0001, port: port), backlog: 128)
  }

  private func accept(on socket: Int32) throws(SystemError) {
    let (state, proxy) = (state, proxy)
    state.withLock { $0.socket = socket }
    do {
      _ = try OSThread(name: "page proxy") {
        // Closed by the thread that uses it, so that its number never means another file.
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
      guard state.socket != nil, state.connections.count < mostConnections else { return nil }
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
