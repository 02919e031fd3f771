import Dispatch
import HTTP
import Manifests
import Store
import System
import Testing
import TestSupport
import Values

@testable import Origin

/// One random life of a protected channel, and the model of it.
final class ApprovalLife {
  private typealias Caller = ApprovalModel.Caller

  private var random: SplitMix
  private var model: ApprovalModel
  private let clock: Locked<Int64>
  private var origin: TestOrigin
  /// The same origin on another event loop.
  private var other: TestOrigin
  /// The texts of tokens, by their ids.
  private var texts: [String: String] = [:]
  /// The tokens of CI, which last.
  private var tokens: [String: String] = [:]
  private var counter = 0
  /// Bundles that were released at once, and the first one.
  private var direct: Set<String> = ["main"]
  /// How often something that never waits was done.
  private var restrictions = 0

  private static let online = "apps/shop/channels/online"
  private static let people = ["ana", "bob", "carol"]

  init(seed: UInt64) throws {
    random = SplitMix(seed: seed)
    model = ApprovalModel(now: 1_796_000_000_000)
    let clock = Locked<Int64>(model.now)
    self.clock = clock
    origin = try TestOrigin(clock: { clock.withLock { $0 } })
    other = try origin.onAnotherLoop()
    #expect(try origin.publish(["main.js": "main"]).status == 201)
    let issuer = "https://token.actions.githubusercontent.com"
    _ = try origin.store.addIdentity(
      JobIdentity(
        name: "ci", issuer: issuer, subject: try #require(SubjectPattern("repo:acme/shop")),
        audience: "https://origin", scope: .publish), by: .local)
    try protect(1)
  }

  // MARK: - Who asks

  private func caller(mayBeJob: Bool = true) throws -> Caller {
    switch random.below(mayBeJob ? 7 : 6) {
    case 0..<4: return try session(Self.people[random.below(Self.people.count)])
    case 4, 5: return try token(random.below(2) == 0 ? "build" : "deploy")
    default: return try job()
    }
  }

  /// A new session of a person.
  private func session(_ name: String) throws -> Caller {
    let secret = TokenSecret()
    let token = try origin.store.createSession(
      name: "\(name)@acme.com", hash: secret.hash,
      grants: [Grant(.publish, app: nil, channel: nil, bundles: nil)],
      identity: SignedInIdentity(issuer: "https://id.acme.com", subject: name),
      expiresAt: model.now + ApprovalModel.day / 2, by: .local)
    texts[token.id] = secret.text(id: token.id)
    return Caller(key: name, token: token.id)
  }

  /// A token that lasts; a new one if it was revoked, which counts as the same person's.
  private func token(_ name: String) throws -> Caller {
    if let id = tokens[name] { return Caller(key: "token \(name)", token: id) }
    let made = try origin.store.createToken(name: name, scope: .publish)
    (tokens[name], texts[made.token.id]) = (made.token.id, made.text)
    return Caller(key: "token \(name)", token: made.token.id)
  }

  private func job() throws -> Caller {
    counter += 1
    let secret = TokenSecret()
    let token = try origin.store.trade(
      TradedToken(
        jwt: SHA256.of(Array("\(counter)".utf8)), secretHash: secret.hash, run: "\(counter)",
        subject: "repo:acme/shop", issuer: "https://token.actions.githubusercontent.com",
        jwtExpiresAt: model.now + 600_000, expiresAt: model.now + 900_000), for: "ci", by: .local)
    texts[token.id] = secret.text(id: token.id)
    return Caller(key: "job", token: token.id, isJob: true)
  }

  // MARK: - What is done

  func act() throws {
    switch random.below(20) {
    case 0..<5: try ask()
    case 5..<10: try approve()
    case 10: try reject()
    case 11: try cancel()
    case 12: try protect(random.below(3))
    case 13, 14: try pass()
    case 15: try restrict()
    case 16: try revoke()
    case 17: try kill()
    case 18: try race()
    default: run()
    }
  }

