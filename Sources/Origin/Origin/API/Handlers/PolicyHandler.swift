import HTTP
import Manifests
import OriginAPI
import Store
import System
import Trust
import Values

/// `POST …/policy`: one change to a channel's runtime policy, named by the body's `act`.
struct PolicyHandler: APIHandler {
  let context: RequestContext

  func change(_ body: PolicyRequest) throws -> Response {
    let act = PolicyRequest.Act(rawValue: body.act ?? "")
    let what = [body.name, body.pattern].compactMap(\.self).first.map { " of \($0)" } ?? ""
    // The others are about one part of it, whatever else changes.
    let pins = act == .set || act == .resume
    return try context.makingOrWaiting(
      "policy.\(body.act ?? "")", "policy \(body.act ?? "")\(what)", of: .policy, body, pins: pins,
      obeysFreezes: false
    ) { try PolicyAct(context: context, body: body).reply() }
  }
}

private struct PolicyAct {
  let context: RequestContext
  let body: PolicyRequest

  private var store: Store { context.store }

  /// Changes the current policy.
  private typealias Change = (inout Policy) throws -> Void

  func reply() throws -> Response {
    switch body.act.flatMap(PolicyRequest.Act.init) {
    case .set: return try make(.set, set)
    case .kill:
      let until = try until()
      return try make(.kill) { policy in
        policy.intercept = false
        policy.until = until
      }
    case .resume:
      return try make(.resume) { policy in
        policy.intercept = true
        policy.until = nil
      }
    case .bypassAdd: return try addBypass()
    case .bypassRemove:
      let pattern = try pattern()
      return try make(.bypass) { policy in
        guard policy.bypass.contains(where: { $0.pattern == pattern }) else {
          throw Problem(
            .notFound, "unknown-pattern",
            "\(pattern) isn't bypassed; `xcache policy bypass list` lists what is")
        }
        policy.bypass.removeAll { $0.pattern == pattern }
      }
    case .scriptAdd: return try addScript()
    case .scriptRemove:
      let name = body.name ?? ""
      try checkScripts()
      return try make(.script) { policy in
        guard policy.scripts.contains(where: { $0.name == name }) else {
          throw Problem(.notFound, "unknown-script", "the policy has no script named \"\(name)\"")
        }
        policy.scripts.removeAll { $0.name == name }
      }
    case nil:
      throw Problem.badRequest(
        "\"act\" must be one of set, kill, resume, bypass-add, bypass-remove, script-add and script-remove")
    }
  }

  // MARK: - Acts

  private func set(_ policy: inout Policy) throws {
    guard let document = body.document else { throw Problem.badRequest("\"document\" must be the policy") }
    let now = Instant(milliseconds: Clock.unixMilliseconds())
    let check = PolicyCheck(document, scripts: policy.scripts, now: now)
    guard let next = check.policy else {
      throw Problem(
        .unprocessableContent, "invalid-document",
        check.remarks.map { "\($0.path): \($0.problem.message)" }.joined(separator: "\n"),
        [.init(key: "remarks", value: .array(check.remarks.map(\.json)))])
    }
    if next.scripts != policy.scripts { try checkScripts() }
    try checkSecrets(next.bypass)
    policy = next
  }

  private func addBypass() throws -> Response {
    let entry = Policy.Bypass(try pattern(), until: try until())
    try checkSecrets([entry])
    return try make(.bypass) { policy in
      policy.add(entry)
      guard policy.bypass.count <= Policy.patternLimit else {
        throw Problem.badRequest(
          "a policy has at most \(Policy.patternLimit) patterns; combine some with *")
      }
    }
  }

  /// Refuses patterns with secrets in them: anyone can read the policy.
  private func checkSecrets(_ bypass: [Policy.Bypass]) throws {
    try SecretGate.check(
      Array(bypass.map { "\($0.pattern)" }.joined(separator: "\n").utf8), "the policy's patterns")
  }

  private func addScript() throws -> Response {
    try checkScripts()
    guard let name = body.name, PolicyScript.isName(name) else {
      throw Problem.badRequest(
        "\"name\" must be the script's name: a letter or digit, then letters, digits, ., - and _, 64 at most")
    }
    guard let signature = body.signature, Base64.decode(signature)?.count == 64 else {
      throw Problem.badRequest("\"signature\" must be an Ed25519 signature of the script: 64 bytes in base64")
    }
    guard let bytes = body.bytes.flatMap({ Base64.decode($0) }), !bytes.isEmpty,
      bytes.count <= PolicyScript.limit
    else {
      throw Problem.badRequest("\"bytes\" must be the script in base64: 1 to \(PolicyScript.limit) bytes")
    }
    try SecretGate.check(bytes, "script \(name)")
    let channel = try context.channel()
    if let root = try store.trust(of: channel.app)?.inForce, !root.isOff, let key = root.scriptKey,
      !Ed25519.verifies(Base64.decode(signature) ?? [], of: bytes, by: key)
    {
      throw Problem.badRequest(
        "\"signature\" isn't one of these bytes by the root's key for scripts (scriptKey), so devices wouldn't run the script"
      )
    }
    // Stored before the policy names it: a policy never names bytes that aren't stored.
    let sha256 =
      context.preview == nil
      ? try store.keepScript(bytes, for: channel, by: context.actor) : SHA256.of(bytes)
    let path = PolicyScriptPath.text(channel.name, channel.app, sha256)
    let script = PolicyScript(
      name: name, download: channel.publicURL.text + path, sha256: sha256, signature: signature)
    return try make(.script) { policy in
      policy.add(script)
      guard policy.scripts.count <= Policy.scriptLimit else {
        throw Problem.badRequest("a policy has at most \(Policy.scriptLimit) scripts; remove one first")
      }
    }
  }

  /// Admins only, since scripts run in every page of the app.
  private func checkScripts() throws { try context.caller.check(.admin, in: context.names) }

  private func make(_ kind: DocumentRecord.Kind, _ change: Change) throws -> Response {
    let request = try DocumentRequest(kind, of: .policy, context, body)
    let refusal = Locked<Problem?>(nil)
    return try context.make(request, refusal: { refusal.withLock { $0 } }) {
      (_, newest) throws(StoreError) -> [UInt8]? in
      // Expired entries are removed by the next act, whatever it is.
      var policy = newest?.policy.current(at: Instant(milliseconds: Clock.unixMilliseconds())) ?? .none
      do {
        try change(&policy)
      } catch {
        let problem = Problem(error)
        refusal.withLock { $0 = problem }
        return nil
      }
      let content = JSONValue.object(policy.json).canonical
      return newest == nil && policy == .none ? nil : content
    }
  }

  // MARK: - What an act names

  private func pattern() throws -> MatchPattern {
    guard let text = body.pattern else {
      throw Problem.badRequest("\"pattern\" is required: the pages to bypass")
    }
    do throws(MatchPatternError) {
      return try MatchPattern(text)
    } catch {
      throw Problem.badRequest(error.description)
    }
  }

  private func until() throws -> Instant? {
    guard let text = body.until else { return nil }
    guard let until = Instant(text) else {
      throw Problem.badRequest("\"until\" must be a time like 2026-12-01T00:00:00Z")
    }
    guard until.milliseconds > Clock.unixMilliseconds() else {
      throw Problem.badRequest("\"until\" is \(until), which has passed")
    }
    return until
  }
}
