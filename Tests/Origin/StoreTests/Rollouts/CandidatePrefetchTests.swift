import Manifests
import System
import Testing
import TestSupport

@testable import Store

@Suite struct CandidatePrefetchTests {
  let scratch = Scratch()
  let anna = Actor(name: "anna", address: "10.0.0.7")
  let full = Array(#"[{"interfaces":[],"url":"https://m.example.com/1"}]"#.utf8)
  let next = Array(#"[{"interfaces":[],"url":"https://m.example.com/2"}]"#.utf8)
  let third = Array(#"[{"interfaces":[],"url":"https://m.example.com/3"}]"#.utf8)

  private func request(_ kind: DocumentRecord.Kind = .push, ifVersion: Int64? = nil) throws -> DocumentRequest
  {
    DocumentRequest(
      app: try AppName("shop"), channel: .online, document: .prefetch, kind: kind, author: "anna",
      message: "m",
      ifVersion: ifVersion)
  }

  /// A store with bundles a and b at version 2 and prefetch config 1.
  private func store() throws -> Store {
    let store = try scratch.open()
    try store.publish("a", base: 0, set: ["a.js": Sample("a1")])
    try store.publish("b", base: 0, set: ["b.js": Sample("b1")])
    try push(full, in: store)
    return store
  }

  @discardableResult
  private func push(_ content: [UInt8], in store: Store) throws -> Rollout? {
    guard case .changed(_, _, let ended) = try store.change(try request(), change: { _, _ in content }) else {
      return nil
    }
    return ended
  }

  @discardableResult
  private func candidate(_ content: [UInt8], share: Int = 500, ifNoRollout: Bool = false, in store: Store)
    throws -> CandidatePrefetchOutcome
  {
    try store.pushCandidatePrefetch(
      try request(), to: RolloutAudience(share: share), content, ifNoRollout: ifNoRollout)
  }

  private func change(_ change: RolloutInput.Change, in store: Store) throws -> RolloutOutcome {
    try store.changeRollout(
      RolloutInput(app: try AppName("shop"), channel: .online, change, by: anna))
  }

  private func halt(_ store: Store) throws -> ReleaseOutcome {
    try store.haltRollout(try AppName("shop"), .online, nil, by: anna, reason: "broken")
  }

  private func extras(_ store: Store) throws -> ChannelExtras { try store.extras(of: try store.shop()) }

  @Test func configAloneMakesACandidateWithTheFullVersionsFiles() throws {
    let store = try store()
    let outcome = try candidate(next, in: store)
    let channel = try store.shop()
    #expect(outcome.release?.version.number == 3 && outcome.channel == channel)
    #expect(channel.version.number == 3 && channel.full.version.number == 2)
    #expect(channel.digest == channel.full.digest)
    #expect(try store.texts(at: 3) == store.texts(at: 2))
    #expect(channel.rollout?.rule?.prefetch == 2 && channel.rollout?.prefetch == 2)
    #expect(try extras(store).prefetch?.version == 1)
    #expect(try extras(store).candidatePrefetch?.content == next)
    // The same again, as in a retry without an idempotency key.
    let again = try candidate(next, in: store)
    guard case .unchanged(let held?) = again.document else {
      Issue.record("\(again.document)")
      return
    }
    #expect(held.version == 2 && again.release == nil)
    #expect(try store.shop() == channel)
  }

  @Test func completingMakesItTheChannelsConfig() throws {
    let store = try store()
    try candidate(next, in: store)
    let outcome = try change(.complete, in: store)
    #expect(outcome.extras?.prefetch?.version == 2 && outcome.extras?.candidatePrefetch == nil)
    #expect(try extras(store) == outcome.extras)
    #expect(try extras(store).prefetch?.content == next)
    #expect(try store.shop().rollout == nil)
    #expect(try store.shop().full.version.number == 3)
    #expect(try store.log(.prefetch, of: try store.shop()).map(\.version) == [2, 1])
    #expect(try store.log(.prefetch, of: try store.shop()).map(\.rollout) == [nil, nil])
    try push(third, in: store)
    #expect(try extras(store).prefetch?.version == 3)
  }

  @Test func haltingKeepsTheChannelsConfigAndItsNumberIsNotReused() throws {
    let store = try store()
    try candidate(next, in: store)
    let outcome = try halt(store)
    #expect(outcome.changed && outcome.version.number == 4)
    #expect(try store.shop().rollout == nil)
    #expect(try store.texts(at: 4) == store.texts(at: 2))
    #expect(try extras(store).prefetch?.version == 1 && (try extras(store)).candidatePrefetch == nil)
    #expect(try store.log(.prefetch, of: try store.shop()).map(\.rollout) == ["halted", nil])
    try push(third, in: store)
    #expect(try extras(store).prefetch?.version == 3)
    #expect(try store.document(.prefetch, of: try store.shop(), at: 2)?.content == next)
  }

  @Test func configJoinsAnOpenRolloutOfTheSameDevices() throws {
    let store = try store()
    try store.candidate("a", base: 1, set: ["a.js": Sample("a2")], share: 500)
    let seed = try store.shop().rollout?.seed
    #expect {
      try candidate(next, share: 600, in: store)
    } throws: {
      if case StoreError.otherAudience = $0 { true } else { false }
    }
    #expect {
      try candidate(next, ifNoRollout: true, in: store)
    } throws: {
      if case StoreError.rolloutOpen = $0 { true } else { false }
    }
    let outcome = try candidate(next, in: store)
    #expect(outcome.release == nil)
    let rollout = try #require(try store.shop().rollout)
    #expect(rollout.candidate.number == 3 && rollout.seed == seed && rollout.prefetch == 2)
    // Another config replaces it in the same rollout.
    try candidate(third, in: store)
    #expect(try store.shop().rollout?.prefetch == 3)
    #expect(try store.log(.prefetch, of: try store.shop()).map(\.rollout) == ["open", "superseded", nil])
    // A release of another bundle makes the candidate again, with its config.
    try store.publish("b", base: 2, set: ["b.js": Sample("b2")])
    #expect(try store.shop().rollout?.candidate.number == 5)
    #expect(try store.shop().rollout?.prefetch == 3)
    // A release of the candidate's bundle replaces the candidate together with its config.
    try store.publish("a", base: 1, set: ["a.js": Sample("a3")])
    #expect(try store.shop().rollout == nil)
    #expect(try extras(store).prefetch?.version == 1 && (try extras(store)).candidatePrefetch == nil)
  }

  /// Who asks for what an open rollout does already joins it; who asks for something else is told so, and not of other devices.
  @Test func configThatJoinsDoesNotChangeTheCourse() throws {
    let store = try store()
    try store.candidate("a", base: 1, set: ["a.js": Sample("a2")], share: 500)
    var audience = RolloutAudience(share: 500)
    audience.course = RolloutCourse(haltsItself: true)
    func push(_ content: [UInt8]) throws {
      _ = try store.pushCandidatePrefetch(try request(), to: audience, content)
    }
    #expect {
      try push(next)
    } throws: {
      guard case StoreError.otherCourse(_, _, let candidate) = $0 else { return false }
      return candidate.number == 3 && "\($0)".contains("--auto-halt")
    }
    #expect(try store.shop().rollout?.prefetch == nil)
    var input = RolloutInput(
      app: try AppName("shop"), channel: .online, .audience(share: nil, groups: nil, app: nil), by: anna)
    input.course = audience.course
    #expect(try store.changeRollout(input).isChanged)
    try push(next)
    #expect(try store.shop().rollout?.prefetch == 2)
    audience.course = RolloutCourse(haltsItself: false)
    #expect(throws: StoreError.self) { try push(third) }
    audience.course = RolloutCourse()
    try push(third)
    #expect(try store.shop().rollout?.prefetch == 3)
  }

