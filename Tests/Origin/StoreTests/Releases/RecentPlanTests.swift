import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// A large release is planned once for preview and commit.
@Suite struct RecentPlanTests {
  private let scratch = Scratch()
  private static let set = Dictionary(
    uniqueKeysWithValues: (0..<1200).map { ("f\($0).js", Sample("file \($0)")) })

  @Test func planIsReused() throws {
    let store = try scratch.open()
    try store.send(Self.set.values)
    let request = try store.request([try store.change("main", base: 0, set: Self.set)])
    #expect(try store.preview(request).new.count == 1200)
    let edition = store.connections.edition
    #expect(store.lastPlan.plan(of: request, at: edition)?.union.count == 1200)
    // Equal content is sufficient.
    let same = try store.request([try store.change("main", base: 0, set: Self.set)])
    #expect(store.lastPlan.plan(of: same, at: edition) != nil)
    let outcome = try store.commit(request)
    #expect(outcome.counts.added == 1200)
    #expect(store.lastPlan.plan(of: request, at: edition) == nil, "the plan is freed")
  }

  /// Everything that a plan depends on is compared.
  @Test func otherRequestIsPlannedAnew() throws {
    let store = try scratch.open()
    try store.send(Self.set.values)
    let request = try store.request([try store.change("main", base: 0, set: Self.set)])
    _ = try store.preview(request)
    let edition = store.connections.edition
    var others: [ReleaseInput] = []
    func other(_ change: (inout ReleaseInput) throws -> Void) rethrows {
      var next = request
      try change(&next)
      others.append(next)
    }
    other { $0.author = "somebody else" }
    other { $0.ifVersion = ManifestVersion(1) }
    other { $0.replaces = ManifestVersion(1) }
    other { $0.publicURLForNew = nil }
    try other { $0.channel = try ChannelName("test") }
    try other { $0.bundles = [try store.change("other", base: 0, set: Self.set)] }
    try other { $0.bundles = [try store.change("main", base: 0, set: Self.set, remove: ["gone.js"])] }
    var changed = Self.set
    changed["f7.js"] = Sample("another file")
    try other { $0.bundles = [try store.change("main", base: 0, set: changed)] }
    for (index, request) in others.enumerated() {
      #expect(store.lastPlan.plan(of: request, at: edition) == nil, "\(index)")
    }
  }

  /// After another release, it is planned again.
  @Test func planIsNotReusedAfterAnotherRelease() throws {
    let store = try scratch.open()
    try store.send(Self.set.values)
    let request = try store.request([try store.change("main", base: 0, set: Self.set)])
    _ = try store.preview(request)
    _ = try store.publish("main", base: 0, set: ["f1.js": Sample("file 1"), "own.js": Sample("own")])
    #expect(store.lastPlan.plan(of: request, at: store.connections.edition) == nil)
    let outcome = try store.commit(request)
    #expect(outcome.version == ManifestVersion(2) && outcome.resources == 1200)
    #expect(outcome.counts.removed == 1 && outcome.counts.added == 1199)
  }
}
