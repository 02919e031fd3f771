import Glibc
import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// Answers recorded for retries: in the act's transaction, and bounded.
@Suite struct IdempotencyKeyTests {
  private let scratch = Scratch()

  private static func key(_ store: Store, _ number: Int, request: String = "request") throws -> IdempotencyKey
  {
    let token = try #require(try store.tokens().first?.id)
    return IdempotencyKey(
      token: token, text: "key-of-the-request-\(number)", request: SHA256.of(Array(request.utf8)))
  }

  private static func record(_ store: Store, _ number: Int, body: [UInt8] = [1]) throws -> AnswerRecord<Lease>
  {
    AnswerRecord(try key(store, number)) { _ in StoredAnswer(status: 201, body: body) }
  }

  private static func count(_ store: Store) throws -> Int {
    try store.connections.reading { (db) throws(StoreError) in
      try db.value(Int.self, "SELECT count(*) FROM request_key") ?? 0
    }
  }

  @Test func failedActRecordsNothing() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": Sample("a")])
    let key = try Self.key(store, 1)
    let record = AnswerRecord<Void>(key) { StoredAnswer(status: 200, body: []) }
    #expect(throws: StoreError.self) {
      try store.unpin(ManifestVersion(1), of: store.shop(), by: .local, record: record)
    }
    #expect(try store.keptAnswer(to: key) == nil)
  }

  @Test func concurrentSecondActIsRefusedInItsTransaction() throws {
    let store = try scratch.open()
    _ = try store.acquireLease(holder: "a", seconds: 60, record: try Self.record(store, 1))
    #expect {
      try store.acquireLease(holder: "a", seconds: 60, record: Self.record(store, 1))
    } throws: { error in
      if case StoreError.alreadyDone = error { true } else { false }
    }
    #expect(try store.leases().count == 1)
    #expect {
      try store.keptAnswer(to: Self.key(store, 1, request: "another"))
    } throws: { error in
      if case StoreError.requestKeyReused = error { true } else { false }
    }
  }

  @Test func newAnswersRemoveOldOnes() throws {
    let now = Locked<Int64>(1_800_000_000_000)
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    let store = try scratch.open(options)
    for number in 0..<150 {
      _ = try store.acquireLease(holder: "a", seconds: 10, record: try Self.record(store, number))
    }
    now.withLock { $0 += 86_400_000 }
    // Each new one removes a hundred.
    _ = try store.acquireLease(holder: "a", seconds: 10, record: try Self.record(store, 150))
    #expect(try Self.count(store) == 51)
    _ = try store.acquireLease(holder: "a", seconds: 10, record: try Self.record(store, 7))
    #expect(try Self.count(store) == 2)
    now.withLock { $0 += 86_400_000 }
    _ = try store.collect()
    #expect(try Self.count(store) == 0)
  }

  @Test func answersOfATokenAreBounded() throws {
    let store = try scratch.open()
    let large = [UInt8](repeating: 7, count: 1 << 20)
    for number in 0..<70 {
      _ = try store.acquireLease(
        holder: "a", seconds: 10, record: try Self.record(store, number, body: large))
    }
    #expect(try Self.count(store) == 64)
    #expect(try store.keptAnswer(to: Self.key(store, 69))?.body == large)
    let token = try #require(try store.tokens().first?.id)
    try store.connections.writing { (db) throws(StoreError) in
      try db.write { () throws(StoreError) in
        try db.run("DELETE FROM request_key")
        for number in 0..<AnswerLimits.count {
          try db.run(
            "INSERT INTO request_key (token_id, key, request, at, status, answer) VALUES (?, ?, ?, ?, 200, ?)",
            token, "key-of-the-request-\(number)", SHA256.of([]), Clock.unixMilliseconds(), [1 as UInt8])
        }
      }
    }
    _ = try store.acquireLease(holder: "a", seconds: 10, record: try Self.record(store, -1))
    #expect(try Self.count(store) == AnswerLimits.count + 1 - 100)
    #expect(try store.keptAnswer(to: Self.key(store, -1)) != nil)
  }

  @Test func restoredBackupHasItsAnswers() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": Sample("a")])
    _ = try store.acquireLease(holder: "a", seconds: 60, record: try Self.record(store, 1))
    _ = try store.backUp(to: scratch.path + "/backup")
    let later = try Self.key(store, 2)
    _ = try store.acquireLease(holder: "a", seconds: 60, record: try Self.record(store, 2))
    _ = try Restore.restore(backup: scratch.path + "/backup", to: scratch.path + "/restored")
    let restored = try Store(path: scratch.path + "/restored")
    #expect(try restored.keptAnswer(to: Self.key(store, 1))?.status == 201)
    // Acts after the backup are lost, and may be done again.
    #expect(try restored.keptAnswer(to: later) == nil)
  }

  /// The process is killed around the commit of a rollback: release and answer both exist, or neither.
  @Test(arguments: 1...8)
  func killAroundTheCommit(step: Int) async throws {
    try await #require(processExitsWith: .signal(SIGKILL)) {
      [data = scratch.data as String, step = step as Int] in
      let left = Locked(step)
      var options = Store.Options()
      options.disk = Disk { (what, _) in
        guard "\(what)" == "rollback" else { return }
        let isFatal = left.withLock { left in
          left -= 1
          return left == 0
        }
        if isFatal { kill(getpid(), SIGKILL) }
      }
      let store = try Store(path: data, options: options)
      for version in 0..<3 { try store.publish(base: Int64(version), set: ["a.js": Sample("\(version)")]) }
      let request = RollbackInput(
        app: try .init("shop"), channel: .online, to: .steps(1), by: .local)
      let key = try Self.key(store, 1)
      _ = try store.rollback(
        request,
        record: AnswerRecord(key) { StoredAnswer(status: 201, body: Array($0.release.version.text.utf8)) })
      kill(getpid(), SIGKILL)
    }
    let store = try scratch.open()
    let kept = try store.keptAnswer(to: Self.key(store, 1))
    let version = try store.shop().version.number
    #expect(version == 3 && kept == nil || version == 4 && kept?.body == Array("4".utf8))
    // There are steps before and after the commit.
    #expect(step > 1 || version == 3)
    #expect(step < 8 || version == 4)
  }
}
