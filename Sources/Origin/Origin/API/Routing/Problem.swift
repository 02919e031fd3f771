import HTTP
import Manifests
import OriginAPI
import Store
import Trust
import Values

extension Problem {
  static let mediaType = "application/problem+json"

  init(_ status: Status, _ code: String, _ detail: String, _ members: [JSONObject.Member] = []) {
    self.init(
      status: Int(status.code), title: "\(status.reason)", code: code, detail: detail,
      members: JSONObject(members))
  }

  var response: Response {
    var fields = HeadFields([
      ("Content-Type", Self.mediaType), ("Cache-Control", "no-store"),
      ("Accept-Encoding", RequestCoding.accepted),
    ])
    if status == 401 { fields.add("WWW-Authenticate", "Bearer") }
    if let allow { fields.add("Allow", allow) }
    if let retryAfter { fields.add("Retry-After", String(retryAfter)) }
    return Response(Status(UInt16(clamping: status)), fields, .bytes(SharedBytes(document.canonical)))
  }

  static func badRequest(_ detail: String) -> Problem { Problem(.badRequest, "bad-request", detail) }
  static var notFound: Problem { Problem(.notFound, "not-found", "the API has no such path") }
  static var noToken: Problem {
    Problem(.unauthorized, "token", "the request has no token; send Authorization: Bearer TOKEN")
  }
  static func tooLarge(limit: UInt64) -> Problem {
    Problem(.contentTooLarge, "too-large", "the body is larger than the \(limit) bytes that this path takes")
  }
  static var unknownCoding: Problem {
    Problem(
      .unsupportedMediaType, "content-coding",
      "the API doesn't support the body's Content-Encoding; send it uncompressed, or as one of \(RequestCoding.accepted)"
    )
  }
  static var documentsInFlight: Problem {
    var problem = Problem(
      .serviceUnavailable, "busy", "other large documents are being received; try again in a few seconds")
    problem.retryAfter = 2
    return problem
  }
  static var documentTooSlow: Problem {
    Problem(
      .requestTimeout, "too-slow",
      "the document had not arrived after \(BodyBudget.longest / 60_000_000_000) minutes; send it over a faster connection"
    )
  }
  static var lengthRequired: Problem {
    Problem(.lengthRequired, "length", "the request needs a body; send Content-Length")
  }
  /// What the API changes has no entity tag, so no condition on it is known to hold; then the method must not be performed
  /// (RFC 9110 §13.1.1).
  static var unknownCondition: Problem {
    Problem(
      .preconditionFailed, "condition",
      "entity tags aren't supported here; send the request without If-Match and If-None-Match")
  }
  /// Refuses a setting by which devices send no reports: where shared caches take the polls, nothing else tells which versions are in
  /// use.
  static var reportsNeeded: Problem {
    Problem(
      .conflict, "reports-needed",
      "with 0 no device would be counted: shared caches take this origin's polls (serve --edge-ttl), so usage reports alone tell "
        + "which versions are in use; send a share of them, such as 1 %")
  }
  static func methodNotAllowed(_ allow: String) -> Problem {
    var problem = Problem(.methodNotAllowed, "method", "this path supports only \(allow)")
    problem.allow = allow
    return problem
  }
}

extension Problem {
  /// The problem that the API reports for any error thrown by a handler.
  init(_ error: any Error) {
    switch error {
    case let problem as Problem: self = problem
    case let error as StoreError: self.init(error)
    case let error as NameError: self.init(error)
    case JSONError.member(let member):
      self = .badRequest(
        member.isEmpty
          ? "the body is not an object" : "\"\(member)\" is missing or has the wrong type")
    case let error as UnknownMember:
      let why = error.name == "dryRun" ? " (this act has no dry run)" : ""
      let name = String(error.name.prefix(64)).debugDescription
      self = .badRequest("\(name) is not a member of this request\(why); nothing was done; leave it out")
    case let error as JSONError: self = .badRequest("the body is not the expected JSON: \(error)")
    default: self.init(.internalServerError, "internal", "\(error)")
    }
  }

  init(_ error: NameError) { self = .badRequest(error.description) }

