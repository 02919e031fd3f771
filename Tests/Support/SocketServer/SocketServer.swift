import Glibc
import System

/// A server of a few lines over real sockets: one thread a connection, HTTP/1.1 with `Content-Length`, and
/// every way to misbehave that a client must live with.
///
/// It stops when it is let go.
package final class SocketServer: Sendable {
  package struct Request: Sendable {
    package let method: String
    /// With its query.
    package let path: String
    /// Names in lower case.
    package let fields: [String: String]
    package let body: [UInt8]
    /// Counts the connections from 0 in the order in which they came.
    package let connection: Int
  }

  package enum Step: Sendable {
    case send([UInt8])
    case sleep(milliseconds: UInt32)
    /// What the test does there, such as waiting for its client.
    case run(@Sendable () -> Void)
    /// Closes with a FIN, then ends.
    case close
    /// Closes with a RST, then ends.
    case reset
  }

  package typealias Handler = @Sendable (Request) -> [Step]

  package let port: UInt16
  private let listener: Int32
  private let state = State()

  /// Outlives the server as long as a thread of it runs: a descriptor is closed by its own thread only, and
  /// shut down from outside only while it is in the set, so that no number is touched after it was given anew.
  private final class State: Sendable {
    let open = Locked<Set<Int32>>([])
    let count = Locked(0)
  }

  package init(_ handler: @escaping Handler) {
    // No program that another test starts may hold a connection open, which then would not end for the other side.
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let number = listener
    port = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        guard bind(number, $0, length) == 0, listen(number, 64) == 0 else {
          fatalError("no port to listen on")
        }
        getsockname(number, $0, &length)
      }
      return UInt16(bigEndian: pointer.pointee.sin_port)
    }
    signal(SIGPIPE, SIG_IGN)
    let state = self.state
    SocketServer.thread {
      while true {
        let connection = accept(number, nil, nil)
        if connection >= 0 {
          _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
          SocketServer.serve(connection, state, handler)
          continue
        }
        // Shut down: the server was let go. Anything else passes, and would look like "connection refused" to whoever comes next.
        let code = errno
        if code == EINVAL || code == EBADF { break }
        let words = "socket server: accept failed with errno \(code)\n"
        _ = words.withCString { write(2, $0, strlen($0)) }
        Clock.sleep(for: .milliseconds(20))
      }
      close(number)
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    state.open.withLock { for connection in $0 { shutdown(connection, Int32(SHUT_RDWR)) } }
  }

  package var url: String { "http://127.0.0.1:\(port)" }

  /// Connections so far.
  package var connections: Int { state.count.withLock { $0 } }

  private static func serve(_ connection: Int32, _ state: State, _ handler: @escaping Handler) {
    let index = state.count.withLock { value in
      value += 1
      return value - 1
    }
    state.open.withLock { _ = $0.insert(connection) }
    thread {
      var stream = Stream(connection)
      while let request = stream.next(index), stream.run(handler(request)) {}
      state.open.withLock { _ = $0.remove(connection) }
      close(connection)
    }
  }

  private static func thread(_ body: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    let box = Unmanaged.passRetained(Box(body)).toOpaque()
    pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body() }
        return nil
      }, box)
    pthread_detach(thread)
  }
}
