import HTTP
import Linux
import System

extension EventLoop {
  /// How many bytes of files are sent to one connection before others have their turn.
  static let turnSize = 1 << 20
  /// How many bytes of memory, which cost more: 256 KB, which takes some 0.2 ms if they have to be made.
  private static let memoryTurnSize = 1 << 18
  /// From how many bytes on an answer is sent only in a connection's turn, after the requests that have come: 64 KB.
  private static let bulkSize: UInt64 = 1 << 16
  /// For how long connections have their turns before the loop looks for new requests: 2 ms.
  private static let turnNanoseconds: UInt64 = 2_000_000

  /// Whether so much is left to send that others go first.
  func isBulk(_ connection: Connection) -> Bool { connection.queue.count >= Self.bulkSize }

  /// Keeps what is in the outbox with the connection, for its turn.
  func keepForTurn(_ connection: Connection) {
    connection.queue.prepend(outbox.address)
    outbox.removeAll(keeping: EventLoop.outboxSize)
    postpone(connection)
  }

  /// Gives connections with work left a turn each, in order, as many as there is time for.
  func giveTurns() {
    let end = Clock.monotonicNanoseconds() &+ Self.turnNanoseconds
    let tokens = yielded
    yielded = []
    var given = 0
    repeat {
      if let connection = connection(tokens[given]) {
        connection.hasYielded = false
        hasTurn = true
        // The last turn may have left unread data in the socket.
        if connection.tls != nil { connection.http.becameReadable() }
        drive(connection)
      }
      given += 1
    } while given < tokens.count && Clock.monotonicNanoseconds() < end
    hasTurn = false
    if given < tokens.count { yielded.insert(contentsOf: tokens[given...], at: 0) }
  }

  /// Sends pending answers; false if the connection's turn is over.
  func flush(_ connection: Connection) -> Bool {
    let turnIsOver = !send(connection)
    outbox.removeAll(keeping: EventLoop.outboxSize)
    guard !connection.isClosed else { return true }
    if connection.http.flushed(now, unacknowledged: connection.unacknowledged) {
      conclude(connection)
      return true
    }
    postpone(connection)
    return !turnIsOver
  }

  @inline(__always)
  private func send(_ connection: Connection) -> Bool {
    if let tls = connection.tls { return flushRecords(connection, tls) }
    return connection.queue.isEmpty ? flushOutbox(connection) : flushQueue(connection)
  }

  /// The usual case: everything is in the outbox, and one call sends it.
  private func flushOutbox(_ connection: Connection) -> Bool {
    let bytes = outbox.address
    switch connection.http.canWrite ? Kernel.send(connection.descriptor.raw, bytes) : .wouldBlock {
    case .bytes(let count):
      sent(count, connection)
      if count == bytes.count { return true }
      connection.queue.prepend(UnsafeRawBufferPointer(rebasing: bytes[count...]))
    case .wouldBlock:
      connection.queue.prepend(bytes)
    case .end, .broken:
      close(connection)
    }
    connection.http.outputIsFull()
    return true
  }

  /// Sends the outbox and then the queue, gathering memory into one call and leaving files to the kernel; false if the
  /// connection's turn is over.
  private func flushQueue(_ connection: Connection) -> Bool {
    var first = outbox.address
    var (files, memory) = (EventLoop.turnSize, EventLoop.memoryTurnSize)
    while connection.http.canWrite, files > 0, memory > 0, first.count > 0 || !connection.queue.isEmpty {
      switch sendNext(connection, first, &files, &memory) {
      case .bytes(let count):
        sent(count, connection)
        let fromFirst = min(count, first.count)
        first = UnsafeRawBufferPointer(rebasing: first[fromFirst...])
        connection.queue.remove(count &- fromFirst)
      case .wouldBlock:
        connection.http.outputIsFull()
      case .end, .broken:
        close(connection)
        return true
      }
    }
    connection.queue.prepend(first)
    return files > 0 && memory > 0
  }

  /// Sends what is next, and takes it from what the connection's turn has left.
  private func sendNext(
    _ connection: Connection, _ first: UnsafeRawBufferPointer, _ files: inout Int, _ memory: inout Int
  ) -> Transfer {
    let socket = connection.descriptor.raw
    if first.isEmpty, case .file(let file) = connection.queue.next {
      guard let count = sendable(file, upTo: EventLoop.turnSize, connection) else {
        reportMissingBytes(of: file)
        return .end
      }
      if count == 0 { return .wouldBlock }
      files -= count
      let transfer = Kernel.sendFile(file.descriptor, at: file.offset, count: count, to: socket)
      if transfer == .end { reportMissingBytes(of: file) }
      return transfer
    }
    pieces.removeAll()
    if !first.isEmpty { pieces.append(first) }
    let fileFollows = connection.queue.gather(into: &pieces, upTo: memory)
    let transfer = Kernel.send(socket, pieces, more: fileFollows)
    if case .bytes(let count) = transfer { memory -= count }
    return transfer
  }

  /// How many bytes of a file may be sent now. If it is 0, the loop learns when that has changed, and the connection waits as for
  /// a client that takes no more; nil if the answer has to be broken off.
  func sendable(_ file: FileBody, upTo limit: Int, _ connection: Connection) -> Int? {
    let count = Int(min(file.count, UInt64(limit)))
    guard let gate = file.owner.gate else { return count }
    return gate.sendable(at: file.offset, upTo: count, changed: sendMore(connection))
  }

  private func sendMore(_ connection: Connection) -> @Sendable () -> Void {
    let (token, mailbox) = (connection.token, mailbox)
    return { mailbox.post(.sendMore(token: token)) }
  }

  /// Tells the owner of an open file that it lacks bytes that its answer announced. The client sees the connection end
  /// early; nothing else would notice.
  func reportMissingBytes(of file: FileBody) {
    _ = context.lanes[.open].submit(WorkerJob { file.owner.bytesAreMissing() }, always: true)
  }

  func sent(_ count: Int, _ connection: Connection) {
    connection.http.sent(count)
    metrics.bytesOut.add(UInt64(count))
  }
}
