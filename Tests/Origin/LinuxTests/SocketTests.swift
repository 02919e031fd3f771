import Linux
import System
import Testing

/// Two ends of a connection over loopback, both non-blocking.
private final class Pair {
  let near: Descriptor
  let far: Descriptor

  init() throws {
    let listener = try Kernel.listen(try #require(SocketAddress("127.0.0.1:0")), backlog: 8)
    let address = try Kernel.localAddress(listener.raw)
    near = try TestSocket.connect(port: address.port)
    // The connection is in the kernel's queue: connect(2) has returned.
    switch Kernel.accept(listener.raw) {
    case .connection(let descriptor, let peer):
      far = descriptor
      #expect(!peer.ip.isV6 && peer.port != address.port)
    default: throw SystemError("accept", code: .noData)
    }
  }
}

@Suite struct SocketTests {
  /// Waits for one of `events` on a descriptor; nil after ten seconds.
  private static func wait(for events: EpollEvents, on descriptor: Int32) throws -> EpollEvents? {
    let epoll = try Kernel.epoll()
    try Kernel.watch(descriptor, events, token: 7, in: epoll.raw)
    var batch = EpollBatch(capacity: 1)
    let count = batch.wait(epoll.raw, milliseconds: 10_000)
    let (shown, token) = batch[0]
    return count == 1 && token == 7 ? shown : nil
  }

  private static func receive(_ socket: Int32, room: Int = 64) -> (Transfer, [UInt8]) {
    var bytes = [UInt8](repeating: 0, count: room)
    let transfer = bytes.withUnsafeMutableBytes { Kernel.receive(socket, into: $0) }
    guard case .bytes(let count) = transfer else { return (transfer, []) }
    return (transfer, Array(bytes[..<count]))
  }

  private static func send(_ bytes: [UInt8], to socket: Int32) -> Transfer {
    bytes.withUnsafeBytes { Kernel.send(socket, $0) }
  }

  @Test func bytesAreSentInBothDirections() throws {
    let pair = try Pair()
    #expect(Self.receive(pair.far.raw).0 == .wouldBlock)
    #expect(Self.send([1, 2, 3], to: pair.near.raw) == .bytes(3))
    #expect(try Self.wait(for: .readable, on: pair.far.raw)?.contains(.readable) == true)
    #expect(Self.receive(pair.far.raw, room: 2).1 == [1, 2])
    #expect(Self.receive(pair.far.raw).1 == [3])
    #expect(Self.send([9], to: pair.far.raw) == .bytes(1))
    #expect(try Self.wait(for: .readable, on: pair.near.raw) != nil)
    #expect(Self.receive(pair.near.raw).1 == [9])
  }

  @Test func gatheredPiecesAreSentInOrder() throws {
    let pair = try Pair()
    let (a, b): ([UInt8], [UInt8]) = ([1, 2], [3])
    var pieces = GatherList(capacity: 2)
    a.withUnsafeBytes { a in
      b.withUnsafeBytes { b in
        pieces.append(a)
        let hasRoom = !pieces.isFull
        pieces.append(b)
        let (count, isFull, sent) = (pieces.count, pieces.isFull, Kernel.send(pair.near.raw, pieces))
        #expect(hasRoom && isFull && count == 2 && sent == .bytes(3))
      }
    }
    pieces.removeAll()
    let left = pieces.count
    #expect(left == 0)
    #expect(try Self.wait(for: .readable, on: pair.far.raw) != nil)
    #expect(Self.receive(pair.far.raw).1 == [1, 2, 3])
  }

  /// A half-closed connection still receives.
  @Test func halfClosedSocketStillReceives() throws {
    let pair = try Pair()
    Kernel.shutdownSending(pair.near.raw)
    #expect(try Self.wait(for: [.readable, .peerDone], on: pair.far.raw)?.contains(.peerDone) == true)
    #expect(Self.receive(pair.far.raw).0 == .end)
    #expect(Self.send([5], to: pair.far.raw) == .bytes(1))
    #expect(try Self.wait(for: .readable, on: pair.near.raw) != nil)
    #expect(Self.receive(pair.near.raw).1 == [5])
  }

