import Compression
import HTTP
import Manifests
import OriginAPI
import Store

/// `POST /apps/{app}/channels/{channel}/rollback`.
struct RollbackHandler: APIHandler {
  let context: RequestContext

  private var desk: ReleaseDesk { context.api.releases }

  func rollback(_ document: JSONValue) throws -> Response {
    let names = try context.names
    let request = try parse(document, names)
    if let bundle = request.bundle, !request.withPrefetch {
      try caller.check(bundle: bundle)
    } else {
      // The prefetch config is the whole channel's, too.
      try caller.checkReachesAllBundles()
    }
    let waits = !request.dryRun && document["now"]?.bool != true
    // Where too many wait already, devices take the files whole: a rollback doesn't stand in a queue.
    let hasDeltas = waits ? try desk.awaitDeltas(request) ?? false : false
    return try context.answering {
      Self.answer($0, request, hasDeltas)
    } to: { (record) in
      try desk.rollback(request, by: caller, record: record)
    }
  }

  private static func answer(_ outcome: RollbackOutcome, _ request: RollbackInput, _ hasDeltas: Bool)
    -> APIAnswer
  {
    var answer = outcome.release.document
    answer["deltasStored"] = .bool(hasDeltas)
    answer["prefetch"] = outcome.release.prefetch?.json ?? .null
    answer["takesBack"] = .array(outcome.bundles.map(\.json))
    answer["target"] = .string(outcome.target.text)
    if request.dryRun {
      let patch = outcome.patch
      answer["patch"] = .object(patch)
      answer["cost"] = outcome.cost(patch)
    }
    return APIAnswer(.object(answer), outcome.release.changed && !request.dryRun ? .created : .ok)
  }

  private func parse(_ document: JSONValue, _ names: ChannelNames) throws -> RollbackInput {
    let bundle = try document.name("bundle") { (text) throws(NameError) in try BundleName(text) }
    // Whoever forgets to name the bundle must not take the whole channel back.
    guard (bundle != nil) != (document["allBundles"]?.bool == true) else {
      throw Problem.badRequest("a rollback is of one \"bundle\", or of \"allBundles\"")
    }
    var request = RollbackInput(
      app: names.app, channel: names.channel, bundle: bundle, to: try Self.target(document),
      by: actor, message: try ReleaseHandler.message(document),
      ifVersion: try document.ifVersion(names, desk.store),
      breakGlass: try ReleaseHandler.breakGlass(document),
      dryRun: document["dryRun"]?.bool ?? false)
    request.withPrefetch = document["withPrefetch"]?.bool ?? false
    return request
  }

  private static func target(_ document: JSONValue) throws -> RollbackInput.Target {
    switch (document["to"]?.string, document["steps"]?.integer) {
    case (let text?, nil):
      return .version(try VersionName.read(text, in: "\"to\" "))
    case (nil, let steps?) where (1...1_000_000).contains(steps): return .steps(Int(steps))
    default:
      throw Problem.badRequest("a rollback goes \"to\" a version, or so many \"steps\" back: 1 or more")
    }
  }
}

extension PrefetchOutcome {
  /// What an answer says of a prefetch config that came along.
  var json: JSONValue {
    [
      "changed": .bool(changed), "kept": .bool(isKept), "source": .string(String(source)),
      "version": .string(String(version)),
    ]
  }
}

extension RollbackOutcome {
  /// What a device on the newest version would be sent (RFC 7396).
  fileprivate var patch: JSONObject {
    JSONObject(release.changes.map { .init(key: $0.url.text, value: $0.entry?.json ?? .null) })
  }

  /// What that costs: the patch, and the files which come back. A device that still has one doesn't fetch it.
  fileprivate func cost(_ patch: JSONObject) -> JSONValue {
    let bytes = JSONValue.object(patch).canonical
    return [
      "fileBytes": .integer(release.newBytes),
      "files": .integer(release.counts.added + release.counts.changed),
      "patchBytes": .integer(bytes.count), "patchGzipBytes": .integer(Gzip.encode([bytes]).count),
    ]
  }
}

extension RollbackOutcome.Bundle {
  fileprivate var json: JSONValue {
    [
      "added": .integer(counts.added), "bundle": .string(name.text), "changed": .integer(counts.changed),
      "releases": .array(takenBack.map(\.json)), "removed": .integer(counts.removed),
    ]
  }
}
