import Manifests
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// First packs beside an open rollout.
@Suite struct FirstPackRolloutTests {
  /// Version 1 and a candidate in which these files differ, with what the worker makes for both.
  private static func opened(_ changed: [String: String]) throws -> TestOrigin {
    let origin = try TestOrigin()
    try origin.publish(FirstPackServingTests.files)
    #expect(try origin.candidate(FirstPackServingTests.files.merging(changed) { $1 }).status == 201)
    let worker = FirstPackServingTests.worker(origin)
    let channel = try #require(origin.origin.catalog.current.channels.first)
    for _ in 0..<2 {
      for state in channel.answered {
        try worker.choose(state.channel)
        _ = try worker.work(state.channel) { true }
      }
    }
    return origin
  }

  private static let candidate = "\(FirstPackServingTests.poll)&candidate=1"

  /// A candidate names that of the full version, if it serves.
  @Test func candidatesNameThatOfTheFullVersion() throws {
    let origin = try Self.opened(["long/about.html": "<title>about us</title>"])
    let full = try #require(try FirstPackServingTests.first(origin))
    #expect(full.path.hasPrefix("/hxm/xcache/shop/pack/0-1-"))
    #expect(try FirstPackServingTests.first(origin, Self.candidate)?.path == full.path)
    #expect(try origin.store.derived.packs().count { $0.pack.isFirst } == 1)
  }

  /// None is made for a candidate that it doesn't serve.
  @Test func candidatesHaveNoneOfTheirOwn() throws {
    let names = ["main", "beta", "zeta", "alone"]
    let origin = try Self.opened(
      Dictionary(uniqueKeysWithValues: names.map { ("js/\($0).js", FirstPackServingTests.script($0, 2)) }))
    #expect(try FirstPackServingTests.first(origin) != nil)
    #expect(try FirstPackServingTests.first(origin, Self.candidate) == nil)
    #expect(try origin.store.derived.packs().count { $0.pack.isFirst } == 1)
  }
}
