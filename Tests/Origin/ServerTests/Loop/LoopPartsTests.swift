import Glibc
import HTTP
import System
import Testing
import Values

@testable import Linux
@testable import Server

@Suite struct LoopPartsTests {
  @Test func deadlinesArePoppedInOrder() {
    var heap = DeadlineHeap()
    var times: [UInt64] = []
    var seed: UInt64 = 88_172_645_463_325_252
    for index in 0..<500 {
      seed ^= seed << 13
      seed ^= seed >> 7
      seed ^= seed << 17
      times.append(seed % 1000)
      heap.insert(DeadlineHeap.Entry(time: seed % 1000, token: UInt64(index)))
    }
    var popped: [UInt64] = []
    while let entry = heap.pop(499) { popped.append(entry.time) }
    #expect(popped == times.filter { $0 <= 499 }.sorted())
    while let entry = heap.pop(.max) { popped.append(entry.time) }
    #expect(popped == times.sorted() && heap.next == nil)
  }

  @Test func cancelledDeadlinesAreRemoved() {
    var heap = DeadlineHeap()
    for token in 0..<1000 as Range<UInt64> {
      heap.insert(DeadlineHeap.Entry(time: token * 7919 % 1000, token: token))
    }
    heap.keep { $0.token.isMultiple(of: 10) }
    #expect(heap.count == 100)
    var popped: [UInt64] = []
    while let entry = heap.pop(.max) { popped.append(entry.time) }
    #expect(popped == (0..<100).map { $0 * 10 * 7919 % 1000 }.sorted())
  }

  @Test func admissionCountsPerAddress() throws {
    var limits = ServerLimits()
    limits.connections = 5
    limits.connectionsPerAddress = 2
    let admission = Admission(limits, trusted: [try #require(AddressRange("10.0.0.0/8"))])
    func enters(_ address: String) -> Bool {
      guard let peer = IPAddress(address), case .admitted = admission.enter(peer) else { return false }
      return true
    }
    #expect(enters("192.0.2.1") && enters("192.0.2.1") && !enters("192.0.2.1"))
    admission.leave(try #require(IPAddress("192.0.2.1")), counted: true)
    #expect(enters("192.0.2.1"))
    #expect(enters("10.0.0.1") && enters("10.0.0.1") && enters("10.0.0.1"))
    #expect(!enters("127.0.0.1"))
    for _ in 0..<3 { admission.leave(try #require(IPAddress("10.0.0.1")), counted: false) }
    #expect(enters("127.0.0.1"))
    admission.leave(try #require(IPAddress("127.0.0.1")), counted: false)
    // The addresses of one IPv6 network count as one holder.
    #expect(enters("2001:db8::1") && enters("2001:db8::2") && !enters("2001:db8::3"))
    admission.leave(try #require(IPAddress("2001:db8::1")), counted: true)
    #expect(enters("2001:db8::3"))
    #expect(enters("2001:db8:0:1::1"))
  }

  @Test func writeQueueKeepsAllBytes() {
    var queue = WriteQueue()
    let bytes = SharedBytes("0123456789")
    queue.append(.bytes(bytes, 2..<8))
    queue.append(.bytes(bytes, 0..<3))
    queue.remove(4)
    let front = SharedBytes("ab")
    let back = SharedBytes("z")
    withExtendedLifetime((front, back)) {
      queue.prepend(front.address)
      queue.append(back.address)
    }
    var text = ""
    while let segment = queue.next, case .bytes(let bytes, let range) = segment {
      text += bytes.bytes.extracting(range.lowerBound..<range.lowerBound + 1).text
      queue.remove(1)
    }
    #expect(text == "ab67012z" && queue.isEmpty)
  }

  /// A large document whose parts are made while it is sent, to a slow client.
  @Test func gatherStopsAtItsLimit() {
    var queue = WriteQueue()
    for text in ["abcd", "efgh", "ijkl"] { queue.append(.bytes(SharedBytes(text), 0..<4)) }
    #expect(queue.count == 12)
    var pieces = GatherList(capacity: 16)
    let fileFollows = queue.gather(into: &pieces, upTo: 6)
    #expect(!fileFollows)
    #expect((0..<pieces.message.msg_iovlen).map { pieces.message.msg_iov[$0].iov_len } == [4, 2])
    queue.remove(6)
    "xy".utf8CString.withUnsafeBytes { queue.prepend(UnsafeRawBufferPointer(rebasing: $0[..<2])) }
    #expect(queue.count == 8)
    queue.remove(8)
    #expect(queue.isEmpty && queue.count == 0)
  }

  @Test func partsAreMadeWhenTheyAreSent() {
    final class Held: Sendable {
      weak let bytes: SharedBytes?; init(_ bytes: SharedBytes) { self.bytes = bytes }
    }
    let made = Locked<[Held]>([])
    var queue = WriteQueue()
    let wanted = (0..<40).map { String(repeating: String($0 % 10), count: 40_000 + $0) }
    for part in wanted {
      queue.append(
        .made(
          MadeBytes(count: part.utf8.count) {
            let bytes = SharedBytes(part)
            made.withLock { $0.append(Held(bytes)) }
            return bytes
          }))
    }
    var pieces = GatherList(capacity: 16)
    var sent = ""
    var waits = 0
    while !queue.isEmpty {
      pieces.removeAll()
      _ = queue.gather(into: &pieces, upTo: .max)
      // No more is made ahead than one call may send.
      waits = max(waits, made.withLock { $0.count { $0.bytes != nil } })
      guard case .bytes(let bytes, let range) = queue.next else { break }
      let count = min(range.count, 25_000)
      sent += bytes.bytes.extracting(range.lowerBound..<range.lowerBound + count).text
      queue.remove(count)
    }
    #expect(sent == wanted.joined())
    #expect(made.withLock { $0.count } == wanted.count)
    #expect((1...8).contains(waits))
  }

  @Test(arguments: [(0, 0), (15_999, 0), (16_000, 1), (32_000, 2), (1_000_000, 6), (UInt64.max, 20)])
  func latencyBuckets(_ nanoseconds: UInt64, _ bucket: Int) {
    #expect(LatencyBuckets.index(nanoseconds: nanoseconds) == bucket)
  }

  @Test func linesDroppedBecauseOfASlowDiskAreCounted() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let log = try AccessLog(Descriptor(owning: ends[1]), format: .common) { _ in }
    // There is no reader: lines wait up to the limit, plus those that the writer is writing.
    for _ in 0..<40 { log.write([UInt8](repeating: 0x61, count: 1 << 20), count: 10) }
    #expect(log.dropped >= 70 && log.dropped.isMultiple(of: 10))
    Signals.ignorePipe()
    close(ends[0])
    log.close()
  }

  @Test func logTimes() {
    let time = LogTime(971_186_136)
    #expect(time.common == "10/Oct/2000:13:55:36 +0000")
    #expect(time.iso == "2000-10-10T13:55:36Z")
  }
}