  /// A socket that isn't read accepts a limited amount, and reports when there is room again.
  @Test func sendingToAFullSocketWouldBlock() throws {
    let pair = try Pair()
    let block = [UInt8](repeating: 7, count: 1 << 16)
    var sent = 0
    while case .bytes(let count) = Self.send(block, to: pair.near.raw) { sent += count }
    #expect(Self.send(block, to: pair.near.raw) == .wouldBlock)
    #expect(sent > 0 && Kernel.unacknowledged(pair.near.raw) > 0)
    var received = 0
    while received < sent {
      guard try Self.wait(for: .readable, on: pair.far.raw) != nil else { break }
      received += Self.receive(pair.far.raw, room: 1 << 16).1.count
    }
    #expect(received == sent)
    #expect(try Self.wait(for: .writable, on: pair.near.raw)?.contains(.writable) == true)
  }

  @Test func sendFileStartsAtItsOffset() throws {
    let pair = try Pair()
    let path = "\(Environment.variables["TMPDIR"] ?? "/tmp")/xcache-sendfile-\(Environment.processID)"
    defer { try? Kernel.remove(path) }
    try DurableFile.write(Array("0123456789".utf8), to: path)
    let file = try Kernel.open(path, .read)
    #expect(Kernel.sendFile(file.raw, at: 3, count: 4, to: pair.near.raw) == .bytes(4))
    #expect(try Self.wait(for: .readable, on: pair.far.raw) != nil)
    #expect(Self.receive(pair.far.raw).1 == Array("3456".utf8))
    // The file is shorter than the count.
    #expect(Kernel.sendFile(file.raw, at: 10, count: 4, to: pair.near.raw) == .end)
  }

  @Test func resetConnectionIsBroken() throws {
    let pair = try Pair()
    TestSocket.reset(pair.near.raw)
    #expect(try Self.wait(for: .readable, on: pair.far.raw) != nil)
    #expect(Self.receive(pair.far.raw).0 == .broken)
    #expect(Self.send([1], to: pair.far.raw) == .broken)
  }

  private static func isQuiet(_ listener: Int32) -> Bool {
    switch Kernel.accept(listener) {
    case .none: true
    default: false
    }
  }

  @Test func acceptWithoutConnectionsAndListenOnAUsedPort() throws {
    let listener = try Kernel.listen(try #require(SocketAddress("[::1]:0")), backlog: 1)
    #expect(Self.isQuiet(listener.raw))
    let address = try Kernel.localAddress(listener.raw)
    #expect(address.ip.isV6 && address.port != 0)
    let error = #expect(throws: SystemError.self) { _ = try Kernel.listen(address, backlog: 1) }
    #expect(error?.code == .addressInUse)
    Kernel.stopListening(listener.raw)
    #expect(Self.isQuiet(listener.raw))
  }
}

@Suite struct EpollTests {
  private func expectNothing(_ batch: inout EpollBatch, _ epoll: Int32) {
    let count = batch.wait(epoll, milliseconds: 0)
    #expect(count == 0)
  }

  private func expectEvent(_ batch: inout EpollBatch, _ epoll: Int32) {
    let count = batch.wait(epoll, milliseconds: 10_000)
    #expect(count == 1)
  }

  @Test func waitTimesOutWithoutEvents() throws {
    let epoll = try Kernel.epoll()
    var batch = EpollBatch(capacity: 4)
    expectNothing(&batch, epoll.raw)
  }

  @Test func eventCounterWakesTheWait() throws {
    let epoll = try Kernel.epoll()
    let counter = try Kernel.eventCounter()
    try Kernel.watch(counter.raw, [.readable, .edge], token: .max, in: epoll.raw)
    var batch = EpollBatch(capacity: 4)
    Kernel.raise(counter.raw)
    Kernel.raise(counter.raw)
    expectEvent(&batch, epoll.raw)
    let (events, token) = batch[0]
    #expect(token == .max && events.contains(.readable))
    // Edge-triggered: an event is reported once.
    expectNothing(&batch, epoll.raw)
    Kernel.raise(counter.raw)
    expectEvent(&batch, epoll.raw)
    Kernel.reset(counter.raw)
    expectNothing(&batch, epoll.raw)
  }

  @Test func levelTriggeredEventsAreReportedUntilReset() throws {
    let epoll = try Kernel.epoll()
    let counter = try Kernel.eventCounter()
    try Kernel.watch(counter.raw, .readable, token: 3, in: epoll.raw)
    var batch = EpollBatch(capacity: 1)
    Kernel.raise(counter.raw)
    for _ in 0..<3 { expectEvent(&batch, epoll.raw) }
    Kernel.reset(counter.raw)
    expectNothing(&batch, epoll.raw)
    Kernel.raise(counter.raw)
    try Kernel.unwatch(counter.raw, in: epoll.raw)
    expectNothing(&batch, epoll.raw)
  }
}
