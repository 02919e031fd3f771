import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// Acts on a protected channel, in the store alone: who may approve, what counts, and what no caller of the store gets around.
@Suite struct ApprovalTests {
  private let scratch = Scratch()
  private let now = Locked<Int64>(1_796_000_000_000)
  private static let day: Int64 = 86_400_000

  private func opened(approvals: Int = 1, by: String? = nil) throws -> Store {
    var options = Store.Options()
    options.clock = { [now] in now.withLock { $0 } }
    let store = try scratch.open(options)
    try store.publish(base: 0, set: ["a.js": Sample("one")])
    try protect(store, approvals, by: by)
    return store
  }

  private func protect(_ store: Store, _ approvals: Int, by: String? = nil) throws {
    let protection = Protection(approvals: approvals, approvers: by.flatMap { ApproverGlob($0) })
    _ = try store.protect(try AppName("shop"), .online, protection, by: .local)
  }

  private func token(_ store: Store, _ name: String, _ scope: TokenScope = .publish) throws -> AccessToken {
    try store.createToken(name: name, scope: scope).token
  }

  private func session(_ store: Store, _ subject: String, issuer: String = "https://id.acme.com") throws
    -> AccessToken
  {
    try store.createSession(
      name: "\(subject)@acme.com", hash: SHA256.of(Secrets.random(32)),
      grants: [Grant(.release, app: nil, channel: nil, bundles: nil)],
      identity: SignedInIdentity(issuer: issuer, subject: subject),
      expiresAt: now.withLock { $0 } + Self.day / 2, by: .local)
  }

  private func job(_ store: Store) throws -> AccessToken {
    let issuer = "https://token.actions.githubusercontent.com"
    let subject = "repo:acme/shop:ref:refs/heads/main"
    let pattern = try #require(SubjectPattern(subject))
    _ = try store.addIdentity(
      JobIdentity(
        name: "ci", issuer: issuer, subject: pattern, audience: "https://origin", scope: .publish),
      by: .local)
    let at = now.withLock { $0 }
    return try store.trade(
      TradedToken(
        jwt: SHA256.of(Secrets.random(32)), secretHash: SHA256.of(Secrets.random(32)), run: "1",
        subject: subject, issuer: issuer, jwtExpiresAt: at + 600_000, expiresAt: at + 900_000),
      for: "ci", by: .local)
  }

  /// An act that is asked for with a token.
  private func ask(
    _ store: Store, with author: AccessToken, in milliseconds: Int64 = 0, act: String = "publish"
  ) throws -> ScheduledAct {
    var input = ScheduleInput(
      app: try AppName("shop"), channel: .online, act: act, summary: "\(act) of main",
      due: now.withLock { $0 } + milliseconds, token: author.id, actor: Actor(name: author.name, address: ""),
      route: "releases", request: Array("{}".utf8))
    (input.isGated, input.author) = (true, author.authorKey)
    return try store.schedule(input)
  }

  @discardableResult
  private func approve(_ store: Store, _ act: ScheduledAct, _ caller: AccessToken) throws -> ScheduledAct {
    try store.approve(
      act.id, of: act.app, act.channel, with: caller, by: Actor(name: caller.name, address: ""))
  }

  private func refusal(_ store: Store, _ act: ScheduledAct, _ caller: AccessToken) -> ApprovalRefusal? {
    do {
      try approve(store, act, caller)
    } catch StoreError.mayNotApprove(_, let refusal) {
      return refusal
    } catch {
      Issue.record("\(error)")
    }
    return nil
  }

  @Test func actIsDueOnceItIsApproved() throws {
    let store = try opened()
    let act = try ask(store, with: try token(store, "ci"))
    #expect(act.awaitsApprovals && act.approvals?.required == 1)
    #expect(try store.dueAct() == nil)
    now.withLock { $0 += 5 * Self.day }
    #expect(try store.dueAct() == nil)
    let ana = try session(store, "ana")
    let approved = try approve(store, act, ana)
    #expect(!approved.awaitsApprovals && approved.approvals?.given.map(\.name) == ["ana@acme.com"])
    // Its time was over, but it isn't late.
    #expect(approved.due == now.withLock { $0 })
    #expect(try store.dueAct()?.act.id == act.id)
    // Again, with another session of hers: nothing changes, and there is one row of the audit trail.
    let again = try approve(store, act, try session(store, "ana"))
    #expect(again.approvals?.given.count == 1)
    #expect(try store.auditRows(after: 0, limit: 100).filter { $0.act == "approval.give" }.count == 1)
  }

