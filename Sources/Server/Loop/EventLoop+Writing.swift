import HTTP
import Platform
import System

extension EventLoop {
  /// Bytes of files sent to one connection before the others have their turn.
  private static let turnSize = 1 << 20

  /// Sends what was answered; true when all of it went. Otherwise the connection waits for the client.
  func flush(_ connection: Connection) -> Bool {
    guard !outbox.isEmpty || !connection.queue.isEmpty else { return true }
    let complete = connection.queue.isEmpty ? flushOutbox(connection) : flushQueue(connection)
    outbox.removeAll(keeping: EventLoop.outboxSize)
    if connection.isClosed { return false }
    if complete {
      conclude(connection)
      return true
    }
    postpone(connection)
    // In another phase the answers are sent beside it: a worker is busy, or a body arrives.
    if connection.isBetweenAnswers {
      noteProgress(connection)
      connection.state.waitForWriting(now, timeouts)
    }
    return false
  }

  /// Looks how much of the answers the client has acknowledged; gives how much it has not.
  @discardableResult
  func noteProgress(_ connection: Connection) -> UInt64 {
    let waiting = min(UInt64(Kernel.unacknowledged(connection.descriptor.raw)), connection.sent)
    connection.state.progressed(connection.sent &- waiting, now, timeouts)
    return waiting
  }

  /// The usual case: everything is in the outbox, and one call sends it.
  private func flushOutbox(_ connection: Connection) -> Bool {
    let bytes = outbox.address
    switch connection.canWrite ? Kernel.send(connection.descriptor.raw, bytes) : .wouldBlock {
    case .bytes(let count):
      sent(count, connection)
      if count == bytes.count { return true }
      connection.queue.prepend(UnsafeRawBufferPointer(rebasing: bytes[count...]))
    case .wouldBlock:
      connection.queue.prepend(bytes)
    case .end, .broken:
      close(connection)
      return false
    }
    connection.canWrite = false
    return false
  }

  /// Sends the outbox and then the queue, memory gathered into one call and files by the kernel.
  private func flushQueue(_ connection: Connection) -> Bool {
    var first = outbox.address
    var budget = EventLoop.turnSize
    while connection.canWrite, first.count > 0 || !connection.queue.isEmpty {
      let result = sendNext(connection, first, &budget)
      switch result {
      case .bytes(let count):
        sent(count, connection)
        let fromFirst = min(count, first.count)
        first = UnsafeRawBufferPointer(rebasing: first[fromFirst...])
        connection.queue.remove(count &- fromFirst)
      case .wouldBlock:
        connection.canWrite = false
      case .end, .broken:
        close(connection)
        return false
      }
      if budget <= 0 {
        takeTurn(connection)
        break
      }
    }
    connection.queue.prepend(first)
    return connection.queue.isEmpty
  }

  private func sendNext(
    _ connection: Connection, _ first: UnsafeRawBufferPointer, _ budget: inout Int
  ) -> Transfer {
    let socket = connection.descriptor.raw
    if first.isEmpty, case .file(let file) = connection.queue.next {
      let count = Int(min(file.count, UInt64(EventLoop.turnSize)))
      budget -= count
      return Kernel.sendFile(file.descriptor, at: file.offset, count: count, to: socket)
    }
    pieces.removeAll()
    if !first.isEmpty { pieces.append(first) }
    let fileFollows = connection.queue.gather(into: &pieces)
    return Kernel.send(socket, pieces, more: fileFollows)
  }

  private func sent(_ count: Int, _ connection: Connection) {
    connection.sent &+= UInt64(count)
    metrics.bytesOut.add(UInt64(count))
  }

  /// Goes on with answers that the client hadn't room for.
  func resumeWriting(_ connection: Connection) -> Bool {
    guard connection.canWrite else { return false }
    guard flush(connection) else { return false }
    connection.state.becomeIdle(now, timeouts)
    return settle(connection)
  }
}
