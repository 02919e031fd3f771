import Manifests
import OriginAPI
import System
import Testing
import Trust
import Values

@testable import Origin
@testable import Store

/// Releases that wait for signatures: `awaitSignatures`, `…/schedules/{id}/statements`.
@Suite struct AwaitedSignatureTests {
  private static let online = "apps/shop/channels/online"
  private static let old = ["a.js": "one"]
  private static let new = ["a.js": "two"]
  private let keys = [P256PrivateKey(), P256PrivateKey(), P256PrivateKey()]
  private let clock = Locked(Clock.unixMilliseconds())

  /// An origin with one bundle whose releases two of three keys sign.
  private func opened() throws -> TestOrigin {
    let origin = try TestOrigin(clock: { [clock] in clock.withLock { $0 } })
    try origin.publish(Self.old)
    let head = try origin.headKey()
    let rootKey = P256PrivateKey()
    let root = try TrustRoot(
      app: AppName("shop"), number: .first,
      keys: [rootKey.trustKey, head] + keys.map(\.trustKey),
      roots: try #require(KeyGroup([rootKey.trustKey.id], threshold: 1)),
      grants: [
        ReleaseGrant(signers: try #require(KeyGroup(Set(keys.map(\.trustKey.id)), threshold: 2)))
      ], prefetch: [], heads: [head.id])
    let reply = try origin.api(
      "POST", "\(TestOrigin.trust)/root",
      [
        "releases": [try statement(Self.old, serial: 1, signers: [0, 1], origin)],
        "root": try Signed(root).signed(by: rootKey).envelope.json,
      ])
    #expect(reply.status == 201, "\(reply.text)")
    return origin
  }

  private func statement(_ files: [String: String], serial: Int64, signers: [Int], _ origin: TestOrigin)
    throws
    -> JSONValue
  {
    var signed = try Signed(
      ReleaseStatement(
        app: AppName("shop"), bundle: BundleName("main"), channels: [.online], content: origin.content(files),
        serial: try #require(Serial(serial))))
    for index in signers { signed = try signed.signed(by: keys[index]) }
    return signed.envelope.json
  }

  /// Publishes what one key has signed.
  private func publish(
    _ origin: TestOrigin, _ files: [String: String] = new, signers: [Int] = [0],
    members: [String: JSONValue] = [:]
  ) throws -> TestOrigin.Reply {
    var body = try origin.release(files).object ?? JSONObject()
    body["statements"] = [try statement(files, serial: 2, signers: signers, origin)]
    body["awaitSignatures"] = true
    for (key, value) in members { body[key] = value }
    return try origin.api("POST", "\(Self.online)/releases", .object(body))
  }

  private func sign(_ origin: TestOrigin, _ id: Int64, signers: [Int], files: [String: String] = new) throws
    -> TestOrigin.Reply
  {
    try origin.api(
      "POST", "\(Self.online)/schedules/\(id)/statements",
      ["statements": [try statement(files, serial: 2, signers: signers, origin)]])
  }

  private func id(_ reply: TestOrigin.Reply) throws -> Int64 {
    #expect(reply.status == 202, "\(reply.text)")
    return try #require(reply.json["scheduled"]?["id"]?.integer, "\(reply.text)")
  }

  private func version(_ origin: TestOrigin) throws -> String? {
    try origin.api("GET", Self.online).json["version"]?.string
  }

  private func show(_ origin: TestOrigin, _ id: Int64) throws -> JSONValue {
    try origin.api("GET", "\(Self.online)/schedules/\(id)").json
  }

  private func run(_ origin: TestOrigin) { ScheduleService(api: origin.origin.api) { _ in }.run() }

  @Test func releaseWaitsForItsSecondSignature() throws {
    let origin = try opened()
    let reply = try publish(origin)
    let id = try id(reply)
    #expect(reply.json["changed"]?.bool == false)
    let waits = try #require(try show(origin, id)["signatures"]?.array?.first)
    #expect(waits["bundle"]?.string == "main" && waits["missing"]?.integer == 1)
    #expect(waits["keys"]?.array?.map(\.string) == [keys[0].trustKey.id.text])
    let others = [keys[1], keys[2]].map(\.trustKey.id).sorted().map(\.text)
    #expect(waits["candidates"]?.array?.map(\.string) == others)
    run(origin)
    #expect(try version(origin) == "2")
    // The same signature again, and one of nobody's, complete nothing.
    #expect(try sign(origin, id, signers: [0]).json["signatures"]?.array?.count == 1)
    #expect(try sign(origin, id, signers: []).json["code"]?.string == "unsigned")
    run(origin)
    #expect(try version(origin) == "2")
    let signed = try sign(origin, id, signers: [2])
    #expect(signed.status == 200 && signed.json["signatures"] == nil, "\(signed.text)")
    #expect(signed.json["state"]?.string == "waiting")
    run(origin)
    #expect(try version(origin) == "3")
    let done = try show(origin, id)
    #expect(done["state"]?.string == "done" && done["version"]?.string == "3", "\(done)")
    #expect(try origin.contents()["main"] == origin.content(Self.new))
    // A lost answer's retry with a key gets the answer; without one, it says what happened meanwhile.
    #expect(try sign(origin, id, signers: [2]).json["code"]?.string == "schedule-over")
  }

  /// Beside approvals, in each order: the answer says which is missing, and it is made once, when neither is.
  @Test(arguments: [true, false]) func approvalsAndSignatures(signsFirst: Bool) throws {
    let origin = try opened()
    #expect(try origin.api("POST", "\(Self.online)/protect", ["approvals": 1]).status == 200)
    let lead = try origin.store.createToken(name: "lead", scope: .release).text
    let reply = try publish(origin)
    let id = try id(reply)
    let act = reply.json["scheduled"]
    #expect(act?["approvals"]?["missing"]?.integer == 1, "\(reply.text)")
    #expect(act?["signatures"]?.array?.count == 1, "\(reply.text)")
    func approve() throws {
      let approved = try origin.api("POST", "\(Self.online)/schedules/\(id)/approve", [:], token: lead)
      #expect(approved.status == 200, "\(approved.text)")
      #expect(approved.json["approvals"]?["missing"]?.integer == 0)
      #expect((approved.json["signatures"] == nil) == signsFirst)
    }
    func complete() throws {
      let signed = try sign(origin, id, signers: [1])
      #expect(signed.status == 200 && signed.json["signatures"] == nil, "\(signed.text)")
      #expect(signed.json["approvals"]?["missing"]?.integer == (signsFirst ? 1 : 0))
    }
    // Whichever comes last may come days later.
    if signsFirst { try complete() } else { try approve() }
    clock.withLock { $0 += 5 * 86_400_000 }
    run(origin)
    #expect(try version(origin) == "2" && show(origin, id)["state"]?.string == "waiting")
    #expect(try origin.api("GET", "waiting").json["acts"]?.array?.count == 1)
    if signsFirst { try approve() } else { try complete() }
    run(origin)
    #expect(try version(origin) == "3")
    #expect(try show(origin, id)["state"]?.string == "done")
  }

  /// A freeze refuses what is last, not what comes before.
  @Test func freezeRefusesTheLastOfBoth() throws {
    let origin = try opened()
    #expect(try origin.api("POST", "\(Self.online)/protect", ["approvals": 1]).status == 200)
    let lead = try origin.store.createToken(name: "lead", scope: .release).text
    let id = try id(try publish(origin))
    #expect(try origin.api("POST", "\(Self.online)/freeze", ["reason": "sale"]).status == 200)
    #expect(try sign(origin, id, signers: [1]).status == 200)
    let path = "\(Self.online)/schedules/\(id)/approve"
    let refused = try origin.api("POST", path, [:], token: lead)
    #expect(refused.status == 409 && refused.json["code"]?.string == "frozen", "\(refused.text)")
    #expect(try origin.api("POST", "\(Self.online)/thaw", [:]).status == 200)
    #expect(try origin.api("POST", path, [:], token: lead).status == 200)
    run(origin)
    #expect(try version(origin) == "3")
  }

  @Test func requestSaysWhatIsSigned() throws {
    let origin = try opened()
    let id = try id(try publish(origin, ["a.js": "two", "b.js": "b"]))
    let request = try origin.api("GET", "\(Self.online)/schedules/\(id)/request").json
    let bundle = request["bundles"]?.array?.first
    #expect(bundle?["bundle"]?.string == "main" && bundle?["set"]?.object?.count == 2)
    #expect(request["statements"] == nil && request["awaitSignatures"] == nil)
    #expect(try origin.api("GET", "\(Self.online)/schedules/99/request").status == 404)
    #expect(try origin.api("DELETE", "\(Self.online)/schedules/\(id)").status == 200)
    #expect(
      try origin.api("GET", "\(Self.online)/schedules/\(id)/request").json["code"]?.string == "schedule-over")
  }

  @Test func onlyMissingSignaturesMayWait() throws {
    let origin = try opened()
    // Nobody's signature, another content, a dry run: as without the member.
    #expect(try publish(origin, signers: []).json["code"]?.string == "unsigned")
    let other = try statement(["a.js": "three"], serial: 2, signers: [0], origin)
    #expect(try publish(origin, members: ["statements": [other]]).json["code"]?.string == "unsigned")
    #expect(
      try publish(origin, signers: [0], members: ["awaitSignatures": false]).json["code"]?.string
        == "unsigned")
    let trial = try publish(origin, signers: [0], members: ["dryRun": true])
    #expect(trial.status == 200 && trial.json["unsigned"]?.array?.count == 1, "\(trial.text)")
    // With both there is nothing to wait for.
    #expect(try publish(origin, signers: [0, 1]).status == 201)
    #expect(try version(origin) == "3")
    #expect(try origin.api("GET", "\(Self.online)/schedules").json["schedules"]?.array?.isEmpty == true)
  }

  @Test func signatureOfAnotherStatementIsRefused() throws {
    let origin = try opened()
    let id = try id(try publish(origin))
    #expect(try sign(origin, id, signers: [1], files: Self.old).json["code"]?.string == "not-awaited")
    #expect(try sign(origin, 99, signers: [1]).json["code"]?.string == "unknown-schedule")
    #expect(
      try origin.api("POST", "\(Self.online)/schedules/\(id)/statements", ["statements": []]).status == 400)
    let reader = try origin.api("POST", "tokens", ["name": "r", "scope": "read"]).json["token"]?.string
    let body: JSONValue = ["statements": [try statement(Self.new, serial: 2, signers: [1], origin)]]
    let refused = try origin.api(
      "POST", "\(Self.online)/schedules/\(id)/statements", body, token: reader ?? "")
    #expect(refused.status == 403)
  }

