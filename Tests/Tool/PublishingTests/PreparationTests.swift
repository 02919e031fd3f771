import HTTPClient
import Manifests
import OriginAPI
import OriginClient
import SocketServer
import System
import Testing
import TestSupport
import Values

@testable import Publishing

/// Preparations that a restarted origin no longer knows: before a release, and after it.
@Suite struct PreparationTests {
  private let folder: Scratch
  private let origin = FakeOrigin()

  init() throws {
    folder = try Scratch()
    try folder.write("site/a.js", "one")
  }

  @discardableResult
  private func publish(_ release: ReleaseOptions = ReleaseOptions(), maxUpdate: Int64? = nil) throws
    -> PublishResult
  {
    var options = PublishOptions(release)
    options.maxUpdate = maxUpdate
    let api = OriginClient(
      server: try BaseURL(origin.url), token: "secret",
      retries: { RetryPolicy(attempts: 3, first: 1, hasAnswered: $0) })
    let source = BundleSource(
      try BundleName("main"),
      folders: [.init("\(folder.path)/site", baseURL: try BaseURL("https://m.example.com/main/"))])
    return try Publisher(api, cache: PublishCache(path: folder.path + "/cache"))
      .publish([source], to: ChannelAddress(try AppName("shop"), .online), options)
  }

  /// Makes the origin answer with a slow preparation.
  /// - Parameter cost: the cost after this many requests; the preparation is done from `doneAfter` on.
  private func prepareSlowly(doneAfter: Int, _ cost: @escaping @Sendable (_ pollCount: Int) -> JSONValue)
    -> Locked<Int>
  {
    let pollCount = Locked(0)
    origin.with { model in
      model.fault = { _, request in
        guard request.path.hasSuffix("/preparations") else { return nil }
        let count = pollCount.withLock { pollCount in
          pollCount += 1
          return pollCount - 1
        }
        let isDone = count >= doneAfter
        let json: JSONValue = [
          "cost": cost(count), "deltas": 0, "done": .bool(isDone), "files": 1, "filesDone": 0, "id": "p",
          "late": true, "milliseconds": 31_000, "ready": .bool(isDone),
        ]
        return .answer(body: json.canonical)
      }
    }
    return pollCount
  }

  private static let update: JSONValue = [
    "answer": 300, "bytes": 5000, "deltas": 0, "files": 1, "pack": 1000, "plainBytes": 5000, "requests": 2,
  ]

