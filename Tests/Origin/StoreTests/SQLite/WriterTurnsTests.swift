import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// The order of writers, and checkpoints besides commits.
@Suite struct WriterTurnsTests {
  @Test func turnsAreInOrderAndUrgentOnesFirst() {
    var turns = WriterTurns()
    let (a, b, c, d) = (
      turns.queue(goesFirst: false), turns.queue(goesFirst: false), turns.queue(goesFirst: true),
      turns.queue(goesFirst: true)
    )
    // Only the next one begins, and none during a turn.
    let (early, begun) = ([a, b, d].filter { turns.begin($0) }, [c, a, b, d].filter { turns.begin($0) })
    #expect(early.isEmpty && begun == [c])
    turns.end()
    var order: [Int] = []
    for _ in 0..<3 {
      for ticket in [b, a, d] where !order.contains(ticket) && turns.begin(ticket) {
        order.append(ticket)
        turns.end()
      }
    }
    #expect(order == [d, a, b])
  }

  @Test func killSwitchPrecedesWaitingReleases() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    let (isHeld, order) = (Monitor(false), Locked<[String]>([]))
    let holder = try OSThread(name: "holder") {
      try? store.connections.writing { (_) throws(StoreError) in
        isHeld.broadcasting { $0 = true }
        Clock.sleep(for: .milliseconds(400))
      }
    }
    isHeld.waiting { $0 ? () : nil }
    let others = try (0..<6).map { number in
      try OSThread(name: "other") {
        try? store.connections.writing { (_) throws(StoreError) in
          Clock.sleep(for: .milliseconds(50))
          order.withLock { $0.append("\(number)") }
        }
      }
    }
    Clock.sleep(for: .milliseconds(100))
    _ = try store.change(
      DocumentRequest(
        app: AppName("shop"), channel: .online, document: .policy, kind: .kill, author: "t", message: "")
    ) { (_, _) throws(StoreError) in Array("{}".utf8) }
    order.withLock { $0.append("kill") }
    for thread in others + [holder] { thread.join() }
    #expect(order.withLock { $0 }.firstIndex(of: "kill") ?? .max <= 1, "\(order.withLock { $0 })")
  }

  @Test func checkpointsRunBesidesCommits() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    func size(_ ending: String) throws -> Int64 {
      try Kernel.status("\(scratch.data)/xcache.db\(ending)")?.size ?? 0
    }
    let before = try size("")
    try store.connections.transaction { (db) throws(StoreError) in
      try db.script("CREATE TABLE filler (bytes BLOB)")
      for _ in 0..<6 { try db.script("INSERT INTO filler VALUES (randomblob(1 << 20))") }
    }
    #expect(try size("") == before && size("-wal") > 6 << 20)
    try store.checkpoint()
    #expect(try size("") > 6 << 20)
    // A small log isn't checkpointed, nor one that a reader uses.
    try store.connections.transaction { (db) throws(StoreError) in
      try db.script("INSERT INTO filler VALUES (1)")
    }
    #expect(throws: Never.self) { try store.checkpoint() }
    #expect(
      try store.connections.reading { (db) throws(StoreError) in
        try db.value(Int64.self, "SELECT count(*) FROM filler")
      } == 7)
  }
}
