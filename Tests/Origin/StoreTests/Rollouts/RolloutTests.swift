import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

@Suite struct RolloutTests {
  let scratch = Scratch()
  let anna = Actor(name: "anna", address: "10.0.0.7")

  /// A store with bundles a and b at version 2, and a candidate of a, version 3.
  private func open(share: Int = 500) throws -> Store {
    let store = try scratch.open()
    try store.publish("a", base: 0, set: ["a.js": Sample("a1"), "common.js": Sample("c")])
    try store.publish("b", base: 0, set: ["b.js": Sample("b1")])
    try store.candidate("a", base: 1, set: ["a.js": Sample("a2")], share: share)
    return store
  }

  private func input(_ change: RolloutInput.Change) throws -> RolloutInput {
    RolloutInput(app: try AppName("shop"), channel: .online, change, by: anna)
  }

  private func rollback(_ target: RollbackInput.Target, bundle: String? = nil) throws -> RollbackInput {
    RollbackInput(
      app: try AppName("shop"), channel: .online, bundle: try bundle.map { try BundleName($0) }, to: target,
      by: anna)
  }

  private func halt(_ store: Store, _ candidate: Int64? = nil) throws -> ReleaseOutcome {
    try store.haltRollout(
      try AppName("shop"), .online, candidate.map { ManifestVersion($0) }, by: anna, reason: "broken")
  }

  @Test func candidateIsTheNewestVersion() throws {
    let store = try open()
    let channel = try store.shop()
    let rollout = try #require(channel.rollout)
    #expect(channel.version.number == 3)
    #expect(channel.full.version.number == 2)
    #expect(channel.full.rollout == rollout)
    #expect(rollout.candidate.number == 3 && rollout.full.number == 2 && rollout.audience.share == 500)
    #expect(rollout.rule?.json.canonical != nil)
    #expect(try store.texts(at: 2) == ["a.js": "a1", "b.js": "b1", "common.js": "c"])
    #expect(try store.texts(at: 3) == ["a.js": "a2", "b.js": "b1", "common.js": "c"])
    #expect(channel.full.digest == (try store.digestByQuery(channel, at: channel.full.version)))
    #expect(channel.full.resources == 3)
    #expect(try store.fullBundles(of: channel).map(\.version.number) == [1, 2])
    #expect(try store.candidateBundles(of: channel).map(\.text) == ["a"])
    // The same again, as in a retry without an idempotency key.
    let again = try store.candidate("a", base: 1, set: ["a.js": Sample("a2")])
    #expect(!again.changed && again.version.number == 3 && again.rollout == nil)
    #expect(try store.shop().rollout == rollout)
  }