  /// The problem that the API reports for an error of the store.
  package init(_ error: StoreError) {
    let words = error.description
    switch error {
    case .unknownApp: self.init(.notFound, "unknown-app", words)
    case .unknownChannel: self.init(.notFound, "unknown-channel", words)
    case .unknownBundle: self.init(.notFound, "unknown-bundle", words)
    case .unknownVersion, .noVersion: self.init(.notFound, "unknown-version", words)
    case .unknownMoment: self.init(.notFound, "unknown-version", words)
    case .unknownDocument: self.init(.notFound, "unknown-version", words)
    case .tooManySteps(_, let kept, _):
      self.init(.conflict, "too-many-steps", words, [.init(key: "kept", value: .integer(kept))])
    case .nothingLeft: self.init(.conflict, "nothing-left", words)
    case .unknownSchedule: self.init(.notFound, "unknown-schedule", words)
    case .scheduleOver: self.init(.conflict, "schedule-over", words)
    case .authorEnded: self.init(.conflict, "author-ended", words)
    case .scheduleDamaged: self.init(.conflict, "schedule-damaged", words)
    case .notAwaited: self.init(.conflict, "not-awaited", words)
    case .tooManySchedules: self.init(.conflict, "too-many-schedules", words)
    case .needsApproval(_, _, let required):
      self.init(.conflict, "approval-needed", words, [.init(key: "required", value: .integer(required))])
    case .mayNotApprove(_, .author): self.init(.forbidden, "own-act", words)
    case .mayNotApprove: self.init(.forbidden, "not-approver", words)
    case .approvalNotNeeded: self.init(.conflict, "no-approval-needed", words)
    case .freezeOver: self.init(.badRequest, "bad-request", words)
    case .tooManyFreezes: self.init(.conflict, "too-many-freezes", words)
    case .unknownFreeze: self.init(.notFound, "unknown-freeze", words)
    case .frozen(_, _, let freeze):
      self.init(
        .conflict, "frozen", words, [.init(key: "freeze", value: JSONValue(encoding: freeze))])
    case .noRoot: self.init(.notFound, "no-root", words)
    case .rootRefused(_, let failure, let inForce):
      self.init(
        .conflict, "root-refused", words,
        [
          .init(key: "inForce", value: inForce.map { .integer($0.number) } ?? .null),
          .init(key: "problem", value: .string(failure.rawValue)),
        ])
    case .unsigned(_, let bundles):
      self.init(
        .conflict, "unsigned", words,
        [.init(key: "bundles", value: .array(bundles.map(\.json)))])
    case .unsignedPrefetch(_, _, let failure):
      self.init(.conflict, "unsigned", words, [.init(key: "problem", value: .string(failure.rawValue))])
    case .sharedURLs(_, let shared):
      self.init(
        .conflict, "shared-url", words, [.init(key: "urls", value: .strings(shared.map(\.url.text)))])
    case .floorBesideRollout(_, _, let candidate, _):
      self.init(.conflict, "rollout-floor", words, [.init(key: "candidate", value: .string(candidate.text))])
    case .tooManyBundles: self.init(.conflict, "too-many-bundles", words)
    case .noHeadKey: self.init(.conflict, "no-head-key", words)
    case .channelExists: self.init(.conflict, "channel-exists", words)
    case .channelRemoved: self.init(.conflict, "channel-removed", words)
    case .channelHolds: self.init(.conflict, "channel-holds", words)
    case .rolloutOpen(_, _, let candidate), .haltInstead(_, _, let candidate, _):
      self.init(.conflict, "rollout-open", words, [.init(key: "candidate", value: .string(candidate.text))])
    case .noRollout: self.init(.conflict, "no-rollout", words)
    case .otherRollout(_, _, let open):
      self.init(
        .conflict, "other-rollout", words, [.init(key: "candidate", value: .string(open.candidate.text))])
    case .alarmed(_, _, let candidate, _, _):
      self.init(.conflict, "rollout-alarm", words, [.init(key: "candidate", value: .string(candidate.text))])
    case .otherAudience(let open):
      self.init(
        .conflict, "other-audience", words, [.init(key: "candidate", value: .string(open.candidate.text))])
    case .otherCourse(_, _, let candidate):
      self.init(.conflict, "other-course", words, [.init(key: "candidate", value: .string(candidate.text))])
    case .wholeChannel: self.init(.forbidden, "scope", words)
    case .noCandidate: self.init(.conflict, "no-candidate", words)
    case .rolloutOfFirst: self.init(.conflict, "rollout-of-first", words)
    case .unknownToken: self.init(.notFound, "unknown-token", words)
    case .notPinned: self.init(.notFound, "not-pinned", words)
    case .unknownLease: self.init(.notFound, "unknown-lease", words)
    case .foreignLease: self.init(.forbidden, "not-yours", words)
    case .unknownMirror: self.init(.notFound, "unknown-mirror", words)
    case .foreignMirror: self.init(.forbidden, "not-yours", words)
    case .tooManyLeases: self.init(.conflict, "too-many-leases", words)
    case .leaseTooOld: self.init(.conflict, "lease-too-old", words)
    case .tooManyMirrors: self.init(.conflict, "too-many-mirrors", words)
    case .tooManyActs:
      self.init(.tooManyRequests, "too-many-acts", words)
      retryAfter = 3600
    case .collectionOverdue:
      self.init(.serviceUnavailable, "gc-overdue", words)
      retryAfter = 600
    case .leased: self.init(.conflict, "leased", words)
    case .unknownBase: self.init(.conflict, "unknown-base", words)
    case .appNameTaken: self.init(.conflict, "app-name-taken", words)
    case .tokenNameTaken: self.init(.conflict, "token-name-taken", words)
    case .badRequest: self.init(.badRequest, "bad-request", words)
    case .lostFolder: self.init(.internalServerError, "lost-folder", words)
    case .diskFull: self.init(.insufficientStorage, "disk-full", words)
    case .urlConflicts(let conflicts):
      self.init(
        .conflict, "url-conflict", words,
        [.init(key: "conflicts", value: JSONValue(encoding: conflicts.map(Conflict.init)))])
    case .duplicateURLs(let duplicates):
      self.init(
        .conflict, "duplicate-url", words,
        [.init(key: "duplicates", value: JSONValue(encoding: duplicates.map(Duplicate.init)))])
    case .changedSince(_, _, let release):
      self.init(
        .conflict, "if-version", words,
        [.init(key: "release", value: JSONValue(encoding: release))])
    case .otherVersion: self.init(.conflict, "other-version", words)
    case .missingBlobs(let digests):
      self.init(
        .unprocessableContent, "missing-blobs", words,
        [.init(key: "missing", value: .strings(digests.map(\.hex)))])
    case .purged(let purges):
      self.init(
        .conflict, "purged", words, [.init(key: "sha256", value: .strings(purges.map(\.sha256.hex)))])
    case .notPurged: self.init(.notFound, "not-purged", words)
    case .unseenPlace: self.init(.serviceUnavailable, "not-withdrawn", words)
    case .stillLive: self.init(.conflict, "still-live", words)
    case .unknownContent: self.init(.notFound, "unknown-content", words)
    case .severalContents(_, let contents):
      self.init(
        .conflict, "several-contents", words,
        [.init(key: "sha256", value: .strings(Set(contents.map(\.sha256)).sorted().map(\.hex)))])
    // A status that makes publishers retry.
    case .system(let error) where error.isOutOfDescriptors:
      self.init(.serviceUnavailable, "descriptors", words)
    case .alreadyDone: self.init(.conflict, "already-done", words)
    case .requestKeyReused: self.init(.unprocessableContent, "idempotency-key", words)
    case .unknownProblem: self.init(.notFound, "unknown-problem", words)
    case .tokenEnded: self.init(.unauthorized, "token", words)
    case .noGrants: self.init(.forbidden, "no-role", words)
    case .tooManyGrants: self.init(.forbidden, "too-many-roles", words)
    case .identityNameTaken: self.init(.conflict, "identity-name-taken", words)
    case .unknownIdentity: self.init(.notFound, "unknown-identity", words)
    case .tooManyIdentities: self.init(.conflict, "too-many-identities", words)
    case .foreignIDToken: self.init(.forbidden, "foreign-token", words)
    case .idTokenExpired: self.init(.unauthorized, "token-expired", words)
    case .idTokenReplayed: self.init(.conflict, "token-replayed", words)
    case .unknownWebhook: self.init(.notFound, "unknown-webhook", words)
    case .severalWebhooks(let ids):
      self.init(.conflict, "several-webhooks", words, [.init(key: "ids", value: .strings(ids))])
    case .tooManyWebhooks: self.init(.conflict, "too-many-webhooks", words)
    case .webhookDisabled: self.init(.conflict, "webhook-disabled", words)
    case .tooManyPushes:
      self.init(.serviceUnavailable, "busy", words)
      retryAfter = 5
    case .unpushed: self.init(.serviceUnavailable, "unpushed", words)
    case .notWithdrawn: self.init(.serviceUnavailable, "not-withdrawn", words)
    case .pushFailed: self.init(.serviceUnavailable, "push-failed", words)
    case .foreignHosts(let foreign):
      self.init(
        .unprocessableContent, "foreign-hosts", words,
        [
          .init(key: "count", value: .integer(foreign.count)),
          .init(key: "hosts", value: .strings(foreign.hosts)),
          .init(key: "urls", value: .strings(foreign.first.map(\.text))),
        ])
    case .digestMismatch: self.init(.unprocessableContent, "digest-mismatch", words)
    case .contentMismatch: self.init(.unprocessableContent, "content-mismatch", words)
    default: self.init(.internalServerError, "internal", words)
    }
  }
}

extension Problem.Conflict {
  fileprivate init(_ conflict: URLConflict) {
    self.init(bundle: conflict.bundle.text, sha256: conflict.sha256.hex, url: conflict.url.text)
  }
}

extension Problem.Duplicate {
  fileprivate init(_ duplicate: URLDuplicate) {
    self.init(other: duplicate.other.text, url: duplicate.url.text)
  }
}

extension UnsignedBundle {
  fileprivate var json: JSONValue {
    [
      "bundle": .string(bundle.text), "channel": .string(channel.text), "content": .string(content.hex),
      "problem": .string(problem.rawValue),
    ]
  }
}