  @Test func timeCountsOnceItIsSigned() throws {
    let origin = try opened()
    let due = clock.withLock { $0 } + 3_600_000
    let first = try id(try publish(origin, members: ["schedule": .string(Timestamp.text(due))]))
    #expect(try sign(origin, first, signers: [1]).json["due"]?.string == Timestamp.text(due))
    run(origin)
    #expect(try version(origin) == "2")
    clock.withLock { $0 = due + 1 }
    run(origin)
    #expect(try version(origin) == "3")
    // Signed after its time, it is carried out at once.
    let next = ["a.js": "three"]
    let late = clock.withLock { $0 } + 3_600_000
    let second = try id(try publish(origin, next, members: ["schedule": .string(Timestamp.text(late))]))
    clock.withLock { $0 = late + 3 * 86_400_000 }
    run(origin)
    #expect(try show(origin, second)["state"]?.string == "waiting")
    #expect(try sign(origin, second, signers: [1], files: next).status == 200)
    run(origin)
    #expect(try version(origin) == "4")
  }

  @Test func releaseThatNobodySignsIsMissed() throws {
    let origin = try opened()
    let id = try id(try publish(origin))
    clock.withLock { $0 += ScheduleLimits.awaitingSignatures - 60_000 }
    run(origin)
    #expect(try show(origin, id)["state"]?.string == "waiting")
    clock.withLock { $0 += 61_000 }
    run(origin)
    let ended = try show(origin, id)
    #expect(ended["state"]?.string == "missed" && ended["code"]?.string == "unsigned", "\(ended)")
    #expect(try sign(origin, id, signers: [1]).json["code"]?.string == "schedule-over")
    #expect(try version(origin) == "2")
  }

