import Manifests
import System
import Testing
import TestSupport

@testable import Store

@Suite struct DocumentTests {
  private static func request(
    _ document: ChannelDocument = .prefetch, _ kind: DocumentRecord.Kind = .push, ifVersion: Int64? = nil,
    source: Int64? = nil
  ) throws -> DocumentRequest {
    DocumentRequest(
      app: try AppName("shop"), channel: .online, document: document, kind: kind, author: "ci",
      message: "why",
      ifVersion: ifVersion, source: source)
  }

  private static func push(_ store: Store, _ text: String, _ request: DocumentRequest) throws
    -> DocumentOutcome
  {
    try store.change(request, change: { _, _ in Array(text.utf8) })
  }

  private static func version(_ outcome: DocumentOutcome) -> String {
    switch outcome {
    case .changed(let record, let replaced, _): "changed \(record.version), was \(replaced?.version ?? 0)"
    case .unchanged(let record): "unchanged \(record?.version ?? 0)"
    case .conflict(let record): "conflict \(record.version)"
    }
  }

  @Test func documentsHaveCountersOfTheirOwn() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": Sample("a")])
    #expect(try Self.version(Self.push(store, "[1]", Self.request())) == "changed 1, was 0")
    try store.publish(base: 1, set: ["a": Sample("b")])
    #expect(try Self.version(Self.push(store, "[2]", Self.request())) == "changed 2, was 1")
    #expect(try Self.version(Self.push(store, "[2]", Self.request())) == "unchanged 2")
    #expect(try Self.version(Self.push(store, "{}", Self.request(.policy, .set))) == "changed 1, was 0")
    // A document makes no manifest version, and records the one that was live.
    #expect(try store.shop().version == ManifestVersion(2))
    let log = try store.log(.prefetch, of: store.shop())
    #expect(log.map(\.version) == [2, 1] && log.map(\.manifestVersion.number) == [2, 1])
    #expect(log.allSatisfy { $0.author == "ci" && $0.message == "why" && $0.content.isEmpty })
    #expect(try store.log(.prefetch, of: store.shop(), limit: 1, before: 2).map(\.version) == [1])
  }

  @Test func ifVersionRefusesLaterChanges() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": Sample("a")])
    #expect(try Self.version(Self.push(store, "[1]", Self.request(ifVersion: 0))) == "changed 1, was 0")
    #expect(try Self.version(Self.push(store, "[2]", Self.request(ifVersion: 0))) == "conflict 1")
    #expect(try Self.version(Self.push(store, "[2]", Self.request(ifVersion: 1))) == "changed 2, was 1")
  }

  @Test func contentsSurviveARestart() throws {
    let scratch = Scratch()
    do {
      let store = try scratch.open()
      try store.publish(base: 0, set: ["a": Sample("a")])
      _ = try Self.push(store, #"[{"é":"\u0000"}]"#, Self.request())
      _ = try Self.push(store, "[]", Self.request(.prefetch, .rollback, source: 0))
      _ = try store.set(SettingsChange(interval: 60), of: AppName("shop"), .online)
      _ = try store.keepScript([0, 1, 255], for: store.shop(), by: .local)
      _ = try store.keepScript([0, 1, 255], for: store.shop(), by: .local)
    }
    let store = try scratch.open()
    let channel = try store.shop()
    #expect(try store.document(.prefetch, of: channel, at: 1)?.content == Array(#"[{"é":"\u0000"}]"#.utf8))
    let extras = try store.extras(of: channel)
    #expect(extras.prefetch?.version == 2 && extras.prefetch?.source == 0 && extras.policy == nil)
    #expect(extras.interval == 60)
    #expect(try store.set(SettingsChange(interval: nil), of: AppName("shop"), .online).extras.interval == nil)
    #expect(try store.script(SHA256.of([0, 1, 255])) == [0, 1, 255])
    #expect(try store.script(SHA256.of([1])) == nil)
    #expect(throws: StoreError.self) { try store.document(.prefetch, of: channel, at: 3) }
  }

  @Test func committedIsCalledOncePerChange() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": Sample("a")])
    var versions: [Int64?] = []
    for text in ["[1]", "[1]", "[2]"] {
      _ = try store.change(
        try Self.request(), change: { _, _ in Array(text.utf8) },
        committed: { versions.append($1.prefetch?.version) })
    }
    #expect(versions == [1, 2])
  }

  @Test func unknownChannel() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    #expect(throws: StoreError.self) { try Self.push(store, "[]", Self.request()) }
  }

  /// Constraints that hold whatever the code does.
  @Test(arguments: [
    "UPDATE document SET content = '[]' WHERE version = 2",
    "DELETE FROM document WHERE version = 2",
    "INSERT INTO document SELECT NULL, channel_id, name, 1, kind, source, at, author, message, 0, '[]' FROM document",
    "INSERT INTO document VALUES (NULL, 1, 'prefetch', 3, 'rollback', NULL, 0, '', '', 0, '[]')",
    "INSERT INTO document VALUES (NULL, 1, 'prefetch', 3, 'push', 1, 0, '', '', 0, '[]')",
    "INSERT INTO document VALUES (NULL, 1, 'prefetch', 3, 'rollback', 3, 0, '', '', 0, '[]')",
    "INSERT INTO document VALUES (NULL, 1, 'other', 1, 'push', NULL, 0, '', '', 0, '[]')",
    "INSERT INTO document VALUES (NULL, 99, 'prefetch', 1, 'push', NULL, 0, '', '', 0, '[]')",
    "UPDATE channel SET poll_interval = 29",
    "UPDATE channel SET poll_interval = 3601",
    "UPDATE policy_script SET bytes = x'00'",
    "INSERT INTO policy_script VALUES (x'00', x'00', 0)",
  ]) func invalidStatesAreRefused(statement: String) throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": Sample("a")])
    _ = try Self.push(store, "[1]", Self.request())
    _ = try Self.push(store, "[2]", Self.request())
    _ = try store.keepScript([1], for: store.shop(), by: .local)
    #expect(throws: StoreError.self) {
      try store.connections.writing { (db) throws(StoreError) in try db.script(statement) }
    }
  }

  /// A restored origin's documents skip version numbers as manifests do: otherwise a device with a later version of the lost origin would
  /// ignore a `policy kill` with the same number.
  @Test func restoreLeavesAGapInDocumentNumbers() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": Sample("a")])
    for text in ["[1]", "[2]"] { _ = try Self.push(store, text, Self.request()) }
    _ = try store.backUp(to: scratch.path + "/backup")
    _ = try Restore.restore(backup: scratch.path + "/backup", to: scratch.path + "/new")
    do {
      let restored = try Store(path: scratch.path + "/new")
      // Live documents keep their numbers; the next ones are far above, including a first policy.
      #expect(try restored.extras(of: restored.shop()).prefetch?.version == 2)
      #expect(try Self.version(Self.push(restored, "[3]", Self.request())) == "changed 1002, was 2")
      #expect(
        try Self.version(Self.push(restored, "{}", Self.request(.policy, .kill))) == "changed 1000, was 0")
      #expect(
        try Self.version(Self.push(restored, "{\"a\":1}", Self.request(.policy, .set)))
          == "changed 1001, was 1000")
      #expect(try restored.checkup(deep: true).isClean)
      _ = try restored.backUp(to: scratch.path + "/second")
    }
    _ = try Restore.restore(backup: scratch.path + "/second", to: scratch.path + "/newer")
    let again = try Store(path: scratch.path + "/newer")
    #expect(try Self.version(Self.push(again, "[4]", Self.request())) == "changed 2002, was 1002")
  }

  /// Numbers raised by a restore, but not used yet, count for the next restore.
  @Test func secondRestoreContinuesFromTheFirst() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": Sample("a")])
    _ = try store.backUp(to: scratch.path + "/backup")
    _ = try Restore.restore(backup: scratch.path + "/backup", to: scratch.path + "/new")
    _ = try Store(path: scratch.path + "/new").backUp(to: scratch.path + "/second")
    _ = try Restore.restore(backup: scratch.path + "/second", to: scratch.path + "/newer")
    let again = try Store(path: scratch.path + "/newer")
    #expect(try Self.version(Self.push(again, "{}", Self.request(.policy, .kill))) == "changed 1999, was 0")
    #expect(try again.publish(base: 1, set: ["a": Sample("b")]).version == ManifestVersion(2000))
  }

  @Test func prefetchConfigOfARollbackSkipsTheGap() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": Sample("a")])
    _ = try store.backUp(to: scratch.path + "/backup")
    _ = try Restore.restore(backup: scratch.path + "/backup", to: scratch.path + "/new")
    let restored = try Store(path: scratch.path + "/new")
    _ = try Self.push(restored, "[1]", Self.request())
    try restored.publish(base: 1, set: ["a": Sample("b")])
    var request = RollbackInput(
      app: try AppName("shop"), channel: .online, to: .steps(1), by: .local, message: "")
    request.withPrefetch = true
    request.dryRun = true
    let dry = try restored.rollback(request).release.prefetch
    request.dryRun = false
    let done = try restored.rollback(request).release.prefetch
    #expect(dry == done)
  }
}