  @Test func nobodyApprovesTheirOwn() throws {
    let store = try opened()
    let ana = try session(store, "ana")
    let act = try ask(store, with: ana)
    #expect(refusal(store, act, ana) == .author)
    #expect(refusal(store, act, try session(store, "ana")) == .author, "another session of hers")
    #expect(throws: StoreError.self) {
      try store.reject(
        act.id, of: act.app, act.channel, with: ana, reason: "no", by: Actor(name: ana.name, address: ""))
    }
    // The same subject at another provider is somebody else.
    #expect(refusal(store, act, try session(store, "ana", issuer: "https://other.org")) == nil)
    let ci = try token(store, "ci")
    #expect(refusal(store, try ask(store, with: ci), ci) == .author)
    let job = try job(store)
    #expect(refusal(store, try ask(store, with: ci), job) == .job)
    #expect(try store.scheduledAct(act.id, of: store.shop()).approvals?.missing == 0)
  }

  /// Where a token is concerned, one name is one person: it is made again now and then, and people have tokens beside their sessions.
  @Test func nobodyApprovesTheirOwnUnderTheirName() throws {
    let store = try opened(approvals: 2)
    let ana = try session(store, "ana")
    let act = try ask(store, with: ana)
    #expect(refusal(store, act, try token(store, ana.name)) == .author, "her token")
    let old = try token(store, "ci")
    let other = try ask(store, with: old)
    _ = try store.revokeToken("ci")
    #expect(refusal(store, other, try token(store, "ci")) == .author, "made again")
    // Nor twice.
    let bob = try token(store, "bob@acme.com")
    let third = try ask(store, with: ana)
    try approve(store, third, bob)
    #expect(try approve(store, third, try session(store, "bob")).approvals?.given.map(\.token) == [bob.id])
    _ = try store.revokeToken(bob.id)
    #expect(try approve(store, third, try token(store, "bob@acme.com")).approvals?.given.count == 1)
    #expect(try approve(store, third, try session(store, "carl")).approvals?.missing == 0)
  }

  @Test func approversThatAreNotNamedAnyMoreDoNotCount() throws {
    let store = try opened()
    let act = try ask(store, with: try token(store, "ci"), in: Self.day)
    try approve(store, act, try session(store, "ana"))
    try protect(store, 1, by: "lead*")
    now.withLock { $0 += Self.day }
    #expect(try store.dueAct() == nil)
    #expect(try store.scheduledAct(act.id, of: store.shop()).approvals?.given == [])
    try approve(store, act, try session(store, "lead-bob"))
    #expect(try store.dueAct()?.act.id == act.id)
  }

  @Test func twoApprovalsByTwoPeople() throws {
    let store = try opened(approvals: 2)
    let act = try ask(store, with: try token(store, "ci"))
    try approve(store, act, try session(store, "ana"))
    try approve(store, act, try session(store, "ana"))
    #expect(try store.dueAct() == nil)
    try approve(store, act, try session(store, "bob"))
    #expect(try store.dueAct()?.act.id == act.id)
  }

  @Test func onlyThoseWhoAreNamed() throws {
    let store = try opened(by: "*@acme.com,lead")
    let act = try ask(store, with: try token(store, "ci"))
    let other = try token(store, "other")
    let glob = try #require(ApproverGlob("*@acme.com,lead"))
    #expect(refusal(store, act, other) == .notNamed(glob, name: "other"))
    try approve(store, act, try token(store, "lead"))
    #expect(try store.dueAct()?.act.id == act.id)
  }

  @Test func bundlesOfAnApproverCoverTheActs() throws {
    let store = try opened()
    let act = try ask(store, with: try token(store, "ci"))
    let some = try store.createToken(name: "help", scope: .publish, bundles: BundleGlob("help*")).token
    #expect(refusal(store, act, some) == .bundles(try #require(BundleGlob("help*"))))
    for (names, isLet) in [(["help", "shop"], false), (["help", "help-2"], true)] {
      let bundles = try names.map { try BundleName($0) }
      #expect((act.refusal(of: some, bundles: bundles) == nil) == isLet, "\(names)")
    }
  }

  @Test func revokedApproverDoesNotCount() throws {
    let store = try opened()
    let act = try ask(store, with: try token(store, "ci"), in: Self.day)
    let ana = try session(store, "ana")
    try approve(store, act, ana)
    _ = try store.revokeToken(ana.id)
    now.withLock { $0 += 2 * Self.day }
    #expect(try store.dueAct() == nil)
    #expect(try store.scheduledAct(act.id, of: store.shop()).awaitsApprovals)
    // She signs in again, and means it.
    try approve(store, act, try session(store, "ana"))
    #expect(try store.dueAct()?.act.id == act.id)
  }

  @Test func endedSessionStillCounts() throws {
    let store = try opened()
    let act = try ask(store, with: try token(store, "ci"), in: Self.day)
    let ana = try session(store, "ana")
    try approve(store, act, ana)
    try store.endSession(ana, by: .local)
    #expect(throws: StoreError.self, "her token has ended") { try approve(store, act, ana) }
    now.withLock { $0 += Self.day }
    #expect(try store.dueAct()?.act.id == act.id)
  }

  @Test func raisedAndLoweredWhileActsWait() throws {
    let store = try opened(approvals: 1)
    let ci = try token(store, "ci")
    let act = try ask(store, with: ci)
    try protect(store, 2)
    try approve(store, act, try session(store, "ana"))
    #expect(try store.dueAct() == nil, "it takes two by now")
    try protect(store, 0)
    #expect(try store.dueAct()?.act.id == act.id, "it takes one as when it was asked for")
    let unapproved = try ask(store, with: ci)
    #expect(!unapproved.awaitsApprovals && unapproved.approvals == nil)
    try protect(store, 1)
    #expect(try store.scheduledAct(unapproved.id, of: store.shop()).awaitsApprovals, "its kind takes some")
  }

  @Test func loweredLongAfterwardsIsNotLate() throws {
    let store = try opened(approvals: 0)
    let act = try ask(store, with: try token(store, "ci"), in: Self.day)
    try protect(store, 1)
    now.withLock { $0 += 10 * Self.day }
    #expect(try store.dueAct() == nil)
    try protect(store, 0)
    let due = try #require(try store.dueAct())
    #expect(due.act.id == act.id && due.act.due == now.withLock { $0 })
  }

  @Test func waitsForThirtyDays() throws {
    let store = try opened()
    let act = try ask(store, with: try token(store, "ci"))
    now.withLock { $0 += ScheduleLimits.awaitingApprovals - 1 }
    #expect(try store.dueAct() == nil)
    now.withLock { $0 += 1 }
    let due = try #require(try store.dueAct())
    #expect(due.act.id == act.id && due.act.awaitsApprovals)
    // Too late, though it wasn't ended yet.
    let ana = try session(store, "ana")
    #expect {
      try approve(store, act, ana)
    } throws: { error in
      if case StoreError.scheduleOver = error { true } else { false }
    }
  }

  @Test func lastApprovalIsRefusedWhereTheActWouldBe() throws {
    let store = try opened()
    let ci = try token(store, "ci")
    let act = try ask(store, with: ci)
    let ana = try session(store, "ana")
    _ = try store.freezeChannel(try AppName("shop"), .online, reason: "holidays", by: .local)
    #expect {
      try approve(store, act, ana)
    } throws: { error in
      if case StoreError.frozen = error { true } else { false }
    }
    #expect(try store.scheduledAct(act.id, of: store.shop()).approvals?.given.isEmpty == true)
    _ = try store.thawChannel(try AppName("shop"), .online, .current, by: .local)
    _ = try store.revokeToken(ci.id)
    #expect {
      try approve(store, act, ana)
    } throws: { error in
      if case StoreError.authorEnded = error { true } else { false }
    }
  }

  @Test func rejectionEndsIt() throws {
    let store = try opened()
    let act = try ask(store, with: try token(store, "ci"))
    let ana = try session(store, "ana")
    try approve(store, act, try session(store, "bob"))
    let ended = try store.reject(
      act.id, of: act.app, act.channel, with: ana, reason: "not on Fridays",
      by: Actor(name: ana.name, address: ""))
    #expect(ended.state == .cancelled && ended.code == ScheduledAct.rejected)
    #expect(ended.reason == "not on Fridays" && ended.end?.by == ana.name)
    #expect(ended.approvals?.given.map(\.name) == ["bob@acme.com"])
    #expect(try store.dueAct() == nil)
    #expect {
      try approve(store, act, ana)
    } throws: { error in
      if case StoreError.scheduleOver = error { true } else { false }
    }
  }

  /// Whoever writes to the store without looking first, or looked before the channel was protected.
  @Test func storeRefusesWhatWasNotApproved() throws {
    let store = try opened()
    func isRefused(_ act: () throws -> Void) -> Bool {
      do {
        try act()
      } catch StoreError.needsApproval(_, _, let required) {
        return required == 1
      } catch {
        Issue.record("\(error)")
      }
      return false
    }
    #expect(isRefused { try store.publish(base: 1, set: ["a.js": Sample("two")]) })
    #expect(
      isRefused {
        _ = try store.commit(store.request([BundleChange(try BundleName("main"), .unpublish)]))
      })
    let push = DocumentRequest(
      app: try AppName("shop"), channel: .online, document: .prefetch, kind: .push, author: "ci", message: "")
    #expect(
      isRefused {
        _ = try store.change(push, change: { (_, _) in Array(#"[{"url":"https://m.example.com/"}]"#.utf8) })
      })
    let set = DocumentRequest(
      app: try AppName("shop"), channel: .online, document: .policy, kind: .set, author: "ci", message: "")
    var policy = Policy.none
    policy.usesHTTPDNS = false
    let content = JSONValue.object(policy.json).canonical
    #expect(isRefused { _ = try store.change(set, change: { (_, _) in content }) })
    // Nothing was written, and what never waits is done.
    #expect(try store.shop().version == ManifestVersion(1))
    let kill = DocumentRequest(
      app: try AppName("shop"), channel: .online, document: .policy, kind: .kill, author: "ci", message: "")
    policy = .none
    policy.intercept = false
    let off = JSONValue.object(policy.json).canonical
    _ = try store.change(kill, change: { (_, _) in off })
    #expect(try store.extras(of: store.shop()).policy?.policy.intercept == false)
    // A trial isn't refused, and leaves nothing behind.
    let rows = try store.auditRows(after: 0, limit: 1000).count
    _ = try store.change(set, change: { (_, _) in content }, record: .trial())
    #expect(try store.extras(of: store.shop()).policy?.policy.usesHTTPDNS == true)
    #expect(try store.auditRows(after: 0, limit: 1000).count == rows)
    #expect(try store.verifyAudit().0 == nil)
  }

  /// An act that was found to be due, and lacks approvals by the time that it is written.
  @Test func approvalsAreCheckedInTheTransaction() throws {
    let store = try opened()
    let ci = try token(store, "ci")
    let act = try ask(store, with: ci)
    let ana = try session(store, "ana")
    try approve(store, act, ana)
    let run = ScheduledRun(id: act.id, token: ci, at: act.at)
    let record = AnswerRecord<ReleaseOutcome>(run) { _ in StoredAnswer(status: 201, body: []) }
    let input = try store.request([try store.change("main", base: 1, set: ["a.js": Sample("two")])])
    try store.send([Sample("two")])
    _ = try store.revokeToken(ana.id)
    #expect {
      try store.commit(input, record: record)
    } throws: { error in
      if case StoreError.needsApproval = error { true } else { false }
    }
    #expect(try store.scheduledAct(act.id, of: store.shop()).state == .waiting)
    try approve(store, act, try session(store, "bob"))
    #expect(try store.commit(input, record: record).version == ManifestVersion(2))
    #expect(try store.scheduledAct(act.id, of: store.shop()).state == .done)
    // Once more: there is nothing left to do.
    #expect(try store.commit(input, record: record).changed == false)
  }

  @Test func theNumberOfActsThatWaitIsTheChannels() throws {
    let store = try opened()
    let first = try ask(store, with: try token(store, "ci"))
    let second = try ask(store, with: try token(store, "cd"))
    #expect(try store.awaitingActs().map(\.id) == [first.id, second.id])
    try approve(store, first, try session(store, "ana"))
    #expect(try store.awaitingActs().map(\.id) == [second.id])
    let health = try #require(try store.channelHealth().first)
    #expect(health.awaiting?.count == 1 && health.awaiting?.since == second.at)
  }
}
