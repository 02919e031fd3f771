import HTTP

/// An event that a connection has to handle.
enum ConnectionEvent: Sendable {
  /// The client sends this text.
  case sends(String)
  /// The client sends this many meaningless bytes.
  case floods(Int)
  /// The client closes its sending side.
  case ends
  /// The kernel accepts this many more bytes of answers, until the next event of this kind.
  case hasRoom(Int)
  /// This many bytes of answers aren't acknowledged.
  case unacknowledged(UInt64)
  /// The clock advances by so many seconds, and timeouts are checked.
  case passes(UInt64)
  /// A worker gives the awaited answer.
  case answers
  /// The receiver has taken the delivered bytes and wants more.
  case takes
  /// The server shuts down.
  case drains
}

/// Drives a connection without a socket: keeps the wire in memory and writes down what is done.
///
/// Every answer has 10 bytes, but `/large`, which has 100,000. `/later` is answered by a worker; `/count` takes a body
/// of at most 500,000 bytes, and `/bye` ends the connection. A handshake is `hello`, to which anything else is no
/// beginning.
struct ConnectionDriver: ~Copyable {
  private(set) var connection: HTTPConnection
  private var workspace = ConnectionWorkspace()
  private var now: UInt64 = 0
  private var wire: [UInt8] = []
  private var isEnded = false
  private var room = Int.max
  private var unacknowledged: UInt64 = 0
  private var stash: [UInt8] = []
  /// What was done, in order.
  private(set) var done: [String] = []

  init(_ rules: ConnectionRules = ConnectionRules(), handshakes: Bool = false) {
    connection = HTTPConnection(rules, now, handshakes: handshakes)
    act(connection.next(&workspace, now))
    done = []
  }

  /// Has something happen, and does what follows until the connection waits.
  mutating func handle(_ event: ConnectionEvent) {
    workspace.input.restore(stash)
    switch event {
    case .sends(let text):
      wire += Array(text.utf8)
      connection.becameReadable()
    case .floods(let count):
      wire += [UInt8](repeating: 0x61, count: count)
      connection.becameReadable()
    case .ends:
      isEnded = true
      connection.peerFinished()
    case .hasRoom(let count):
      room = count
      connection.becameWritable()
    case .unacknowledged(let count):
      unacknowledged = count
    case .passes(let seconds):
      now += seconds * Timeouts.second
      return act(connection.timedOut(unacknowledged: unacknowledged, &workspace, now))
    case .answers: answer("answer")
    case .takes: connection.delivered(now)
    case .drains: connection.drain()
    }
    act(connection.next(&workspace, now))
  }

  private mutating func act(_ first: HTTPConnection.Action) {
    var action = first
    while true {
      switch action {
      case .handshake: handshake()
      case .read: read()
      case .readBody(let count): readBody(count)
      case .dispatch(let head): dispatch(head)
      case .refuse(let status): answer("refuse \(status.code)", closing: true)
      case .store(let bytes): done.append("store \(bytes.count)")
      case .deliver(let last): done.append(last ? "deliver last" : "deliver")
      case .sendContinue:
        done.append("continue")
        connection.wrote(25)
      case .abandonBody(let status): answer("abandon \(status.code)", closing: true)
      case .flush: flush()
      case .leave: connection.leave(unacknowledged: unacknowledged)
      case .shutdownSending:
        done.append("shut")
        connection.sendingEnded(unacknowledged: unacknowledged, now)
      case .close:
        done.append("close")
        return connection.closed()
      case .wait(let time):
        done.append(time == .max ? "wait" : "wait \(time / Timeouts.second)")
        stash = workspace.input.takeAll()
        return
      }
      action = connection.next(&workspace, now)
    }
  }

  /// Takes what has arrived off the wire; nil, and the connection told why, without any.
  private mutating func arrived(_ room: Int) -> [UInt8]? {
    guard wire.isEmpty else {
      defer { wire.removeFirst(min(room, wire.count)) }
      return Array(wire.prefix(room))
    }
    if isEnded { connection.inputEnded() } else { connection.nothingToRead() }
    return nil
  }

  private mutating func handshake() {
    let hello = Array("hello".utf8)
    if wire.starts(with: hello) {
      wire.removeFirst(hello.count)
      done.append("handshake")
      connection.handshaken(more: !wire.isEmpty, now)
    } else if hello.starts(with: wire), !isEnded {
      connection.nothingToRead()
    } else {
      done.append("no handshake")
      connection.handshakeFailed()
    }
  }

  private mutating func read() {
    let space = workspace.input.space()
    guard let bytes = arrived(space.count) else { return }
    space.copyBytes(from: bytes)
    workspace.input.append(bytes.count)
    connection.received(bytes.count, filled: bytes.count == space.count, now)
  }

  private mutating func readBody(_ room: Int) {
    guard let bytes = arrived(room) else { return }
    done.append("body \(bytes.count)")
    connection.receivedBody(bytes.count, filled: bytes.count == room, now)
  }

  private mutating func dispatch(_ range: Range<Int>) {
    let head = workspace.parser.head
    let path = String(decoding: workspace.input.memory(range)[head.path.range], as: UTF8.self)
    let words = "\(head.method.name) \(path)"
    if path == "/count" {
      guard connection.receiveBody(limit: 500_000, now) else {
        return answer("\(words) 413", closing: true)
      }
      return done.append(words)
    }
    if path == "/later" {
      done.append(words)
      return connection.wait()
    }
    answer(words, size: path == "/large" ? 100_000 : 10, closing: path == "/bye")
  }

  private mutating func answer(_ words: String, size: UInt64 = 10, closing: Bool = false) {
    let announcement = connection.answer(closing: closing, now)
    done.append(words + (announcement == .close ? " (last)" : announcement == .keepAlive ? " (kept)" : ""))
    connection.wrote(size)
  }

  private mutating func flush() {
    let count = connection.canWrite ? min(room, Int(connection.unsent)) : 0
    done.append("send \(count)")
    connection.sent(count)
    room -= count
    if connection.unsent > 0 { connection.outputIsFull() }
    _ = connection.flushed(now, unacknowledged: unacknowledged)
  }
}
