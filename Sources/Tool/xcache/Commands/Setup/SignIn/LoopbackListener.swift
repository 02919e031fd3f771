import Linux
import System
import Values

/// Waits at a port of 127.0.0.1 for the browser's redirect at the end of a sign-in.
///
/// Used by one thread.
final class LoopbackListener {
  /// A connection, and what has come on it.
  private final class Connection {
    let socket: Descriptor
    /// When it is given up, in monotonic nanoseconds.
    let end: UInt64
    var bytes: [UInt8] = []

    init(_ socket: consuming Descriptor, end: UInt64) {
      self.socket = socket
      self.end = end
    }
  }

  private let socket: Descriptor
  private let epoll: Descriptor
  let port: UInt16

  /// The most connections at once: a browser opens some that it may not use.
  private static let maxConnections = 16
  /// How long a connection may take to send its request, in nanoseconds.
  private static let patience: UInt64 = 10_000_000_000
  /// The token of the listening socket's events.
  private static let listening: UInt64 = 0

  /// Listens on a port that the kernel chooses.
  init() throws(SystemError) {
    socket = try Kernel.listen(SocketAddress(.loopback, port: 0), backlog: 16)
    port = try Kernel.localAddress(socket.raw).port
    epoll = try Kernel.epoll()
    try Kernel.watch(socket.raw, .readable, token: Self.listening, in: epoll.raw)
  }

  /// Waits for the decision; nil if none comes before `end`, in monotonic nanoseconds.
  func wait(for state: String, until end: UInt64) throws(SystemError) -> LoopbackRequest.Decision? {
    let request = LoopbackRequest(state: state, port: port)
    var connections: [UInt64: Connection] = [:]
    var last = Self.listening
    var batch = EpollBatch(capacity: Self.maxConnections + 1)
    while true {
      let now = Clock.monotonicNanoseconds()
      guard now < end else { return nil }
      connections = connections.filter { now < $0.value.end }
      let left = min((end - now) / 1_000_000 + 1, 1000)
      for index in 0..<batch.wait(epoll.raw, milliseconds: Int32(left)) {
        let token = batch[index].token
        if token == Self.listening {
          last += 1
          try accept(&connections, token: last, now: now)
        } else if let connection = connections[token] {
          switch Self.serve(connection, request) {
          case nil: continue
          case .some(.decided(let decision)):
            // The browser reads the answer before the connection ends.
            Kernel.shutdownSending(connection.socket.raw)
            _ = Kernel.wait(connection.socket.raw, for: .reading, milliseconds: 1000)
            return decision
          case .some: connections[token] = nil
          }
        }
      }
    }
  }

  private func accept(_ connections: inout [UInt64: Connection], token: UInt64, now: UInt64)
    throws(SystemError)
  {
    guard case .connection(let socket, let peer) = Kernel.accept(self.socket.raw), peer.isLoopback else {
      return
    }
    if connections.count >= Self.maxConnections, let oldest = connections.keys.min() {
      connections[oldest] = nil
    }
    let connection = Connection(socket, end: now + Self.patience)
    try Kernel.watch(connection.socket.raw, [.readable, .peerDone], token: token, in: epoll.raw)
    connections[token] = connection
  }

  /// Reads what has come and answers a whole request; nil while more is to come.
  private static func serve(_ connection: Connection, _ request: LoopbackRequest) -> LoopbackRequest.Reading?
  {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
    defer { buffer.deallocate() }
    let over = LoopbackRequest.Reading.refused(status: 400, words: "")
    switch Kernel.receive(connection.socket.raw, into: buffer) {
    case .bytes(let count) where count > 0: connection.bytes += buffer[..<count]
    case .wouldBlock: return nil
    default: return over
    }
    let reading = request.read(connection.bytes)
    guard let answer = LoopbackRequest.answer(to: reading) else { return nil }
    // It fits into the socket's buffer.
    answer.withUnsafeBytes { _ = Kernel.send(connection.socket.raw, $0) }
    return reading
  }
}