  @Test func releaseRemakesACandidateWithoutFiles() throws {
    let store = try store()
    try candidate(next, in: store)
    let outcome = try store.publish("a", base: 1, set: ["a.js": Sample("a2")])
    #expect(outcome.rollout?.ended?.state == .remade)
    let channel = try store.shop()
    #expect(channel.full.version.number == 4 && channel.rollout?.candidate.number == 5)
    #expect(channel.rollout?.prefetch == 2)
    #expect(try store.texts(at: 5) == store.texts(at: 4))
    #expect(try store.texts(at: 5)["a.js"] == "a2")
    _ = try halt(store)
    #expect(try store.texts(at: 6) == store.texts(at: 4))
  }

  @Test func newerConfigForAllReplacesIt() throws {
    let store = try store()
    try candidate(next, in: store)
    let ended = try push(third, in: store)
    #expect(ended?.prefetch == 2 && ended?.state == .completed)
    // The rollout is over: its candidate, with the same files, is the full version.
    #expect(try store.shop().rollout == nil)
    #expect(try store.shop().full.version.number == 3)
    #expect(try extras(store).prefetch?.version == 3 && (try extras(store)).candidatePrefetch == nil)
    #expect(try store.log(.prefetch, of: try store.shop()).map(\.rollout) == [nil, "superseded", nil])
    // Files of a candidate stay in the candidate.
    try store.candidate("a", base: 1, set: ["a.js": Sample("a2")], share: 500)
    try candidate(next, in: store)
    let replaced = try push(full, in: store)
    #expect(replaced?.prefetch == 4 && replaced?.state == .open)
    // It is recorded as the config that devices had while the full version was live.
    #expect(try extras(store).prefetch?.manifestVersion.number == 3)
    #expect(try store.shop().rollout?.candidate.number == 4)
    #expect(try store.shop().rollout?.prefetch == nil)
    #expect(try extras(store).prefetch?.version == 5)
  }

