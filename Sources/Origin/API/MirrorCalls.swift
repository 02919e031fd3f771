import HTTP
import Manifests
import Store
import System

/// What `xcache mirror --server` asks: what is to be mirrored, the documents that no device asks an origin for, leases,
/// and who mirrors. The files themselves come over the paths that devices use.
struct MirrorCalls {
  let store: Store
  let call: APIRequest
  let caller: AccessToken

  private var holder: Holder { .token(caller, address: call.address) }

  func reply() throws(Problem) -> Response {
    switch call.path.first {
    case "mirror": return try overview()
    case "mirrors": return call.path.count == 1 ? try mirrors() : try forget(call.path[1])
    default:
      try Self.store { () throws(StoreError) in try store.endLease(call.path[1], by: holder) }
      return APIEndpoint.document(["ended": .string(call.path[1])])
    }
  }

  func reply(_ body: JSONValue) throws(Problem) -> Response {
    if call.path.first == "mirrors" { return try register(body) }
    return call.path.count == 1 ? try takeLease(body) : try renewLease(body)
  }

  private static func store<R: ~Copyable>(_ body: () throws(StoreError) -> R) throws(Problem) -> R {
    try APIEndpoint.store(body)
  }

  // MARK: - What is there

  /// `GET /mirror?channels=online,test&keep=5`: each channel with a release that the token may read; `*` is all of
  /// them. `limits` is what the token is limited to, which tells a channel that is gone from one that isn't shown.
  private func overview() throws(Problem) -> Response {
    let names = Set((call.text("channels") ?? ChannelName.online.text).split(separator: ",").map(String.init))
    let keep = try call.number("keep", in: 0...1000) ?? 5
    var channels: [JSONValue] = []
    for info in try Self.store({ () throws(StoreError) in try store.channels() }) {
      guard names.contains("*") || names.contains(info.name.text), let digest = info.digest,
        caller.allows(.read, app: info.app, channel: info.name)
      else { continue }
      let versions = try Self.store { () throws(StoreError) in try store.keptVersions(of: info, keep: keep) }
      let extras = try Self.store { () throws(StoreError) in try store.answerExtras(of: info) }
      let scripts = try Self.store { () throws(StoreError) in try store.policyScripts(of: info) }
      channels.append([
        "app": .string(info.app.text), "appID": .integer(info.appID), "channel": .string(info.name.text),
        "digest": .string(digest.hex), "interval": extras.interval.map { .integer($0) } ?? .null,
        "policy": extras.policy.map { .integer($0) } ?? .null,
        "prefetch": extras.prefetch.map { .integer($0) } ?? .null, "publicURL": .string(info.publicURL.text),
        "scripts": .strings(scripts.map(\.hex)), "version": .string(info.version.text),
        "versions": .strings(versions.map(\.text)),
      ])
    }
    let origin = try Self.store { () throws(StoreError) in (try store.originID(), try store.defaultApp()) }
    let head = try Self.store { () throws(StoreError) in try store.auditHead() }
    return APIEndpoint.document([
      "audit": .string(head.text), "channels": .array(channels),
      "defaultApp": origin.1.map { .string($0.text) } ?? .null,
      "limits": [
        "app": caller.app.map { .string($0.text) } ?? .null,
        "channel": caller.channel.map { .string($0.text) } ?? .null,
      ],
      "origin": .string(origin.0),
    ])
  }

  /// `GET /apps/{app}/channels/{channel}/mirror/document?kind=…` and `…/resources?from=A&version=N`
  func document(_ name: String, of channel: ChannelInfo) throws(Problem) -> Response {
    let (from, version) = (try call.version("from"), try call.version("version"))
    if name == "resources", let version {
      return try resources(
        Self.store { () throws(StoreError) in
          try store.mirroredResources(of: channel, from: from ?? version, through: version)
        })
    }
    let sha256 = call.text("sha256").flatMap { SHA256(hex: $0) }
    guard name == "document",
      let document = MirrorDocument(
        kind: call.text("kind") ?? "", from: from, version: version, sha256: sha256)
    else { throw .notFound }
    let bytes = try Self.store { () throws(StoreError) in try store.mirrorDocument(document, of: channel) }
    let fields = HeadFields([("Content-Type", "application/json"), ("Cache-Control", "no-store")])
    return Response(.ok, fields, .bytes(SharedBytes(bytes)))
  }