  /// Sends a request once or several times, as after lost answers, by way of both loops, and perhaps after a kill.
  private func send(_ method: String, _ path: String, _ body: JSONValue?, _ text: String) throws
    -> TestOrigin.Reply
  {
    counter += 1
    let lines = ["Authorization: Bearer \(text)", "Idempotency-Key: approvals-of-seed-\(counter)"]
    func once() throws -> TestOrigin.Reply {
      try (random.below(2) == 0 ? origin : other).ask(
        method, "/api/v1/\(path)", lines, body: body?.canonical)
    }
    let first = try once()
    for _ in 0..<random.below(3) {
      if random.below(8) == 0 { try kill() }
      let again = try once()
      #expect(again.status == first.status, "\(first.text) then \(again.text)")
      if first.status < 300 { #expect(again.body == first.body) }
    }
    return first
  }

  private func text(_ caller: Caller) throws -> String { try #require(texts[caller.token]) }

  private func ask() throws {
    let author = try caller()
    counter += 1
    let bundle = "b\(counter)"
    var body =
      try origin.release(["\(bundle).js": "bytes of \(bundle)"], bundle: bundle).object ?? JSONObject()
    var due = model.now
    if random.below(3) == 0 {
      due += Int64(1 + random.below(72)) * 3_600_000
      body["schedule"] = .string(Timestamp.text(due))
    }
    let reply = try send("POST", "\(Self.online)/releases", .object(body), try text(author))
    if model.takes == 0, due == model.now {
      #expect(reply.status == 201, "\(reply.text)")
      direct.insert(bundle)
      return
    }
    #expect(reply.status == 202, "\(reply.text)")
    let id = try #require(reply.json["scheduled"]?["id"]?.integer)
    #expect(model.acts[id] == nil)
    model.ask(id, by: author, bundle: bundle, due: due)
  }

  /// Mostly one that waits.
  private func someAct() -> Int64? {
    let waiting = model.acts.filter { $0.value.state == .waiting }.keys.sorted()
    let from = waiting.isEmpty || random.below(6) == 0 ? model.acts.keys.sorted() : waiting
    return from.isEmpty ? nil : from[random.below(from.count)]
  }

  private func expect(_ reply: TestOrigin.Reply, _ refusal: String?) {
    #expect((200...299).contains(reply.status) == (refusal == nil), "\(refusal ?? "taken"): \(reply.text)")
    #expect((reply.status >= 400 ? reply.json["code"]?.string : nil) == refusal, "\(reply.text)")
  }

  private func approve() throws {
    guard let id = someAct() else { return }
    let caller = try caller()
    let reply = try send("POST", "\(Self.online)/schedules/\(id)/approve", [:], try text(caller))
    expect(reply, model.approve(id, by: caller))
  }

  private func reject() throws {
    guard let id = someAct() else { return }
    let caller = try caller()
    let reply = try send(
      "POST", "\(Self.online)/schedules/\(id)/reject", ["message": "no"], try text(caller))
    expect(reply, model.reject(id, by: caller))
  }

  private func cancel() throws {
    guard let id = someAct() else { return }
    expect(
      try send("DELETE", "\(Self.online)/schedules/\(id)", nil, origin.token), model.cancel(id))
  }

  private func protect(_ takes: Int) throws {
    let reply = try send(
      "POST", "\(Self.online)/protect", ["approvals": .integer(takes)], origin.token)
    #expect(reply.status == 200, "\(reply.text)")
    model.protect(takes)
  }

  private func pass() throws {
    let hours = [1, 5, 23, 30, 24 * 12, 24 * 31][random.below(6)]
    model.now += Int64(hours) * 3_600_000
    clock.withLock { $0 = model.now }
  }

  /// What never waits.
  private func restrict() throws {
    counter += 1
    let body: JSONValue =
      random.below(2) == 0
      ? ["act": "kill", "message": .string("\(counter)")]
      : ["act": "bypass-add", "pattern": .string("https://m.example.com/\(counter)/*")]
    let reply = try send("POST", "\(Self.online)/policy", body, try text(try caller(mayBeJob: false)))
    #expect(reply.status == 201 || reply.status == 200, "\(reply.text)")
    if reply.status == 201 { restrictions += 1 }
  }

  private func revoke() throws {
    let used = texts.keys.filter { !model.revoked.contains($0) }.sorted()
    guard !used.isEmpty else { return }
    let id = used[random.below(used.count)]
    _ = try origin.store.revokeToken(id)
    model.revoked.insert(id)
    tokens = tokens.filter { $0.value != id }
  }

  private func kill() throws {
    let clock = clock
    origin = try origin.killed(clock: { clock.withLock { $0 } })
    other = try origin.onAnotherLoop()
  }

  private func run() {
    ScheduleService(api: origin.origin.api) { _ in }.run()
    model.run()
  }

  /// An approval, a rejection, a cancellation and two executions at once: one of them is first, and what the others find is whole.
  private func race() throws {
    guard let id = someAct(), model.acts[id]?.state == .waiting else { return }
    run()
    guard model.acts[id]?.state == .waiting else { return }
    let path = "\(Self.online)/schedules/\(id)"
    let (ana, bob) = (try session("ana"), try session("bob"))
    let (anas, bobs, admin) = (try text(ana), try text(bob), origin.token)
    let third = try origin.onAnotherLoop()
    // Each loop is one iteration's.
    nonisolated(unsafe) let (one, two, three) = (origin, other, third)
    let replies = Locked<[Int: Int]>([:])
    DispatchQueue.concurrentPerform(iterations: 5) { index in
      do {
        switch index {
        case 0:
          let reply = try one.api("POST", "\(path)/approve", [:], token: anas)
          replies.withLock { $0[index] = reply.status }
        case 1:
          let reply = try two.api("POST", "\(path)/reject", ["message": "no"], token: bobs)
          replies.withLock { $0[index] = reply.status }
        case 2:
          let reply = try three.api("DELETE", path, token: admin)
          replies.withLock { $0[index] = reply.status }
        default: ScheduleService(api: one.origin.api) { _ in }.run()
        }
      } catch {
        Issue.record("\(error)")
      }
    }
    let show = try origin.api("GET", path).json
    let state = try #require(show["state"]?.string.flatMap { ApprovalModel.State(rawValue: $0) })
    let statuses = replies.withLock { $0 }
    // One of the two that end it has, or it was carried out, or failed, before: with the approval, which then was taken.
    let ends = [1, 2].count { statuses[$0] == 200 }
    #expect(ends == (state == .cancelled ? 1 : 0), "\(statuses) \(show)")
    if statuses[0] == 200 { _ = model.approve(id, by: ana) }
    if state == .cancelled {
      model.acts[id]?.state = .cancelled
    } else {
      #expect(statuses[0] == 200, "\(statuses) \(show)")
      model.run()
      #expect(model.acts[id]?.state == state, "\(show)")
    }
  }

  // MARK: - What has to be true

  func check(_ place: String) throws {
    let store = origin.store
    let held = Set(try store.bundles(of: store.channel(AppName("shop"), .online)).map(\.name.text))
    var made = direct
    for (id, act) in model.acts {
      let show = try origin.api("GET", "\(Self.online)/schedules/\(id)").json
      #expect(show["state"]?.string == act.state.rawValue, "\(place): \(show), modelled as \(act)")
      if act.state == .done { made.insert(act.bundle) }
      if act.state == .waiting {
        let missing = show["approvals"]?["missing"]?.integer ?? 0
        #expect((missing == 0) == model.isReady(act), "\(place): \(show), modelled as \(act)")
      }
    }
    #expect(held == made, "\(place)")
    // None twice, whatever the channel holds.
    let rows = try store.auditRows(after: 0, limit: 10_000)
    #expect(rows.count { $0.act == "publish" } == made.count, "\(place)")
    #expect(rows.count { ["policy.kill", "policy.bypass"].contains($0.act) } == restrictions, "\(place)")
  }

  /// All that still waits is approved, and carried out.
  func finish() throws {
    run()
    try protect(1)
    for id in model.acts.keys.sorted() where model.acts[id]?.state == .waiting {
      for name in Self.people {
        let person = try session(name)
        let reply = try send("POST", "\(Self.online)/schedules/\(id)/approve", [:], try text(person))
        expect(reply, model.approve(id, by: person))
      }
    }
    try kill()
    for _ in 0..<4 {
      model.now += 20 * 3_600_000
      clock.withLock { $0 = model.now }
      run()
    }
  }
}