  @Test func lastSignatureIsRefusedWhereTheReleaseWouldBe() throws {
    let origin = try opened()
    let first = try id(try publish(origin))
    #expect(try origin.api("POST", "\(Self.online)/freeze", ["reason": "the sale"]).status == 200)
    #expect(try sign(origin, first, signers: [1]).json["code"]?.string == "frozen")
    // It goes on waiting, without that signature.
    #expect(try show(origin, first)["signatures"]?.array?.first?["keys"]?.array?.count == 1)
    #expect(try origin.api("POST", "\(Self.online)/thaw", [:]).status == 200)
    #expect(try sign(origin, first, signers: [1]).status == 200)
    run(origin)
    #expect(try version(origin) == "3")
    // Of a token that is revoked meanwhile.
    let token = try origin.api("POST", "tokens", ["name": "ci", "scope": "publish"]).json["token"]?.string
    let files = ["a.js": "three"]
    var body = try origin.release(files).object ?? JSONObject()
    body["statements"] = [try statement(files, serial: 2, signers: [0], origin)]
    body["awaitSignatures"] = true
    let second = try id(
      try origin.api("POST", "\(Self.online)/releases", .object(body), token: token ?? ""))
    #expect(try origin.api("DELETE", "tokens/ci").status < 300)
    #expect(try sign(origin, second, signers: [1], files: files).json["code"]?.string == "author-ended")
    #expect(try show(origin, second)["state"]?.string == "waiting")
  }

