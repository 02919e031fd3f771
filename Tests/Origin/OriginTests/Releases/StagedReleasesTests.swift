import Manifests
import System
import Testing

@testable import Origin
@testable import Store

@Suite struct StagedReleasesTests {
  private let lines = Locked<[String]>([])
  private let staged: StagedReleases
  private let scope: StagedReleases.Scope

  init() throws {
    let lines = lines
    staged = StagedReleases { line in lines.withLock { $0.append(line) } }
    scope = StagedReleases.Scope(app: try AppName("shop"), channel: .online, bundles: nil)
  }

  private func stage(_ attempt: @escaping @Sendable (Int) throws(StoreError) -> ManifestVersion) {
    staged.add(scope, by: "ci", at: 0, .pushFailed(place: "/srv/www", reason: "no room"), attempt)
  }

  /// Its publisher was told that the origin keeps trying.
  @Test func droppedReleasesAreLogged() {
    stage { _ throws(StoreError) in throw .unpushed }
    staged.drop(scope)
    #expect(staged.all.isEmpty)
    #expect(
      lines.withLock { $0.last }
        == "the staged release of shop online by ci is dropped: another act has replaced it")
    staged.drop(scope)
    #expect(lines.withLock { $0.count } == 2)
  }

  /// `publish` sends its release again when the CDN is down.
  @Test func resentReleaseIsTheSameRelease() throws {
    stage { _ throws(StoreError) in throw .unpushed }
    staged.add(scope, by: "ci", at: 9_000, .pushFailed(place: "/srv/www", reason: "no room")) {
      _ throws(StoreError) in
      throw .unpushed
    }
    var item = try #require(staged.all.first)
    #expect(staged.all.count == 1)
    #expect(item.since == 0)
    #expect(item.attempts == 2)

    staged.add(scope, by: "admin", at: 10_000, .pushFailed(place: "/srv/www", reason: "no room")) {
      _ throws(StoreError) in throw .unpushed
    }
    item = try #require(staged.all.first)
    #expect(item.since == 10_000)
    #expect(item.attempts == 1)
  }

  @Test func stagedReleaseWaitsForTheEndOfAFreeze() throws {
    let attempts = Locked(0)
    let app = scope.app
    stage { _ throws(StoreError) in
      let count = attempts.withLock { count in
        count += 1
        return count
      }
      guard count > 1 else {
        throw .frozen(
          app, .online, ChannelFreeze(author: "admin", at: Moment(milliseconds: 0), reason: "sale"))
      }
      return ManifestVersion(2)
    }
    let end = Clock.monotonicNanoseconds() + 20_000_000_000
    while !staged.all.isEmpty, Clock.monotonicNanoseconds() < end { Clock.sleep(for: .milliseconds(50)) }
    #expect(lines.withLock { $0.last } == "the staged release of shop online is visible: version 2")
  }
}
