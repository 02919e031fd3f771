import HTTP
import System
import Testing

@testable import HTTPClient

/// The exchange between a pool's thread and the thread that sends a request, without libcurl.
@Suite struct HandOverTests {
  private func take(_ handOver: HandOver, _ bytes: [UInt8], spools: Bool) -> Bool {
    bytes.withUnsafeBytes { handOver.take($0, spools: spools) }
  }

  /// Reads everything that is there; returns it, and how often the transfer was resumed.
  private func read(_ handOver: HandOver) -> (bytes: [UInt8], resumed: Int) {
    var bytes: [UInt8] = []
    var resumed = 0
    while let (step, shouldContinue) = handOver.next(within: .zero) {
      if shouldContinue { resumed += 1 }
      guard case .bytes(let piece) = step else { break }
      bytes += piece
    }
    return (bytes, resumed)
  }

  private func piece(_ number: Int) -> [UInt8] {
    (0..<16_384).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
  }

  /// A transfer pauses when 256 KB are unread, and resumes once when half of them are read.
  @Test func slowReadersPauseTheirTransfer() {
    let handOver = HandOver { _ in }
    var sent: [UInt8] = []
    while take(handOver, piece(sent.count), spools: false) {
      sent += piece(sent.count)
      #expect(sent.count <= 1 << 20)
      if sent.count > 1 << 20 { return }
    }
    #expect(sent.count == 256 << 10)
    let (bytes, resumed) = read(handOver)
    #expect(bytes == sent && resumed == 1)
    #expect(take(handOver, [1], spools: false) && read(handOver).bytes == [1])
  }

  /// A transfer that shares a connection never pauses: unread bytes go to a file, in order.
  @Test func transfersOnASharedConnectionSpoolToAFile() {
    let handOver = HandOver { _ in }
    var sent: [UInt8] = []
    var got: [UInt8] = []
    for round in 0..<3 {
      for number in 0..<100 {
        let bytes = piece(round * 100 + number)
        #expect(take(handOver, bytes, spools: true))
        sent += bytes
        // The reader takes every fourth piece meanwhile.
        if number % 4 == 0, case (.bytes(let piece), _)? = handOver.next(within: .zero) { got += piece }
      }
      // Then it takes the rest, after which memory is used again.
      got += read(handOver).bytes
      #expect(got == sent)
    }
  }