  private func resources(_ resources: [MirroredResource]) throws(Problem) -> Response {
    APIEndpoint.document([
      "resources": .array(
        resources.map {
          [
            "ctype": .string($0.ctype.text), "path": .string($0.path.text), "sha256": .string($0.sha256.hex),
            "size": .integer($0.size),
          ]
        })
    ])
  }

  // MARK: - Leases

  private func takeLease(_ body: JSONValue) throws(Problem) -> Response {
    let seconds = try seconds(body)
    let name = try body.humanText("holder", .line(bytes: 256)) ?? caller.name
    return try call.answering {
      APIAnswer(["id": .string($0.id)], .created)
    } to: { (record) throws(StoreError) in
      try store.takeLease(holder: name, seconds: seconds, by: holder, record: record)
    }
  }

  private func renewLease(_ body: JSONValue) throws(Problem) -> Response {
    let seconds = try seconds(body)
    try Self.store { () throws(StoreError) in
      try store.renewLease(call.path[1], seconds: seconds, by: holder)
    }
    return APIEndpoint.document(["id": .string(call.path[1])])
  }

  private func seconds(_ body: JSONValue) throws(Problem) -> Int {
    guard let seconds = body["seconds"]?.integer, Store.leaseSeconds.contains(Int(seconds)) else {
      let limits = Store.leaseSeconds
      throw .badRequest("\"seconds\" is a number from \(limits.lowerBound) to \(limits.upperBound)")
    }
    return Int(seconds)
  }

  // MARK: - Who mirrors

  private func mirrors() throws(Problem) -> Response {
    let mirrors = try Self.store { () throws(StoreError) in try store.mirrors() }
    return APIEndpoint.document([
      "mirrors": .array(
        mirrors.filter(isShown).map { mirror in
          [
            "at": .string(Timestamp.text(mirror.at)), "keeps": .bool(mirror.isBinding),
            "name": .string(mirror.name),
            "versions": .array(
              mirror.versions.filter { caller.allows(.read, app: $0.app, channel: $0.channel) }.map {
                [
                  "app": .string($0.app.text), "channel": .string($0.channel.text),
                  "version": .string($0.version.text),
                ]
              }),
          ]
        })
    ])
  }

  /// A token is told of its own mirrors and of those of what it may read.
  private func isShown(_ mirror: MirrorRecord) -> Bool {
    caller.isUnlimited || mirror.owner == caller.id
      || mirror.versions.contains { caller.allows(.read, app: $0.app, channel: $0.channel) }
  }

  /// `DELETE /mirrors/{name}`
  private func forget(_ name: String) throws(Problem) -> Response {
    try call.answering {
      APIAnswer(["name": .string(name)])
    } to: { (record: AnswerRecord<Void>?) throws(StoreError) in
      try store.forget(mirror: name, by: holder, record: record)
    }
  }

  /// `POST /mirrors`: what a mirror names since the run that ended now.
  private func register(_ body: JSONValue) throws(Problem) -> Response {
    guard let name = try body.humanText("name", .line(bytes: 1024)), !name.isEmpty else {
      throw .badRequest("\"name\" is where the mirror is, 1 to 1,024 bytes")
    }
    var versions: [MirroredVersion] = []
    for item in body["versions"]?.array ?? [] {
      guard let app = item["app"]?.string.flatMap({ try? AppName($0) }),
        let channel = item["channel"]?.string.flatMap({ try? ChannelName($0) }),
        let version = item["version"]?.string.flatMap({ ManifestVersion(text: $0) }), version > .none
      else { throw .badRequest("\"versions\" is an array of {\"app\",\"channel\",\"version\"}") }
      guard caller.allows(.read, app: app, channel: channel) else {
        throw Problem(
          .forbidden, "scope", "token \"\(caller.name)\" may not read app \(app), channel \(channel)")
      }
      versions.append(MirroredVersion(app: app, channel: channel, version: version))
    }
    return try call.answering {
      APIAnswer(["name": .string(name)])
    } to: { (record: AnswerRecord<Void>?) throws(StoreError) in
      try store.register(mirror: name, versions, by: holder, record: record)
    }
  }
}
