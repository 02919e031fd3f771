import Manifests
import OriginAPI
import System
import Testing
import Values

@testable import xcache

/// The words for acts that wait for approvals, and for rights of several kinds.
@Suite struct ApprovalOutputTests {
  private static let at = Moment(milliseconds: 1_795_348_800_000)
  private static let plain = CapturedTerminal().terminal()

  private static func act(
    missing: Int, given: [String] = [], mine: Bool = false, by: String? = nil, due: Int64 = 0
  ) -> ScheduledInfo {
    var act = ScheduledInfo(
      id: 553, act: "publish", summary: "publish of main", due: Moment(milliseconds: at.milliseconds + due),
      state: "waiting", author: "ci", at: at)
    act.approvals = ApprovalsInfo(
      required: missing + given.count, given: given.map { GivenApproval(name: $0, at: at) }, missing: missing,
      by: by, mayApprove: !mine, why: mine ? "it is your own" : nil)
    return act
  }

  @Test func publishSaysWhatItWaitsFor() {
    #expect(
      Self.act(missing: 1, mine: true).line(.online)
        == "publish of main waits for 1 approval (not yours): `xcache approve 553`\n"
        + "nothing is changed yet; made as soon as it is approved, and missed after 2026-12-22 12:00:00 UTC; "
        + "`xcache schedule cancel 553` takes it back")
    let later = Self.act(missing: 1, given: ["ana"], by: "mobile-*", due: 3_600_000)
    #expect(later.missingApprovals == "1 more approval (of 2) by mobile-*")
    #expect(
      later.line(.online).contains("due 2026-11-22 13:00:00 UTC, once it is approved"),
      "\(later.line(.online))")
    // One that has them is only scheduled.
    #expect(Self.act(missing: 0, given: ["ana"], due: 3_600_000).line(.online).hasPrefix("scheduled for "))
  }

  @Test func signaturesAndApprovalsBesideEachOther() throws {
    var act = Self.act(missing: 2)
    let hash = SHA256.of([])
    act.signatures = [
      AwaitedSignatures(
        bundle: try BundleName("main"), content: hash, envelope: .null, keys: ["60303f8b00000000ff"],
        missing: 1,
        candidates: ["9a01000000000000ff"])
    ]
    #expect(act.stateWord == "unsigned" && act.isHeld && act.isUnapproved)
    #expect(
      act.remainder(.online)
        == "waits for 1 more signature (of 2), by 9a01000000000000…, and for 2 approvals")
    let line = act.line(.online)
    #expect(line.contains("as soon as it is signed and approved"))
    #expect(line.contains("`xcache sign 553` and `xcache approve 553`"))
    act.signatures = nil
    #expect(act.stateWord == "unapproved")
  }

  @Test func howActsEnd() {
    func ended(_ state: String, code: String? = nil) -> ScheduledInfo {
      var act = ScheduledInfo(
        id: 553, act: "publish", summary: "publish of main", due: Self.at, state: state, author: "ci",
        at: Self.at)
      (act.endedAt, act.code) = (Self.at, code)
      return act
    }
    #expect(SettledAct.end(ended("failed", code: "url-conflict")) == "failed at 2026-11-22 12:00:00 UTC")
    #expect(SettledAct.end(ended("cancelled")) == "was cancelled at 2026-11-22 12:00:00 UTC")
    #expect(SettledAct.end(ended("cancelled", code: "rejected")) == "was rejected at 2026-11-22 12:00:00 UTC")
  }

  @Test func revocationsInWords() {
    let session = Self.token("session", [])
    #expect(
      SessionOutput.revoked(session, by: session.name).hasPrefix("all sessions of ana@acme.com are refused"))
    #expect(SessionOutput.revoked(session, by: session.id).hasPrefix("this session is refused"))
    #expect(
      SessionOutput.revoked(Self.token("token", nil), by: "a1b2").hasPrefix("it is refused from now on"))
  }

  @Test func listOfWhatWaits() throws {
    let lines = ApproveCommand.table([
      WaitingAct(app: try AppName("shop"), channel: .online, schedule: Self.act(missing: 1)),
      WaitingAct(app: try AppName("shop"), channel: .online, schedule: Self.act(missing: 1, mine: true)),
    ])
    #expect(lines.count == 3 && lines[1].contains("to approve") && lines[1].hasSuffix("waits for 1 approval"))
    #expect(lines[2].hasSuffix("waits for 1 approval (not yours)") && !lines[2].contains("to approve"))
    #expect(ApproveCommand.table([]) == ["nothing waits for approvals or signatures"])
  }

  @Test func documentsAreComparedByLines() {
    let old: JSONValue = ["bypass": .array([]), "kill": false]
    let new: JSONValue = ["bypass": .array([]), "kill": true]
    let lines = PreviewLines.changes(from: old, to: new, Self.plain)
    #expect(lines.count { $0.hasPrefix("− ") } == lines.count { $0.hasPrefix("+ ") } && !lines.isEmpty)
    #expect(
      PreviewLines.changes(from: old, to: old, Self.plain)
        == ["it would change nothing: the document has that content"])
    #expect(PreviewLines.changes(from: .null, to: new, Self.plain).allSatisfy { $0.hasPrefix("+ ") })
  }

  @Test func protectionInWords() {
    #expect(ChannelProtection(approvals: 1, by: nil, share: 0).words == "1 approval")
    #expect(
      ChannelProtection(approvals: 2, by: "mobile-*", share: 500).words
        == "2 approvals by mobile-*; steps of a rollout up to 5 % need none")
  }

  // MARK: - Who asks

  private static func token(_ kind: String?, _ grants: [GrantInfo]?) -> TokenInfo {
    TokenInfo(
      id: "a1b2", name: "ana@acme.com", scope: "release", app: nil, channel: nil, bundles: nil, hosts: nil,
      createdAt: nil, expiresAt: at, lastUsedAt: nil, revokedAt: nil, kind: kind,
      issuer: kind == nil ? nil : "https://id.acme.com", subject: kind == nil ? nil : "1234",
      detail: kind == "session" ? "cli" : nil, grants: grants)
  }

  @Test func whoAsks() throws {
    let server = try BaseURL("https://o.example")
    let shop = try AppName("shop")
    let grants = [
      GrantInfo(scope: "publish", app: shop, channel: nil, bundles: "main"),
      GrantInfo(scope: "read", app: nil, channel: nil, bundles: nil),
    ]
    #expect(
      WhoAmICommand.lines(Self.token("session", grants), server, "xcache login", Self.plain) == [
        "ana@acme.com at https://o.example, until 2026-11-22 12:00:00 UTC:",
        "  may publish bundle main in every channel of app shop", "  may read in every app",
        "signed in by https://id.acme.com as 1234", "session a1b2 (cli), from xcache login",
      ])
    // An older origin knows neither kinds nor grants.
    let old = WhoAmICommand.lines(Self.token(nil, nil), server, "XCACHE_TOKEN", Self.plain)
    #expect(old.count == 2 && old[1] == "token a1b2, from XCACHE_TOKEN")
    #expect(old[0].contains("may roll back, steer rollouts, approve"))
  }

  @Test func sessionsInTheListOfTokens() {
    let sessions = [Self.token("session", []), Self.token("session", []), Self.token("job", [])]
    #expect(SessionOutput.summary(sessions) == "1 person is signed in, and 1 CI job has a token")
    #expect(SessionOutput.table(sessions).count == 4)
    let document: JSONValue = [
      "tokens": .array([["id": "1", "kind": "token"], ["id": "2", "kind": "job"], ["id": "3"]])
    ]
    #expect(SessionOutput.only(document) == ["tokens": .array([["id": "2", "kind": "job"]])])
  }
}