  @Test func firstReleaseOfAChannelIsForAll() throws {
    let store = try scratch.open()
    #expect { try store.candidate("a", base: 0, set: ["a.js": Sample("a1")]) } throws: {
      if case StoreError.rolloutOfFirst = $0 { true } else { false }
    }
  }

  @Test func completingMakesNoVersion() throws {
    let store = try open()
    var shown: [Int64] = []
    let outcome = try store.changeRollout(
      try input(.complete), committed: { channel, _ in shown.append(channel.version.number) })
    #expect(outcome.isChanged && outcome.after.state == .completed)
    #expect(shown == [3])
    let channel = try store.shop()
    #expect(channel.version.number == 3 && channel.full.version.number == 3 && channel.rollout == nil)
    #expect { try store.changeRollout(try input(.complete)) } throws: {
      if case StoreError.noRollout(_, _, let last?) = $0 { last.changedBy == "anna" } else { false }
    }
  }

  @Test func haltingReleasesTheFullContentAsARollbackEvenIfFrozen() throws {
    let store = try open()
    _ = try store.freezeChannel(try AppName("shop"), .online, reason: "sale", by: anna)
    let outcome = try halt(store)
    let channel = try store.shop()
    #expect(outcome.version.number == 4 && channel.version.number == 4 && channel.rollout == nil)
    #expect(channel.rollback?.number == 4)
    #expect(try store.texts(at: 4) == store.texts(at: 2))
    #expect(channel.digest == (try store.digest(channel, at: ManifestVersion(2))))
    let rollout = try #require(try store.rollout(of: ManifestVersion(3), in: channel))
    #expect(rollout.state == .halted && rollout.reason == "broken" && rollout.changedBy == "anna")
    let record = try store.release(ManifestVersion(4), of: channel)
    #expect(record.kind == .rollback && record.details.source?.version.number == 2)
    #expect(try store.row(of: record, in: channel)?.receipt == outcome.receipt)
    #expect { try halt(store) } throws: {
      if case StoreError.noRollout = $0 { true } else { false }
    }
  }

  @Test func releaseOfTheCandidatesBundleReplacesTheCandidate() throws {
    let store = try scratch.open()
    try store.publish("a", base: 0, set: ["a.js": Sample("a1")])
    try store.publish("b", base: 0, set: ["b.js": Sample("b1")])
    try store.send([Sample("a2"), Sample("b2")])
    var request = try store.request([
      try store.change("a", base: 1, set: ["a.js": Sample("a2")]),
      try store.change("b", base: 2, set: ["b.js": Sample("b2")]),
    ])
    request.rollout = RolloutAudience(share: 100)
    _ = try store.commit(request)
    let outcome = try store.publish("a", base: 1, set: ["a.js": Sample("a3")])
    #expect(outcome.version.number == 4)
    #expect(outcome.rollout?.ended?.state == .superseded && outcome.rollout?.open == nil)
    #expect(outcome.bundles.map(\.name.text) == ["a"])
    // The candidate's other bundle has the content of the full version again.
    #expect(try store.texts(at: 4) == ["a.js": "a3", "b.js": "b1"])
    #expect(try store.shop().rollout == nil)
    #expect(try store.shop().full.version.number == 4)
  }

  @Test func releaseOfAnotherBundleRemakesTheCandidate() throws {
    let store = try open()
    let before = try #require(try store.shop().rollout)
    let outcome = try store.publish("b", base: 2, set: ["b.js": Sample("b2")])
    #expect(outcome.version.number == 4)
    let channel = try store.shop()
    #expect(channel.version.number == 5 && channel.full.version.number == 4)
    #expect(try store.texts(at: 4) == ["a.js": "a1", "b.js": "b2", "common.js": "c"])
    #expect(try store.texts(at: 5) == ["a.js": "a2", "b.js": "b2", "common.js": "c"])
    let after = try #require(channel.rollout)
    #expect(after.seed == before.seed && after.audience == before.audience && after.author == before.author)
    #expect(try store.rollout(of: ManifestVersion(3), in: channel)?.state == .remade)
    #expect(outcome.channel == channel)
    for state in [channel, channel.full] {
      #expect(state.digest == (try store.digestByQuery(channel, at: state.version)))
    }
    #expect(try store.log(channel, limit: 2).map(\.message) == ["a message", "a message"])
    #expect(try store.log(channel, limit: 1).map { $0.bundles.map(\.name.text) } == [["a"]])
  }

  /// A candidate that replaced another one has reverted the other's bundle, which isn't a bundle of the candidate.
  @Test func bundleRevertedByACandidateIsNotRemade() throws {
    let store = try open()
    let outcome = try store.candidate("b", base: 2, set: ["b.js": Sample("b2")])
    #expect(outcome.rollout?.ended?.state == .superseded)
    #expect(try store.texts(at: 4) == ["a.js": "a1", "b.js": "b2", "common.js": "c"])
    #expect(try store.shop().full.version.number == 2)
    try store.publish("a", base: 1, set: ["a.js": Sample("a3")])
    #expect(try store.texts(at: 5) == ["a.js": "a3", "b.js": "b1", "common.js": "c"])
    #expect(try store.texts(at: 6) == ["a.js": "a3", "b.js": "b2", "common.js": "c"])
  }

  @Test func releasingTheCandidatesContentToAllCompletesTheRollout() throws {
    let store = try open()
    let outcome = try store.publish("a", base: 1, set: ["a.js": Sample("a2")])
    #expect(!outcome.changed && outcome.version.number == 3)
    #expect(outcome.rollout?.ended?.state == .completed)
    #expect(try store.shop().full.version.number == 3)
  }

  @Test func releasingTheFullContentChangesNothing() throws {
    let store = try open()
    for rollout in [nil, RolloutAudience(share: 1)] {
      var request = try store.request([try store.change("a", base: 1)])
      request.rollout = rollout
      let outcome = try store.commit(request)
      #expect(!outcome.changed && outcome.version.number == 2 && outcome.rollout == nil)
    }
    #expect(try store.shop().rollout != nil)
  }

  @Test func ifNoRolloutRefuses() throws {
    let store = try open()
    for bundle in ["a", "b"] {
      try store.send([Sample("new")])
      var request = try store.request([
        try store.change(bundle, base: 0, set: ["\(bundle).js": Sample("new")])
      ])
      request.ifNoRollout = true
      #expect {
        try store.commit(request)
      } throws: {
        if case StoreError.rolloutOpen(_, _, let candidate) = $0 { candidate.number == 3 } else { false }
      }
    }
    #expect(try store.shop().version.number == 3)
  }

  @Test func versionsInRequestsAreTheFullOnes() throws {
    let store = try open()
    // The candidate isn't a change that a publisher missed.
    let outcome = try store.publish("a", base: 1, set: ["a.js": Sample("a3")], ifVersion: 2)
    #expect(outcome.version.number == 4)
    #expect(throws: StoreError.self) {
      try store.publish("a", base: 1, set: ["a.js": Sample("a4")], ifVersion: 2)
    }
    try store.candidate("a", base: 4, set: ["a.js": Sample("a5")])
    var request = try store.request([try store.change("b", base: 2, set: ["b.js": Sample("b1")])])
    request.replaces = ManifestVersion(4)
    _ = try store.commit(request)
    request.replaces = ManifestVersion(2)
    #expect(throws: StoreError.self) { try store.commit(request) }
  }

  /// A release's changes are counted against the full version, not against the previous candidate.
  @Test func countsCompareWithTheFullVersion() throws {
    let store = try open()
    // The candidate, 3, has a.js a2. Back to a1 is no change, and common.js is one.
    let set = ["a.js": Sample("a1"), "common.js": Sample("c2"), "new.js": Sample("new")]
    for isDryRun in [true, false] {
      var request = try store.request([try store.change("a", base: 1, set: set)], dryRun: isDryRun)
      try store.send(set.values)
      request.rollout = RolloutAudience(share: 100)
      let outcome = try store.commit(request)
      #expect(outcome.counts == ChangeCounts(added: 1, changed: 1), "\(outcome.counts)")
      #expect(outcome.bundles.map(\.counts) == [outcome.counts] && outcome.newBytes == 5)
      if isDryRun {
        #expect(outcome.planned.map(\.url.text.last) == ["s", "s"] && outcome.planned.count == 2)
      }
    }
    #expect(try store.texts(at: 4) == ["a.js": "a1", "b.js": "b1", "common.js": "c2", "new.js": "new"])
    // Files kept from the previous candidate count, too.
    let kept = try store.candidate("a", base: 1, set: ["common.js": Sample("c2"), "more.js": Sample("m")])
    #expect(kept.counts == ChangeCounts(added: 1, changed: 1), "\(kept.counts)")
    let other = try store.publish("b", base: 2, set: ["b.js": Sample("b2")])
    #expect(other.counts == ChangeCounts(changed: 1) && other.bundles.map(\.name.text) == ["b"])
    #expect(try store.release(other.version, of: store.shop()).bundles.map(\.name.text) == ["b"])
    #expect(try store.base(of: ManifestVersion(7), in: store.shop()).number == 6)
    #expect(try store.base(of: ManifestVersion(6), in: store.shop()).number == 2)
    let all = try store.publish("a", base: 1, set: ["a.js": Sample("a9")])
    #expect(all.counts == ChangeCounts(changed: 1), "\(all.counts)")
  }

  /// Another bundle's release, for which the candidate is remade, isn't a change of the candidate's bundle.
  @Test func ifVersionRefusesOnlyWhatChangedTheBundle() throws {
    /// The version for which a release of `bundle` with `--if-version` is refused; nil if it isn't.
    func refusal(_ store: Store, _ bundle: String, _ limit: Int64) throws -> Int64? {
      do {
        _ = try store.publish(
          bundle, base: 0, set: ["\(bundle).js": Sample("late")], ifVersion: limit, dryRun: true)
        return nil
      } catch {
        guard case StoreError.changedSince(_, _, let release) = error else { throw error }
        return release.version.number
      }
    }
    let store = try open()
    try store.publish("b", base: 2, set: ["b.js": Sample("b2")])
    // 4 is the full version, 5 the candidate.
    for limit in 1...5 as ClosedRange<Int64> { #expect(try refusal(store, "a", limit) == nil, "\(limit)") }
    for limit in 1...5 as ClosedRange<Int64> {
      #expect(try refusal(store, "b", limit) == (limit < 4 ? 4 : nil), "\(limit)")
    }
    let late = try store.publish("a", base: 1, set: ["a.js": Sample("a3")], dryRun: true)
    #expect(late.bundles.first?.replaced == nil)

    // Once completed, it is a change since an earlier full version.
    let other = RolloutTests()
    let copy = try other.open()
    try copy.publish("b", base: 2, set: ["b.js": Sample("b2")])
    _ = try copy.changeRollout(input(.complete))
    for (limit, version) in [(1, 5), (2, 5), (3, nil), (4, 5), (5, nil)] as [(Int64, Int64?)] {
      #expect(try refusal(copy, "a", limit) == version, "\(limit)")
    }
  }

  /// With the number of a full version, a halt refuses nothing; with the candidate's, it does.
  @Test func ifVersionOfAnEndedCandidate() throws {
    let store = try open()
    _ = try halt(store)
    for (limit, isRefused) in [(2, false), (3, true), (4, false)] as [(Int64, Bool)] {
      var request = try store.request(
        [try store.change("a", base: 1, set: ["a.js": Sample("a2")])], ifVersion: limit, dryRun: true)
      request.rollout = RolloutAudience(share: 1)
      do {
        _ = try store.commit(request)
        #expect(!isRefused, "\(limit)")
      } catch {
        #expect(isRefused && "\(error)".contains("version 4 by anna"), "\(limit): \(error)")
      }
    }
    try store.candidate("a", base: 1, set: ["a.js": Sample("a5")])
    try store.candidate("a", base: 1, set: ["a.js": Sample("a6")])
    #expect(throws: StoreError.self) {
      try store.publish("a", base: 1, set: ["a.js": Sample("a7")], ifVersion: 5, dryRun: true)
    }
    try store.publish("a", base: 1, set: ["a.js": Sample("a7")], ifVersion: 6, dryRun: true)
    // A bundle that wasn't in the candidate is unchanged.
    try store.publish("b", base: 2, set: ["b.js": Sample("b7")], ifVersion: 5, dryRun: true)
  }

  @Test func rollbacksCountFromTheFullVersion() throws {
    let store = try open()
    // 1 a1, 2 a1 b1, candidate 3.
    let back = try store.rollback(try rollback(.steps(1)))
    #expect(back.target.number == 1 && back.release.version.number == 4)
    #expect(back.release.rollout?.ended?.state == .superseded)
    #expect(try store.texts(at: 4) == ["a.js": "a1", "common.js": "c"])
    #expect(try store.shop().rollback?.number == 4)
    #expect(try store.audited().last?.contains("\"to\":\"1\"") == true)
  }

  /// A build that was rolled back is tried again as a candidate: one step back from its full version has the same content.
  @Test func rollbackDoesNotReleaseTheCandidateToAll() throws {
    let store = try scratch.open()
    try store.publish("a", base: 0, set: ["a.js": Sample("bad")])
    try store.publish("a", base: 1, set: ["a.js": Sample("good")])
    try store.candidate("a", base: 2, set: ["a.js": Sample("bad")])
    for isDryRun in [true, false] {
      var request = try rollback(.steps(1), bundle: "a")
      request.dryRun = isDryRun
      #expect {
        try store.rollback(request)
      } throws: {
        guard case StoreError.haltInstead(_, _, let candidate, nil) = $0 else { return false }
        return candidate.number == 3 && "\($0)".contains("`xcache rollout halt --app shop -m \"reason\"`")
      }
    }
    #expect(try store.shop().rollout?.candidate.number == 3)
  }

  /// Regression: it was refused as a release without bundles.
  @Test func unchangedRollbackOpensNoRollout() throws {
    let store = try scratch.open()
    try store.publish("a", base: 0, set: ["a.js": Sample("a1")])
    for isDryRun in [true, false] {
      var request = try rollback(.version(.number(ManifestVersion(1))))
      request.rollout = RolloutAudience(share: 500)
      request.dryRun = isDryRun
      let outcome = try store.rollback(request)
      #expect(!outcome.release.changed && outcome.release.version.number == 1)
    }
    #expect(try store.shop().rollout == nil)
  }

  /// Regression: such a candidate had no bundle, and couldn't be halted.
  @Test func fullContentIsNoCandidate() throws {
    let store = try open()
    var request = try rollback(.version(.number(ManifestVersion(2))))
    request.rollout = RolloutAudience(share: 500)
    let outcome = try store.rollback(request)
    #expect(!outcome.release.changed && outcome.release.version.number == 2)
    #expect(try store.shop().rollout?.candidate.number == 3)
    #expect(try halt(store).version.number == 4)
  }

  /// The second of two people is told what the first one did.
  @Test func requestForAnEndedCandidateTellsWhatBecameOfIt() throws {
    func message(_ store: Store, _ candidate: Int64) throws -> String {
      var late = try input(.pause)
      late.candidate = ManifestVersion(candidate)
      do {
        _ = try store.changeRollout(late)
        return ""
      } catch {
        return "\(error)"
      }
    }
    let store = try open()
    try store.publish("b", base: 2, set: ["b.js": Sample("b2")])
    let again = try message(store, 3)
    #expect(
      again.hasPrefix("version 3 was made again, on top of a release of other bundles by ci, ")
        && again.contains("the open rollout is that of version 5"), "\(again)")
    try store.candidate("a", base: 1, set: ["a.js": Sample("a6")])
    #expect(try message(store, 5).hasPrefix("another release, by ci, took the place of version 5, "))
    _ = try halt(store)
    #expect(try message(store, 6).contains("that of version 6 was halted by anna, "))
    #expect(try message(store, 6).contains(": broken; nothing was changed"))
    #expect(try message(store, 9).contains("no rollout is open"))
  }

  /// Regression: the message suggested to unpublish, which would remove the pages from all devices.
  @Test func rollbackWithoutAnEarlierVersionSuggestsToHalt() throws {
    let store = try scratch.open()
    try store.publish("a", base: 0, set: ["a.js": Sample("a1")])
    try store.candidate("a", base: 1, set: ["a.js": Sample("a2")])
    for bundle in ["a", nil] {
      #expect {
        try store.rollback(try rollback(.steps(1), bundle: bundle))
      } throws: {
        guard case StoreError.haltInstead(_, _, let candidate, 1) = $0 else { return false }
        return candidate.number == 2
          && "\($0)".hasPrefix("1 step back is too far: no earlier state is kept. A rollout is open")
      }
    }
  }

  /// The candidate is the bundle's current content, and existed before the publisher planned.
  @Test func releaseOfTheCandidatesBundleReportsNoConcurrentChange() throws {
    let store = try open()
    let outcome = try store.publish("a", base: 1, set: ["a.js": Sample("a3")], dryRun: true)
    #expect(outcome.bundles.first { $0.name.text == "a" }?.replaced == nil)
    try store.publish("a", base: 1, set: ["a.js": Sample("a4")])
    let late = try store.publish("a", base: 1, set: ["a.js": Sample("a5")])
    #expect(late.bundles.first { $0.name.text == "a" }?.replaced?.version.number == 4)
  }

  @Test func rollbackOfAnotherBundleRemakesTheCandidate() throws {
    let store = try scratch.open()
    try store.publish("a", base: 0, set: ["a.js": Sample("a1")])
    try store.publish("b", base: 0, set: ["b.js": Sample("b1")])
    try store.publish("b", base: 2, set: ["b.js": Sample("b2")])
    try store.candidate("a", base: 1, set: ["a.js": Sample("a2")])
    let back = try store.rollback(try rollback(.steps(1), bundle: "b"))
    #expect(back.target.number == 2 && back.release.version.number == 5)
    #expect(try store.texts(at: 5) == ["a.js": "a1", "b.js": "b1"])
    #expect(try store.texts(at: 6) == ["a.js": "a2", "b.js": "b1"])
    let channel = try store.shop()
    #expect(channel.full.rollback?.number == 5 && channel.rollback?.number == 5)
    // A rollback of the candidate's bundle reverts it, though the full version has that content already.
    let other = try store.rollback(try rollback(.version(.number(ManifestVersion(5))), bundle: "a"))
    #expect(other.release.version.number == 7 && other.release.rollout?.ended?.state == .superseded)
    #expect(try store.texts(at: 7) == ["a.js": "a1", "b.js": "b1"])
  }

  @Test func rollbackToSomeIsACandidate() throws {
    let store = try scratch.open()
    try store.publish("a", base: 0, set: ["a.js": Sample("a1")])
    try store.publish("a", base: 1, set: ["a.js": Sample("a2")])
    var request = try rollback(.steps(1))
    request.rollout = RolloutAudience(share: 1000)
    let back = try store.rollback(request)
    #expect(back.release.version.number == 3 && back.release.rollout?.open?.candidate.number == 3)
    var channel = try store.shop()
    #expect(channel.rollback?.number == 3 && channel.full.rollback == nil)
    // To all: they have the content already.
    let all = try store.rollback(try rollback(.version(.number(ManifestVersion(1)))))
    #expect(!all.release.changed && all.release.rollout?.ended?.state == .completed)
    channel = try store.shop()
    #expect(channel.full.version.number == 3 && channel.full.rollback?.number == 3)
  }

  @Test func setPauseResume() throws {
    let store = try open()
    let range = try AppVersionRange(">=4.2 <5")
    var outcome = try store.changeRollout(
      try input(.audience(share: 2500, groups: ["qa", "beta"], app: .some(range))))
    #expect(outcome.before.audience.share == 500 && outcome.after.audience.share == 2500)
    #expect(outcome.after.audience.groups == ["beta", "qa"] && outcome.after.changedBy == "anna")
    // The same again.
    outcome = try store.changeRollout(try input(.audience(share: 2500, groups: nil, app: nil)))
    #expect(!outcome.isChanged)
    outcome = try store.changeRollout(try input(.pause))
    #expect(outcome.after.rule?.share == 0 && outcome.after.rule?.groups == [])
    #expect(outcome.after.rule?.app == range && outcome.after.audience.share == 2500)
    #expect(outcome.channel == (try store.shop()))
    outcome = try store.changeRollout(try input(.audience(share: nil, groups: [], app: .some(nil))))
    #expect(outcome.after.isPaused && outcome.after.audience == RolloutAudience(share: 2500))
    var other = try input(.resume)
    other.candidate = ManifestVersion(2)
    #expect {
      try store.changeRollout(other)
    } throws: {
      if case StoreError.otherRollout(_, _, let open) = $0 { open.candidate.number == 3 } else { false }
    }
    _ = try store.freezeChannel(try AppName("shop"), .online, reason: "sale", by: anna)
    for change in [RolloutInput.Change.resume, .complete, .audience(share: 1, groups: nil, app: nil)] {
      #expect(throws: StoreError.self) { try store.changeRollout(try input(change)) }
    }
    var allowed = try input(.resume)
    allowed.breakGlass = "it has to be"
    #expect(try store.changeRollout(allowed).isChanged)
    #expect(try store.changeRollout(try input(.pause)).isChanged)
  }

  @Test func bothVersionsAreKept() throws {
    let store = try open()
    var policy = RetentionPolicy()
    (policy.versions, policy.days) = (1, 0)
    _ = try store.collect(policy)
    let channel = try store.shop()
    #expect(try store.digest(channel, at: channel.full.version) != nil)
    #expect(try store.texts(at: 2) == ["a.js": "a1", "b.js": "b1", "common.js": "c"])
    // The bundle's own version has been removed; its content is that of the full version, with its number.
    #expect(try store.entries(of: BundleName("a"), in: channel).version.number == 2)
    let outcome = try store.publish("a", base: 2, set: ["a.js": Sample("a3")])
    #expect(try store.texts(at: outcome.version.number)["common.js"] == "c")
  }

  @Test func moveAndRemovalAreRefused() throws {
    let store = try open()
    let request = RebaseInput(
      app: try AppName("shop"), channel: .online, publicURL: try BaseURL("https://other.example.com/y"),
      by: anna)
    #expect {
      try store.rebase(request)
    } throws: {
      if case StoreError.rolloutOpen = $0 { true } else { false }
    }
    #expect(throws: StoreError.self) { try store.removeChannel(try AppName("shop"), .online, by: anna) }
  }

  @Test func dryRunTellsWhatBecomesOfTheCandidate() throws {
    let store = try open()
    var outcome = try store.publish("a", base: 1, set: ["a.js": Sample("a3")], dryRun: true)
    #expect(outcome.rollout?.ended?.state == .superseded)
    outcome = try store.publish("b", base: 2, set: ["b.js": Sample("b3")], dryRun: true)
    #expect(outcome.rollout?.ended?.state == .remade && outcome.rollout?.open?.candidate.number == 5)
    #expect(try store.shop().version.number == 3)
  }
}

extension Store {
  /// Releases a candidate.
  @discardableResult
  func candidate(_ bundle: String, base: Int64, set: [String: Sample], share: Int = 500) throws
    -> ReleaseOutcome
  {
    try send(set.values)
    var request = try request([try change(bundle, base: base, set: set)])
    request.rollout = RolloutAudience(share: share)
    return try commit(request)
  }

  /// The texts of a kept version's files, by path.
  func texts(at version: Int64) throws -> [String: String] {
    var texts: [String: String] = [:]
    for (url, entry) in try manifest(try shop(), at: ManifestVersion(version)) {
      let bytes = try #require(try bytes(of: entry.sha256, limit: 1 << 20))
      texts[String(url.text.dropFirst("https://m.example.com/".count))] = String(
        decoding: bytes, as: UTF8.self)
    }
    return texts
  }

  /// The parameters of the acts in the audit trail, oldest first.
  func audited() throws -> [String] { try auditLog(limit: 1000).reversed().map(\.parameters) }
}
