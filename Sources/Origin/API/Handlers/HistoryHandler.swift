import HTTP
import Manifests
import OriginAPI
import Store
import System

/// What a channel held and holds: `/apps/{app}/channels/{channel}/log | diff | manifest | releases/{version} |
/// bundles/{bundle}/entries`.
struct HistoryHandler: APIHandler {
  let context: RequestContext

  /// `GET …/log`
  func log() throws -> Response {
    let channel = try context.channel()
    let limit = try request.number("limit", in: 1...1000) ?? 50
    var before = try request.version("before")
    if let name = try request.versionName("at") {
      before = ManifestVersion(try store.version(name, of: channel).number + 1)
    }
    let releases = try store.log(channel, limit: limit, before: before)
    return .json(["releases": .array(releases.map(\.json))])
  }

  /// `GET …/diff?from=A&to=B`
  func diff() throws -> Response {
    let channel = try context.channel()
    guard let older = try request.versionName("from"), let newer = try request.versionName("to") else {
      throw Problem.badRequest("a diff is between two versions: from=A&to=B")
    }
    let from = try store.version(older, of: channel)
    let to = try store.version(newer, of: channel)
    let changes = try store.diff(channel, from: from, to: to)
    let transfers = try DiffTransfers(changes, channel, from: from, DerivedFacts(store: store))
    var lists: [String: [JSONValue]] = ["added": [], "changed": [], "removed": []]
    for change in changes {
      switch (change.was, change.now) {
      case (nil, let now?):
        lists["added", default: []].append(now.json(of: change.url, transfers.members(of: now)))
      case (let was?, nil): lists["removed", default: []].append(was.json(of: change.url))
      case (let was?, let now?):
        lists["changed", default: []].append(
          now.json(of: change.url, [.init(key: "was", value: was.json)] + transfers.members(of: now)))
      case (nil, nil): break
      }
    }
    var document = JSONObject()
    for (key, list) in lists { document[key] = .array(list) }
    document["cost"] = transfers.cost.json
    document["from"] = .string(from.text)
    document["to"] = .string(to.text)
    return .json(.object(document))
  }

  /// `GET …/manifest`: the canonical resourcemap of a version, byte for byte as devices got it.
  func manifest() throws -> Response {
    let channel = try context.channel()
    let version = try store.version(
      try request.versionName("version") ?? .number(channel.version), of: channel)
    let entries = try store.manifest(channel, at: version)
    let map = ManifestMap(sorted: entries.lazy.map { (Array($0.url.text.utf8), $0.entry.canonicalJSON) })
    var bytes: [UInt8] = []
    map.forEachPart { bytes += $0 }
    return .json(rendered: bytes, with: ("X-Xcache-Version", version.text))
  }

  /// `GET …/releases/{version}`: one release: what the log says of it.
  func release() throws -> Response {
    let channel = try context.channel()
    let name = try VersionName.read(request.path[5], in: "")
    let version = try store.version(name, of: channel)
    let release = try store.release(version, of: channel)
    return .json(release.json)
  }

  /// `GET …/bundles/{bundle}/entries`
  func entries() throws -> Response {
    let channel = try context.channel()
    let bundle = try BundleName(request.path[5])
    let since = try request.version("since")
    let held = try store.entries(of: bundle, in: channel, since: since)
    let entries = JSONObject(held.entries.map { .init(key: $0.url.text, value: $0.content?.json ?? .null) })
    return .json([
      "base": held.base.map { .string($0.text) } ?? .null, "bundle": .string(bundle.text),
      "channelVersion": .string(held.channelVersion.text), "entries": .object(entries),
      "version": .string(held.version.text),
    ])
  }
}

extension ResourceContent {
  fileprivate func json(of url: ResourceURL, _ more: [JSONObject.Member] = []) -> JSONValue {
    var object = json.object ?? JSONObject()
    object["url"] = .string(url.text)
    for member in more { object[member.key] = member.value }
    return .object(object)
  }
}

extension ReleaseRecord {
  fileprivate var json: JSONValue {
    [
      "breakGlass": details.brokenGlass.map {
        ["frozenBy": .string($0.frozenBy), "reason": .string($0.reason)]
      }
        ?? .null, "source": details.source?.json ?? .null,
      "added": .integer(counts.added), "at": .string(Timestamp.text(at)), "author": .string(author),
      "bundles": .array(
        bundles.map {
          [
            "added": .integer($0.counts.added), "bundle": .string($0.name.text),
            "changed": .integer($0.counts.changed), "removed": .integer($0.counts.removed),
          ]
        }),
      "bytes": .integer(bytes), "changed": .integer(counts.changed), "digest": .string(digest.hex),
      "kind": .string(kind.rawValue), "message": .string(message), "newBytes": .integer(newBytes),
      "removed": .integer(counts.removed), "resources": .integer(resources), "version": .string(version.text),
    ]
  }
}

extension ReleaseDetails.Source {
  fileprivate var json: JSONValue {
    [
      "bundle": bundle.map { .string($0.text) } ?? .null, "channel": .string(channel.text),
      "version": .string(version.text),
    ]
  }
}
