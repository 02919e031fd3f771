import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// How a purge ended.
private struct PurgeEnd: Sendable {
  /// The row of the audit trail.
  let receipt: AuditHead
  /// All URLs of what was removed, also of what was found where files are pushed to.
  let urls: [String]
}

/// `POST /purge` and `/purges…`
struct PurgeHandler: APIHandler {
  let context: RequestContext

  /// How often bytes that are released again meanwhile are taken out.
  private static let rounds = 5

  /// `POST /purge`
  func purge(_ body: PurgeRequest) throws -> Response {
    guard let name = try HumanText.checked(body.content, member: "content", .line(bytes: 16_384)),
      !name.isEmpty
    else {
      throw Problem.badRequest("\"content\" must be a sha256, the URL of a resource, or a download URL")
    }
    let sha256 = try store.content(named: name)
    let plan = try store.purgePlan(sha256)
    let earlier = try store.purges().first { $0.sha256 == sha256 }
    if plan.uses.isEmpty, plan.size == nil, earlier == nil, body.unknown != true {
      throw StoreError.unknownContent(name)
    }
    if body.dryRun == true {
      return Response.json(
        answer(plan, urls: plan.downloads, released: [:], receipt: nil, earlier: earlier))
    }
    guard let reason = try HumanText.checked(body.reason, member: "reason", .line(bytes: 1024)),
      !reason.isEmpty
    else { throw Problem.badRequest("\"reason\" is required, in 1 to 1024 bytes") }
    let breakGlass = try ReleaseHandler.breakGlass(body.breakGlass)
    // Before anything is done: a freeze of one channel must not leave the bytes in it and purged elsewhere.
    for use in plan.uses where use.isLive {
      try store.checkFreeze(of: use.channel, breakGlass: breakGlass)
    }
    // From here on nobody can bring them back, so that the releases below get ahead of all others.
    try store.forbid(sha256, reason: reason, by: actor)
    for _ in 1..<Self.rounds {
      if let response = try attempt(sha256, from: plan, reason, breakGlass, earlier) { return response }
    }
    throw StoreError.stillLive(sha256)
  }

  /// Makes the releases without the bytes, and removes them; returns nil if they were released once more meanwhile.
  private func attempt(
    _ sha256: SHA256, from first: PurgePlan, _ reason: String, _ breakGlass: String?, _ earlier: Purge?
  ) throws -> Response? {
    var released: [Int64: ManifestVersion] = [:]
    // A candidate that alone has the bytes goes first: nothing else takes them from those who have it.
    do {
      for use in try store.purgePlan(sha256).uses where use.isInCandidateOnly {
        released[use.channel.id] = try halt(use, reason)
      }
      for use in try store.purgePlan(sha256).uses where !use.full.isEmpty {
        released[use.channel.id] = try release(without: use, reason, breakGlass)
      }
    } catch let error as StoreError where error.isOvertaken {
      return nil
    }
    let purges = context.api.releases.purges
    let plan = try store.purgePlan(sha256)
    do {
      return try context.answering { [released] (end: PurgeEnd) in
        APIAnswer(
          answer(
            plan, live: first, urls: end.urls, released: released, receipt: end.receipt.text, earlier: earlier
          ))
      } to: { record in
        let receipt = try store.erase(plan, reason: reason, by: actor)
        context.api.releases.builder.forget(plan.uses.map { ($0.channel.id, Set($0.versions)) })
        try purges.withdraw(sha256)
        let found = Set(plan.downloads)
        let urls =
          try plan.downloads + store.purgePlan(sha256).earlier.filter { !found.contains($0) }
        // Only now is an answer kept: before, a retry does the rest.
        return try store.endPurge(sha256, PurgeEnd(receipt: receipt, urls: urls), record: record)
      }
    } catch StoreError.stillLive {
      return nil
    }
  }

  private func halt(_ use: PurgePlan.Use, _ reason: String) throws -> ManifestVersion {
    try context.api.releases.haltRollout(
      (use.channel.app, use.channel.name), use.channel.rollout?.candidate, reason: "purge: \(reason)",
      by: actor,
      caller: caller
    ).version
  }

  private func release(without use: PurgePlan.Use, _ reason: String, _ breakGlass: String?) throws
    -> ManifestVersion
  {
    var input = ReleaseInput(
      app: use.channel.app, channel: use.channel.name, author: actor.name, message: "purge: \(reason)",
      // Of the full version: beside a rollout, what its candidate brought must not reach all devices by this.
      bundles: use.full.map { held in
        BundleChange(held.bundle.name, .update(base: held.bundle.version, set: [:], remove: held.urls))
      })
    input.address = actor.address
    input.breakGlass = breakGlass
    input.ignoresHosts = true
    input.candidatePrefetch = .dropped
    return try context.api.releases.release(input, createsApp: false, by: caller).version
  }

  /// The bundles that have the bytes, in the full version or in a candidate.
  private static func holders(_ use: PurgePlan.Use) -> [String] {
    Set((use.live + use.full).map(\.bundle.name.text)).sorted()
  }

  private func answer(
    _ plan: PurgePlan, live: PurgePlan? = nil, urls: [String], released: [Int64: ManifestVersion],
    receipt: String?,
    earlier: Purge?
  ) -> PurgeAnswer {
    let before = Dictionary(
      (live ?? plan).uses.map { ($0.channel.id, $0) }, uniquingKeysWith: { first, _ in first })
    return PurgeAnswer(
      sha256: plan.sha256, size: plan.size, dryRun: receipt == nil,
      channels: plan.uses.map { use in
        .init(
          app: use.channel.app, channel: use.channel.name, urls: use.urls.map(\.text),
          bundles: before[use.channel.id].map(Self.holders) ?? [],
          release: released[use.channel.id], dropped: use.versions, pinned: use.pinned,
          endedCandidate: before[use.channel.id]?.endedCandidate)
      }, urls: urls, receipt: receipt,
      earlier: plan.uses.isEmpty ? earlier : nil)
  }

  // MARK: - What was purged

  /// `GET /purges`
  func list() throws -> Response {
    let urls = try store.purgedDownloads()
    return .json(
      PurgeList(
        purges: try store.purges().map { purge in
          var purge = purge
          purge.urls = urls[purge.sha256] ?? []
          return purge
        }))
  }

  /// `DELETE /purges/{sha256}`
  func lift() throws -> Response {
    guard let sha256 = SHA256(hex: request.path[1]) else {
      throw Problem.badRequest("the path must end with a sha256, in 64 hexadecimal digits")
    }
    return try context.answering {
      APIAnswer($0)
    } to: { (record) in
      try store.liftPurge(sha256, by: actor, record: record)
    }
  }
}

extension StoreError {
  /// Whether another purge, or another act on the rollout, came between reading where the bytes are and the release without them.
  fileprivate var isOvertaken: Bool {
    switch self {
    case .purged, .unknownBase, .noRollout, .otherRollout: true
    default: false
    }
  }
}