  @Test func whatNobodyCanCompleteSaysSo() throws {
    let origin = try opened()
    let id = try id(try publish(origin))
    #expect(try show(origin, id)["signatures"]?.array?.first?["problem"] == nil)
    let raised = ["a.js": "fixed"]
    var body = try origin.release(raised).object ?? JSONObject()
    var signed = try Signed(
      ReleaseStatement(
        app: AppName("shop"), bundle: BundleName("main"), channels: [.online],
        content: origin.content(raised),
        serial: try #require(Serial(9)), floor: try #require(Serial(9))))
    for key in keys.prefix(2) { signed = try signed.signed(by: key) }
    body["statements"] = [signed.envelope.json]
    #expect(try origin.api("POST", "\(Self.online)/releases", .object(body)).status == 201)
    #expect(
      try show(origin, id)["signatures"]?.array?.first?["problem"]?.string == "release-floor")
  }

  @Test func signaturesOfNobodyAreNotKept() throws {
    let origin = try opened()
    var signed: Signed<ReleaseStatement> = try Signed(
      json: try statement(Self.new, serial: 2, signers: [0], origin))
    for _ in 0..<15 { signed = try signed.signed(by: P256PrivateKey()) }
    let id = try id(try publish(origin, members: ["statements": [signed.envelope.json]]))
    let envelope = try show(origin, id)["signatures"]?.array?.first?["envelope"]
    #expect(envelope?["signatures"]?.array?.count == 1)
    #expect(try sign(origin, id, signers: [1]).status == 200)
  }

  @Test func damagedStatementCanBeTakenBack() throws {
    let origin = try opened()
    let id = try id(try publish(origin))
    try origin.store.connections.writing { (db) throws(StoreError) in
      try db.run("UPDATE scheduled_statement SET envelope = replace(envelope, 'payloadType', 'payloadTypf')")
    }
    #expect(try show(origin, id)["code"]?.string == "damaged")
    #expect(try sign(origin, id, signers: [1]).json["code"]?.string == "schedule-damaged")
    run(origin)
    #expect(try version(origin) == "2")
    #expect(try origin.api("GET", Self.online).status == 200)
    #expect(try origin.api("DELETE", "\(Self.online)/schedules/\(id)").status == 200)
  }

  @Test func bytesAreKeptUntilItIsSigned() throws {
    let origin = try opened()
    let id = try id(try publish(origin))
    clock.withLock { $0 += 3 * 86_400_000 }
    _ = try origin.store.collect()
    #expect(try sign(origin, id, signers: [1]).status == 200)
    run(origin)
    #expect(try show(origin, id)["state"]?.string == "done")
  }
}