  /// A limit waits for the update's cost, however long that takes.
  @Test(arguments: [1299, 1300] as [Int64]) func limitWaitsForTheCost(limit: Int64) throws {
    try publish()
    try folder.write("site/a.js", "two")
    let pollCount = prepareSlowly(doneAfter: 6) { $0 < 4 ? [:] : ["last1": Self.update] }
    if limit < 1300 {
      let error = #expect(throws: PublishError.self) { try publish(maxUpdate: limit) }
      #expect(
        error?.exitCode == 3
          && error?.message.contains("1.3 KB, and --max-update allows 1.3 KB (1 B less)") == true)
      #expect(origin.with { $0.version } == 1 && pollCount.withLock { $0 } == 5)
    } else {
      let result = try publish(maxUpdate: limit)
      #expect(result.answer.version == ManifestVersion(2) && !result.hasNoLimit)
    }
  }

  /// With a limit, a release without a known cost is refused.
  @Test func limitRefusesAnUnknownCost() throws {
    try publish()
    try folder.write("site/a.js", "two")
    _ = prepareSlowly(doneAfter: 2) { _ in [:] }
    let error = #expect(throws: PublishError.self) { try publish(maxUpdate: 1 << 40) }
    #expect(error?.exitCode == 3 && error?.message.contains("--max-update can't be checked") == true)
    #expect(origin.with { $0.version } == 1)
    // Without a limit, it is released with an unknown cost.
    #expect(try publish().preparation?.value.cost.isKnown == false && origin.with { $0.version } == 2)
  }

  /// A release that only removes files has a cost, too.
  @Test func limitAppliesToRemovals() throws {
    try folder.write("site/b.js", "two")
    try publish()
    try Kernel.remove("\(folder.path)/site/b.js")
    _ = prepareSlowly(doneAfter: 0) { _ in ["last1": Self.update] }
    #expect(throws: PublishError.self) { try publish(maxUpdate: 1299) }
    #expect(try publish(maxUpdate: 1300).answer.isChanged)
  }

  /// A channel's first release isn't an update.
  @Test func firstReleaseHasNoLimit() throws {
    _ = prepareSlowly(doneAfter: 2) { $0 < 2 ? [:] : ["new": Self.update] }
    let result = try publish(maxUpdate: 1)
    #expect(result.answer.version == ManifestVersion(1) && result.hasNoLimit)
  }

  /// With --now, the release is made at once, and its cost is still reported.
  @Test func immediateReleaseReportsItsCost() throws {
    try publish()
    try folder.write("site/a.js", "two")
    _ = prepareSlowly(doneAfter: 3) { pollCount in pollCount < 3 ? [:] : ["last1": Self.update] }
    let result = try publish(ReleaseOptions(now: true))
    #expect(result.preparation?.value.cost.last1?.wireBytes == 1300)
  }

  /// Makes the origin prepare releases: each release begins a new preparation, which is polled by its id.
  /// - Parameter known: the progress of the nth preparation when it is polled; nil: it is unknown.
  private func prepare(
    isReady: Bool,
    _ known: @escaping @Sendable (_ number: Int, _ version: Int64) -> (ready: Bool, done: Bool)?
  ) -> Locked<(begun: Int, pollCount: Int)> {
    let counts = Locked((begun: 0, pollCount: 0))
    origin.with { model in
      model.fault = { model, request in
        guard request.path.hasSuffix("/preparations") else { return nil }
        let id = (try? JSONValue.parse(request.body))?["id"]?.string
        let number = counts.withLock { counts in
          if id == nil { counts.begun += 1 } else { counts.pollCount += 1 }
          return counts.begun
        }
        let state = id == nil ? (isReady, false) : known(number, model.version)
        guard let (ready, done) = state else {
          return FakeOrigin.problem(404, "unknown-preparation", "no release is prepared under that")
        }
        let update: JSONValue = ["bytes": 53, "deltas": 0, "files": 1, "plainBytes": 53]
        let json: JSONValue = [
          "cost": ["last1": update, "new": update], "deltas": 0, "done": .bool(done), "files": 1,
          "filesDone": 0, "id": .string("p\(number)"), "late": false, "milliseconds": 0,
          "ready": .bool(ready),
        ]
        return .answer(body: json.canonical)
      }
    }
    return counts
  }

  /// Makes other releases right after the first `times` preparations.
  /// - Parameter cost: the cost by the replaced version.
  private func overtake(_ times: Int, _ cost: @escaping @Sendable (_ version: Int64) -> Int64) {
    let left = Locked(times)
    origin.with { model in
      model.fault = { model, request in
        let version = model.version
        if request.path.hasSuffix("/releases") {
          let named = (try? JSONValue.parse(request.body))?["replaces"]?.string
          guard let named, named != "\(version)" else { return nil }
          return FakeOrigin.problem(409, "other-version", "the newest version is \(version)")
        }
        guard request.path.hasSuffix("/preparations") else { return nil }
        let isOvertaken = left.withLock { left in
          left -= 1
          return left >= 0
        }
        if isOvertaken { model.version += 1 }
        let update: JSONValue = [
          "answer": 300, "bytes": 5000, "deltas": 0, "files": 1, "pack": .integer(Int(cost(version))),
          "plainBytes": 5000, "requests": 2,
        ]
        let json: JSONValue = [
          "base": .string("\(version)"), "cost": ["last1": update], "deltas": 0, "done": true, "files": 1,
          "filesDone": 1, "id": "p", "late": false, "milliseconds": 10, "ready": true,
        ]
        return .answer(body: json.canonical)
      }
    }
  }

  /// A limit applies to the version that the release finally replaces.
  @Test func limitHoldsIfAnotherReleaseIsMadeMeanwhile() throws {
    try publish()
    try folder.write("site/a.js", "two")
    overtake(1) { $0 == 1 ? 1000 : 100_000 }
    let error = #expect(throws: PublishError.self) { try publish(maxUpdate: 1300) }
    #expect(error?.exitCode == 3 && error?.message.contains("100.3 KB") == true)
    #expect(origin.with { $0.releases.count } == 1)
    overtake(2) { _ in 1000 }
    let result = try publish(maxUpdate: 1300)
    #expect(result.answer.previous == result.preparation?.value.base && !result.isOvertaken)
    #expect(origin.with { $0.releases.last?["replaces"]?.string } == "4")
  }

  /// The number of attempts is limited; then nothing is released.
  @Test func publishWithALimitFailsAfterRepeatedReleasesByOthers() throws {
    try publish()
    try folder.write("site/a.js", "two")
    overtake(.max) { _ in 1000 }
    let error = #expect(throws: PublishError.self) { try publish(maxUpdate: 1300) }
    #expect(error?.exitCode == 3 && error?.message.contains("kept arriving") == true)
    #expect(origin.with { $0.releases.count } == 1)
  }

  /// Without a limit, it is released, and the cost for another version isn't reported.
  @Test func costOfAnotherVersionIsNotReported() throws {
    try publish()
    try folder.write("site/a.js", "two")
    overtake(1) { _ in 1000 }
    let result = try publish()
    #expect(result.answer.version == ManifestVersion(3) && result.isOvertaken)
    #expect(origin.with { $0.releases.last?["replaces"] } == nil)
  }

  @Test func preparationLostAfterTheReleaseIsNoFailure() throws {
    let counts = prepare(isReady: true) { _, version in version == 0 ? (true, true) : nil }
    let result = try publish()
    #expect(result.answer.isChanged && result.answer.version == ManifestVersion(1))
    #expect(result.preparation == nil)
    guard case .origin(.refused(let problem)) = try #require(result.afterwards) else {
      Issue.record("\(String(describing: result.afterwards))")
      return
    }
    #expect(problem.code == "unknown-preparation")
    #expect(counts.withLock { $0 } == (1, 1) && origin.with { $0.version } == 1)
    // The release's content was cached: the next publish requests and prepares nothing.
    let again = try publish()
    #expect(!again.answer.isChanged && again.afterwards == nil)
    #expect(counts.withLock { $0 } == (1, 1))
  }

  @Test func preparationLostBeforeTheReleaseIsRepeated() throws {
    let counts = prepare(isReady: false) { number, _ in number == 1 ? nil : (true, true) }
    let result = try publish()
    #expect(result.answer.isChanged && result.afterwards == nil && result.preparation?.value.done == true)
    #expect(counts.withLock { $0 }.begun == 2 && origin.with { $0.version } == 1)
  }

  /// The number of attempts is limited; then nothing is released.
  @Test func repeatedlyLostPreparationFails() throws {
    let counts = prepare(isReady: false) { _, _ in nil }
    let error = #expect(throws: PublishError.self) { try publish() }
    #expect(error?.message.contains("no release is prepared") == true)
    #expect(counts.withLock { $0 } == (4, 4) && origin.with { $0.version } == 0)
  }

  /// A dry run only asks for the cost.
  @Test func dryRunFailsIfItsPreparationIsLost() throws {
    let counts = prepare(isReady: false) { _, _ in nil }
    #expect(throws: PublishError.self) { try publish(ReleaseOptions(dryRun: true)) }
    #expect(counts.withLock { $0 }.begun == 4)
  }
}
