import HTTPClient
import Manifests
import OriginAPI
import SocketServer
import System
import TestSupport
import Testing

@testable import Publishing

/// Preparations that an origin which was started anew knows no more: before a release, and after it.
@Suite struct PreparationTests {
  private let folder: TemporaryFolder
  private let origin = FakeOrigin()

  init() throws {
    folder = try TemporaryFolder()
    try folder.write("site/a.js", "one")
  }

  private func publish(_ release: ReleaseOptions = ReleaseOptions()) throws -> PublishResult {
    let api = OriginClient(
      server: try BaseURL(origin.url), token: "secret",
      retries: { RetryPolicy(attempts: 3, first: 1, hasAnswered: $0) })
    let source = BundleSource(
      try BundleName("main"),
      folders: [.init("\(folder.path)/site", baseURL: try BaseURL("https://m.example.com/main/"))])
    return try Publisher(api, cache: CacheFolder(path: folder.path + "/cache"))
      .publish([source], to: ChannelAddress(try AppName("shop"), .online), PublishOptions(release))
  }

  /// Has the origin prepare releases: each is begun anew by the release itself, and asked about by its id.
  /// - Parameter known: the progress of the nth preparation when it is asked about; nil: it isn't known any more.
  private func prepare(
    isReady: Bool,
    _ known: @escaping @Sendable (_ number: Int, _ version: Int64) -> (ready: Bool, done: Bool)?
  ) -> Locked<(begun: Int, asked: Int)> {
    let counts = Locked((begun: 0, asked: 0))
    origin.with { model in
      model.fault = { model, request in
        guard request.path.hasSuffix("/preparations") else { return nil }
        let id = (try? JSONValue.parse(request.body))?["id"]?.string
        let number = counts.withLock { counts in
          if id == nil { counts.begun += 1 } else { counts.asked += 1 }
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

  @Test func goneAfterTheReleaseItIsNoFailureOfThat() throws {
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
    // What the release holds was kept: the next one asks for nothing, and has nothing to prepare.
    let again = try publish()
    #expect(!again.answer.isChanged && again.afterwards == nil)
    #expect(counts.withLock { $0 } == (1, 1))
  }

  @Test func goneBeforeTheReleaseItIsMadeAgain() throws {
    let counts = prepare(isReady: false) { number, _ in number == 1 ? nil : (true, true) }
    let result = try publish()
    #expect(result.answer.isChanged && result.afterwards == nil && result.preparation?.value.done == true)
    #expect(counts.withLock { $0 }.begun == 2 && origin.with { $0.version } == 1)
  }

  /// Not for ever: then nothing is released.
  @Test func oneThatIsGoneEachTimeEndsThePublish() throws {
    let counts = prepare(isReady: false) { _, _ in nil }
    let error = #expect(throws: PublishError.self) { try publish() }
    #expect(error?.words.contains("no release is prepared") == true)
    #expect(counts.withLock { $0 } == (4, 4) && origin.with { $0.version } == 0)
  }

  /// Of a dry run the cost is all that was asked for.
  @Test func aDryRunFailsWithIt() throws {
    let counts = prepare(isReady: false) { _, _ in nil }
    #expect(throws: PublishError.self) { try publish(ReleaseOptions(dryRun: true)) }
    #expect(counts.withLock { $0 }.begun == 4)
  }
}