  @Test func channelWithoutAConfigCanHaveACandidate() throws {
    let store = try scratch.open()
    try store.publish("a", base: 0, set: ["a.js": Sample("a1")])
    // An empty config is what all devices have.
    #expect(try candidate(ChannelExtras.noPrefetch, in: store).release == nil)
    try candidate(next, in: store)
    #expect(try store.shop().rollout?.prefetch == 1)
    #expect(try extras(store).prefetch == nil)
    _ = try halt(store)
    try push(full, in: store)
    #expect(try extras(store).prefetch?.version == 2)
    // There was none before, as a rollback finds.
    let carryOver = try store.prefetch(of: try store.shop(), while: ManifestVersion(1), as: nil)
    #expect(carryOver == nil)
  }

  @Test func releaseThatCompletesTheRolloutDecidesAboutTheConfig() throws {
    for decision in [ReleaseInput.CandidatePrefetch.refused, .dropped, .completed] {
      let scratch = Scratch()
      let store = try scratch.open()
      try store.publish("a", base: 0, set: ["a.js": Sample("a1")])
      try store.candidate("a", base: 1, set: ["a.js": Sample("a2")], share: 500)
      try candidate(next, in: store)
      var request = try store.request([try store.change("a", base: 1, set: ["a.js": Sample("a2")])])
      request.candidatePrefetch = decision
      if decision == .refused {
        #expect {
          try store.commit(request)
        } throws: {
          if case StoreError.wholeChannel = $0 { true } else { false }
        }
        #expect(try store.shop().rollout?.prefetch == 1)
        continue
      }
      let outcome = try store.commit(request)
      #expect(outcome.rollout?.ended?.state == .completed)
      #expect(try store.shop().rollout == nil)
      #expect(try extras(store) == outcome.extras)
      #expect(outcome.extras?.candidatePrefetch == nil)
      #expect(outcome.extras?.prefetch?.content == (decision == .completed ? next : nil))
    }
  }

  /// The files of a release during a rollout of a config, and the candidate that ends: the original one or the remade one.
  @Test(arguments: [("a1", Int64(3)), ("a2", 5)])
  func dryRunShowsAPromotedConfig(text: String, ended: Int64) throws {
    let store = try store()
    try candidate(next, in: store)
    try store.send([Sample(text)])
    var release = try store.request([try store.change("a", base: 1, set: ["a.js": Sample(text)])])
    release.prefetch = PrefetchCarryOver(content: third, source: 7, from: try ChannelName("staging"))
    release.ifNoRollout = true
    #expect {
      try store.commit(release)
    } throws: {
      if case StoreError.rolloutOpen = $0 { true } else { false }
    }
    #expect(try store.shop().rollout?.prefetch == 2)
    release.ifNoRollout = false
    var dry = release
    dry.dryRun = true
    for outcome in [try store.commit(dry), try store.commit(release)] {
      let over = try #require(outcome.rollout?.ended)
      #expect(over.candidate.number == ended && over.state == .completed && over.prefetch == nil)
      #expect(outcome.rollout?.open == nil && outcome.prefetch?.version == ManifestVersion(3))
    }
    #expect(try store.shop().rollout == nil)
    #expect(try extras(store).prefetch?.content == third)
  }

  @Test func policyDoesNotReplaceAConfig() throws {
    let store = try store()
    try candidate(next, in: store)
    let kill = DocumentRequest(
      app: try AppName("shop"), channel: .online, document: .policy, kind: .kill, author: "anna", message: "")
    guard
      case .changed(_, _, let ended) = try store.change(
        kill, change: { _, _ in Array(#"{"intercept":false}"#.utf8) })
    else { return #expect(Bool(false), "nothing was changed") }
    #expect(ended == nil)
    #expect(try store.shop().rollout?.prefetch == 2)
  }

  @Test func numbersRiseAcrossARestore() throws {
    let store = try store()
    try candidate(next, in: store)
    try candidate(third, in: store)
    _ = try store.connections.transaction { (db) throws(StoreError) in try db.leaveDocumentGaps(1000) }
    // Devices may know numbers that the backup doesn't have: the completed config gets a new one.
    let outcome = try change(.complete, in: store)
    #expect(outcome.extras?.prefetch?.version == 1003 && outcome.extras?.prefetch?.content == third)
    try push(full, in: store)
    #expect(try extras(store).prefetch?.version == 1004)
  }

  @Test func mirrorRunHasItAfterCompletion() throws {
    let store = try store()
    try candidate(next, in: store)
    let before = try store.mirrorDocument(.candidatePrefetch(2), of: try store.shop())
    _ = try change(.complete, in: store)
    #expect(try store.mirrorDocument(.candidatePrefetch(2), of: try store.shop()) == before)
  }

  @Test func removedChannelAndGC() throws {
    let store = try scratch.open()
    try store.publish("a", base: 0, set: ["a.js": Sample("a1")])
    for content in [next, third, next] {
      try candidate(content, in: store)
      _ = try halt(store)
    }
    try push(full, in: store)
    let id = try store.shop().id
    _ = try store.connections.transaction { (db) throws(StoreError) in
      try db.deleteUnneededCandidates(of: id, all: true)
    }
    // They record that there was no config before the fourth.
    #expect(try store.prefetch(of: try store.shop(), while: ManifestVersion(1), as: nil) == nil)
    #expect(try extras(store).prefetch?.version == 4)
  }

  @Test func frozenChannelsRefuseIt() throws {
    let store = try store()
    _ = try store.freezeChannel(try AppName("shop"), .online, reason: "sale", by: anna)
    #expect {
      try candidate(next, in: store)
    } throws: {
      if case StoreError.frozen = $0 { true } else { false }
    }
    #expect(try store.shop().version.number == 2)
  }

  @Test func conflictIsReportedAndChangesNothing() throws {
    let store = try store()
    try candidate(next, in: store)
    let outcome = try store.pushCandidatePrefetch(
      try request(ifVersion: 1), to: RolloutAudience(share: 500), third)
    guard case .conflict(let held) = outcome.document else {
      Issue.record("\(outcome.document)")
      return
    }
    #expect(held.version == 2)
    #expect(try store.shop().rollout?.prefetch == 2)
  }

  @Test func promotedConfigBelongsToTheCandidate() throws {
    let store = try store()
    try store.send([Sample("a2")])
    var release = try store.request([try store.change("a", base: 1, set: ["a.js": Sample("a2")])])
    release.rollout = RolloutAudience(share: 100)
    release.rollout?.course = RolloutCourse(haltsItself: true)
    release.prefetch = PrefetchCarryOver(content: next, source: 7, from: try ChannelName("staging"))
    var dry = release
    dry.dryRun = true
    let planned = try store.commit(dry)
    let outcome = try store.commit(release)
    #expect(planned.prefetch == outcome.prefetch && outcome.prefetch?.version == ManifestVersion(2))
    #expect(outcome.rollout?.open?.prefetch == 2)
    #expect(try store.standing(of: try store.shop())?.plan.haltsItself == true)
    // A promotion from here takes the candidate's config.
    #expect(try store.prefetch(of: try store.shop(), while: ManifestVersion(3), as: nil)?.content == next)
    #expect(try store.prefetch(of: try store.shop(), while: ManifestVersion(2), as: nil)?.content == full)
    // A release of the same files to all completes it, and finds the config already there.
    var same = try store.request([try store.change("a", base: 1, set: ["a.js": Sample("a2")])])
    same.prefetch = release.prefetch
    same.dryRun = true
    #expect(
      try store.commit(same).prefetch
        == PrefetchOutcome(changed: false, version: ManifestVersion(2), source: ManifestVersion(7)))
    #expect(
      try extras(store).prefetch?.version == 1 && (try extras(store)).candidatePrefetch?.content == next)
    // Without changed files there would be no candidate.
    _ = try halt(store)
    #expect {
      var same = try store.request([try store.change("a", base: 1, set: ["a.js": Sample("a1")])])
      same.rollout = RolloutAudience(share: 100)
      same.prefetch = release.prefetch
      _ = try store.commit(same)
    } throws: {
      if case StoreError.noCandidate = $0 { true } else { false }
    }
    #expect(try extras(store).prefetch?.version == 1)
  }
}
