import HTTP
import Platform
import System

extension EventLoop {
  /// How many bytes of files are sent to one connection before others have their turn.
  static let turnSize = 1 << 20

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
    var budget = EventLoop.turnSize
    while connection.http.canWrite, budget > 0, first.count > 0 || !connection.queue.isEmpty {
      switch sendNext(connection, first, &budget) {
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
    return budget > 0
  }

  private func sendNext(
    _ connection: Connection, _ first: UnsafeRawBufferPointer, _ budget: inout Int
  ) -> Transfer {
    let socket = connection.descriptor.raw
    if first.isEmpty, case .file(let file) = connection.queue.next {
      guard let count = sendable(file, upTo: EventLoop.turnSize, connection) else {
        reportMissingBytes(of: file)
        return .end
      }
      if count == 0 { return .wouldBlock }
      budget -= count
      let transfer = Kernel.sendFile(file.descriptor, at: file.offset, count: count, to: socket)
      if transfer == .end { reportMissingBytes(of: file) }
      return transfer
    }
    pieces.removeAll()
    if !first.isEmpty { pieces.append(first) }
    let fileFollows = connection.queue.gather(into: &pieces)
    return Kernel.send(socket, pieces, more: fileFollows)
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
