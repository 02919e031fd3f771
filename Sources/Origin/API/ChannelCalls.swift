import HTTP
import Manifests
import Store
import System

/// What may be read of a channel: `/apps/{app}/channels/{channel}…`.
struct ChannelCalls {
  let store: Store
  let deltas: DeltaDesk
  let call: APIRequest
  let caller: AccessToken

  func reply() throws(Problem) -> Response {
    let names = try ChannelNames(call)
    let channel = try APIEndpoint.store { () throws(StoreError) in try store.channel(names.app, names.channel)
    }
    switch (call.path.count, call.path.last) {
    case (4, _): return try overview(channel)
    case (5, "log"): return try log(channel)
    case (5, "diff"): return try diff(channel)
    case (5, "manifest"): return try manifest(channel)
    case (6, let document?) where call.path[4] == "mirror":
      return try MirrorCalls(store: store, call: call, caller: caller).document(document, of: channel)
    case (6, _) where call.path[4] == "releases": return try release(channel)
    case (7, "entries") where call.path[4] == "bundles": return try entries(channel)
    default: throw .notFound
    }
  }

  private func overview(_ channel: ChannelInfo) throws(Problem) -> Response {
    let bundles = try APIEndpoint.store { () throws(StoreError) in try store.bundles(of: channel) }
    let damaged = try APIEndpoint.store { () throws(StoreError) in try store.damagedBlobs() }
    let places = try APIEndpoint.store { () throws(StoreError) in try store.places(of: damaged) }
      .filter { $0.app == channel.app.text && $0.channel == channel.name.text }
    let scrub = try APIEndpoint.store { () throws(StoreError) in try store.scrubState() }
    let origin = try APIEndpoint.store { () throws(StoreError) in try store.originID() }
    let freeze = try APIEndpoint.store { () throws(StoreError) in try store.freeze(of: channel) }
    let state = try APIEndpoint.store { () throws(StoreError) in try store.extras(of: channel) }
    let defaultApp = try APIEndpoint.store { () throws(StoreError) in try store.defaultApp() }
    let overview: JSONValue = [
      "app": .string(channel.app.text), "at": channel.at.map { .string(Timestamp.text($0)) } ?? .null,
      "bundles": .array(
        bundles.map {
          [
            "bytes": .integer($0.bytes), "name": .string($0.name.text), "resources": .integer($0.resources),
            "version": .string($0.version.text),
          ]
        }),
      "bytes": .integer(channel.bytes), "channel": .string(channel.name.text),
      "deltas": deltas.backlog.progress(of: channel.id)?.json ?? .null,
      "damaged": .strings(damaged.map(\.hex)),
      "damagedURLs": .array(
        places.map {
          ["bundle": .string($0.bundle), "sha256": .string($0.sha256.hex), "url": .string($0.url)]
        }),
      "digest": channel.digest.map { .string($0.hex) } ?? .null, "origin": .string(origin),
      "freeze": freeze?.json ?? .null, "isDefaultApp": .bool(defaultApp == channel.app),
      "publicURL": .string(channel.publicURL.text), "resources": .integer(channel.resources),
      "scrub": [
        "bytes": .integer(scrub.bytes), "files": .integer(scrub.files),
        "oldest": scrub.oldest.map { .string(Timestamp.text($0)) } ?? .null,
      ],
      "version": .string(channel.version.text),
    ]
    return APIEndpoint.document(.object(JSONObject((overview.object?.members ?? []) + state.overview)))
  }

  private func log(_ channel: ChannelInfo) throws(Problem) -> Response {
    let limit = try call.number("limit", in: 1...1000) ?? 50
    var before = try call.version("before")
    if let name = try call.versionName("at") {
      before = ManifestVersion(try version(name, of: channel).number + 1)
    }
    let releases = try APIEndpoint.store { () throws(StoreError) in
      try store.log(channel, limit: limit, before: before)
    }
    return APIEndpoint.document(["releases": .array(releases.map(\.json))])
  }