  /// A file that is read while it is written stays within its capacity, and keeps the order of bytes.
  @Test(arguments: [1, 3, 100, 1_000]) func spoolFilesAreRingBuffers(step: Int) throws {
    let spool = try #require(SpoolFile(capacity: 1_000))
    var (sent, got, number) = ([UInt8](), [UInt8](), 0)
    while sent.count < 10_000 {
      number += 1
      let bytes = (0..<(number * 7 % 300 + 1)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
      let isTaken = bytes.withUnsafeBytes { spool.append($0) }
      #expect(isTaken == (sent.count - got.count + bytes.count <= 1_000))
      if isTaken { sent += bytes }
      if !isTaken || number % 3 == 0 { got += try #require(spool.next(upTo: step)) }
      #expect(spool.count == Int64(sent.count - got.count) && spool.size <= 1_000)
    }
    while spool.count > 0 { got += try #require(spool.next(upTo: step)) }
    #expect(got == sent && spool.next(upTo: step) == nil)
  }

  /// The transfer pauses when the file is full, and resumes when half of it is free.
  @Test func fullFilesPauseTheirTransfer() {
    let handOver = HandOver(spoolLimit: 1 << 20) { _ in }
    var (sent, got, resumed) = ([UInt8](), [UInt8](), 0)
    for number in 0..<400 {
      let bytes = piece(number)
      while !take(handOver, bytes, spools: true) {
        // Unread: 256 KB in memory and 1 MB in the file.
        #expect(sent.count - got.count <= 5 << 18)
        var isResumed = false
        while !isResumed, case (.bytes(let piece), let shouldContinue)? = handOver.next(within: .zero) {
          got += piece
          isResumed = shouldContinue
        }
        #expect(isResumed && sent.count - got.count <= 3 << 18)
        guard isResumed else { return }
        resumed += 1
      }
      sent += bytes
    }
    #expect(got + read(handOver).bytes == sent && resumed > 3)
  }

  /// Without a file, bytes beyond the limit are refused, and those before it are complete.
  @Test func memoryIsLimited() {
    let handOver = HandOver { _ in }
    var sent: [UInt8] = []
    let isTaken = { (bytes: [UInt8]) in bytes.withUnsafeBytes { handOver.take($0, upTo: 1 << 20) } }
    for number in 0..<64 {
      #expect(isTaken(piece(number)))
      sent += piece(number)
    }
    #expect(!isTaken([1]))
    let (bytes, resumed) = read(handOver)
    #expect(bytes == sent && resumed == 0 && isTaken([1]))
  }

  @Test func headsArriveFirstAndEndsLast() {
    let handOver = HandOver { _ in }
    handOver.take(HTTPHead(200))
    #expect(take(handOver, [1, 2], spools: false) && take(handOver, [3], spools: false))
    handOver.end(7)
    var received: [String] = []
    for _ in 0..<3 {
      switch handOver.next(within: .zero)?.step {
      case .head(let reply): received.append("\(reply.status)")
      case .bytes(let bytes): received.append("\(bytes)")
      case .end(let code): received.append("end \(code)")
      default: received.append("?")
      }
    }
    #expect(received == ["200", "[1, 2, 3]", "end 7"])
  }

  /// A body is requested at the offset where libcurl reads it, and from its start when libcurl rewinds.
  @Test func bodiesAreReadAtTheRequestedOffset() {
    let handOver = HandOver { _ in }
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 4, alignment: 1)
    defer { room.deallocate() }
    #expect(handOver.read(at: 0, into: room) == 0)
    guard case .wants(offset: 0)? = handOver.next(within: .zero)?.step else {
      Issue.record("nothing is wanted"); return
    }
    handOver.give([1, 2, 3, 4, 5][...], at: 0)
    #expect(handOver.read(at: 0, into: room) == 4 && Array(room) == [1, 2, 3, 4])
    #expect(handOver.read(at: 4, into: room) == 1 && room[0] == 5)
    // No more bytes are there; then it rewinds.
    #expect(handOver.read(at: 5, into: room) == 0)
    #expect(handOver.read(at: 0, into: room) == 0)
    guard case .wants(offset: 0)? = handOver.next(within: .zero)?.step else {
      Issue.record("nothing is wanted"); return
    }
  }

  /// libcurl asks again whenever a transfer is resumed because of its answer; a stream gives its bytes only once.
  @Test func bodiesAreNotRequestedTwice() {
    let handOver = HandOver { _ in }
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 4, alignment: 1)
    defer { room.deallocate() }
    #expect(handOver.read(at: 0, into: room) == 0)
    guard case .wants(offset: 0)? = handOver.next(within: .zero)?.step else {
      Issue.record("nothing is wanted"); return
    }
    #expect(handOver.read(at: 0, into: room) == 0 && handOver.next(within: .zero) == nil)
    handOver.give([1, 2][...], at: 0)
    #expect(handOver.read(at: 0, into: room) == 2 && handOver.read(at: 2, into: room) == 0)
    guard case .wants(offset: 2)? = handOver.next(within: .zero)?.step else {
      Issue.record("nothing is wanted"); return
    }
    // It rewinds while bytes are being read.
    #expect(handOver.read(at: 0, into: room) == 0)
    handOver.give([3][...], at: 2)
    guard case .wants(offset: 0)? = handOver.next(within: .zero)?.step else {
      Issue.record("nothing is wanted"); return
    }
    #expect(handOver.read(at: 0, into: room) == 0 && handOver.next(within: .zero) == nil)
    handOver.give([1, 2][...], at: 0)
    #expect(handOver.read(at: 0, into: room) == 2)
  }

  @Test func connectionsCountAsSharedByConcurrentRequests() {
    let use = ConnectionUse()
    let received = Locked<[String]>([])
    let numbers = (0..<3).map { _ in use.begin() }
    let send = { (index: Int, line: String) in
      use.sent(numbers[index], on: line) { value in received.withLock { $0.append("\(index) \(value)") } }
    }
    send(0, "a")
    send(1, "b")
    #expect(received.withLock { $0 } == [])
    // Consecutive requests don't share a connection.
    use.end(numbers[0])
    send(2, "a")
    #expect(received.withLock { $0 } == [])
    send(2, "b")
    #expect(received.withLock { $0 } == ["1 true", "2 true"])
  }
}