  private func diff(_ channel: ChannelInfo) throws(Problem) -> Response {
    guard let older = try call.versionName("from"), let newer = try call.versionName("to") else {
      throw .badRequest("a diff is between two versions: from=A&to=B")
    }
    let from = try version(older, of: channel)
    let to = try version(newer, of: channel)
    let changes = try APIEndpoint.store { () throws(StoreError) in try store.diff(channel, from: from, to: to)
    }
    let transfers = try APIEndpoint.store { () throws(StoreError) in
      try DiffTransfers(changes, channel, from: from, DerivedFacts(store: store))
    }
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
    return APIEndpoint.document(.object(document))
  }

  private func version(_ name: VersionName, of channel: ChannelInfo) throws(Problem) -> ManifestVersion {
    try APIEndpoint.store { () throws(StoreError) in try store.version(name, of: channel) }
  }

  /// The canonical resourcemap of a version, byte for byte as devices got it.
  private func manifest(_ channel: ChannelInfo) throws(Problem) -> Response {
    let version = try version(try call.versionName("version") ?? .number(channel.version), of: channel)
    let entries = try APIEndpoint.store { () throws(StoreError) in try store.manifest(channel, at: version) }
    let map = ManifestMap(sorted: entries.lazy.map { (Array($0.url.text.utf8), $0.entry.canonicalJSON) })
    var bytes: [UInt8] = []
    map.forEachPart { bytes += $0 }
    let fields = HeadFields([
      ("Content-Type", "application/json"), ("Cache-Control", "no-store"), ("X-Xcache-Version", version.text),
    ])
    return Response(.ok, fields, .bytes(SharedBytes(bytes)))
  }

  /// One release: what the log says of it.
  private func release(_ channel: ChannelInfo) throws(Problem) -> Response {
    let name = try VersionName.read(call.path[5], in: "")
    let version = try version(name, of: channel)
    let release = try APIEndpoint.store { () throws(StoreError) in try store.release(version, of: channel) }
    return APIEndpoint.document(release.json)
  }

  private func entries(_ channel: ChannelInfo) throws(Problem) -> Response {
    let bundle = try ChannelNames.parse(call.path[5]) { (text) throws(NameError) in try BundleName(text) }
    let since = try call.version("since")
    let held = try APIEndpoint.store { () throws(StoreError) in
      try store.entries(of: bundle, in: channel, since: since)
    }
    let entries = JSONObject(held.entries.map { .init(key: $0.url.text, value: $0.content?.json ?? .null) })
    return APIEndpoint.document([
      "base": held.base.map { .string($0.text) } ?? .null, "bundle": .string(bundle.text),
      "channelVersion": .string(held.channelVersion.text), "entries": .object(entries),
      "version": .string(held.version.text),
    ])
  }
}

/// The app and channel that a path names.
struct ChannelNames {
  let app: AppName
  let channel: ChannelName
  /// Where the request comes from, for the audit trail.
  let address: String

  /// Reads `apps/{app}/channels/{channel}`.
  init(_ call: APIRequest) throws(Problem) {
    app = try Self.parse(call.path[1]) { (text) throws(NameError) in try AppName(text) }
    address = call.address
    channel = try Self.parse(call.path[3]) { (text) throws(NameError) in try ChannelName(text) }
  }

  static func parse<Name>(_ text: String, _ read: (String) throws(NameError) -> Name) throws(Problem) -> Name
  {
    do {
      return try read(text)
    } catch {
      throw .badRequest(error.description)
    }
  }

  /// - Throws: 403, naming what the token may do.
  func check(_ token: AccessToken, may scope: TokenScope) throws(Problem) {
    guard !token.allows(scope, app: app, channel: channel) else { return }
    let limits = [token.app.map { "app \($0)" }, token.channel.map { "channel \($0)" }].compactMap { $0 }
    let place = limits.isEmpty ? "" : " in " + limits.joined(separator: ", ")
    throw Problem(
      .forbidden, "scope",
      "token \"\(token.name)\" has the scope \(token.scope.rawValue)\(place); this takes \(scope.rawValue) in "
        + "app \(app), channel \(channel)")
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
