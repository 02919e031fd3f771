import HTTP
import Manifests
import OriginAPI
import Store
import System

/// What `xcache mirror --server` asks: what is to be mirrored, the documents that no device asks an origin for, leases,
/// and who mirrors. The files themselves come over the paths that devices use.
struct MirrorHandler: APIHandler {
  let context: RequestContext

  private var holder: Holder { .token(caller, address: request.address) }

  // MARK: - What is there

  /// `GET /mirror?channels=online,test&keep=5`: each channel with a release that the token may read; `*` is all of
  /// them. `limits` is what the token is limited to, which tells a channel that is gone from one that isn't shown.
  func overview() throws -> Response {
    let names = Set(
      (request.text("channels") ?? ChannelName.online.text).split(separator: ",").map(String.init))
    let keep = try request.number("keep", in: 0...1000) ?? 5
    var channels: [JSONValue] = []
    for info in try store.channels() {
      guard names.contains("*") || names.contains(info.name.text), let digest = info.digest,
        caller.allows(.read, app: info.app, channel: info.name)
      else { continue }
      let versions = try store.keptVersions(of: info, keep: keep)
      let extras = try store.answerExtras(of: info)
      let scripts = try store.policyScripts(of: info)
      channels.append([
        "app": .string(info.app.text), "appID": .integer(info.appID), "channel": .string(info.name.text),
        "digest": .string(digest.hex), "interval": extras.interval.map { .integer($0) } ?? .null,
        "policy": extras.policy.map { .integer($0) } ?? .null,
        "prefetch": extras.prefetch.map { .integer($0) } ?? .null, "publicURL": .string(info.publicURL.text),
        "scripts": .strings(scripts.map(\.hex)), "version": .string(info.version.text),
        "versions": .strings(versions.map(\.text)),
      ])
    }
    let (origin, defaultApp) = (try store.originID(), try store.defaultApp())
    let head = try store.auditHead()
    return .json([
      "audit": .string(head.text), "channels": .array(channels),
      "defaultApp": defaultApp.map { .string($0.text) } ?? .null,
      "limits": [
        "app": caller.app.map { .string($0.text) } ?? .null,
        "channel": caller.channel.map { .string($0.text) } ?? .null,
      ],
      "origin": .string(origin),
    ])
  }

  /// `GET /apps/{app}/channels/{channel}/mirror/document?kind=…`
  func document() throws -> Response {
    let channel = try context.channel()
    guard
      let document = MirrorDocument(
        kind: request.text("kind") ?? "", from: try request.version("from"),
        version: try request.version("version"), sha256: request.text("sha256").flatMap { SHA256(hex: $0) })
    else { throw Problem.notFound }
    return .json(rendered: try store.mirrorDocument(document, of: channel))
  }

  /// `GET /apps/{app}/channels/{channel}/mirror/resources?from=A&version=N`
  func resources() throws -> Response {
    let channel = try context.channel()
    let from = try request.version("from")
    guard let version = try request.version("version") else { throw Problem.notFound }
    let resources = try store.mirroredResources(of: channel, from: from ?? version, through: version)
    return .json([
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

  /// `POST /leases`
  func takeLease(_ body: JSONValue) throws -> Response {
    let seconds = try seconds(body)
    let name = try body.humanText("holder", .line(bytes: 256)) ?? caller.name
    return try context.answering {
      APIAnswer(["id": .string($0.id)], .created)
    } to: { (record) in
      try store.takeLease(holder: name, seconds: seconds, by: holder, record: record)
    }
  }

  /// `POST /leases/{id}`
  func renewLease(_ body: JSONValue) throws -> Response {
    let seconds = try seconds(body)
    try store.renewLease(request.path[1], seconds: seconds, by: holder)
    return .json(["id": .string(request.path[1])])
  }

  private func seconds(_ body: JSONValue) throws -> Int {
    guard let seconds = body["seconds"]?.integer, Store.leaseSeconds.contains(Int(seconds)) else {
      let limits = Store.leaseSeconds
      throw Problem.badRequest("\"seconds\" is a number from \(limits.lowerBound) to \(limits.upperBound)")
    }
    return Int(seconds)
  }

  /// `DELETE /leases/{id}`
  func endLease() throws -> Response {
    try store.endLease(request.path[1], by: holder)
    return .json(["ended": .string(request.path[1])])
  }

  // MARK: - Who mirrors

  /// `GET /mirrors`
  func mirrors() throws -> Response {
    let mirrors = try store.mirrors()
    return .json([
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
  func forget() throws -> Response {
    let name = request.path[1]
    return try context.answering {
      APIAnswer(["name": .string(name)])
    } to: { (record: AnswerRecord<Void>?) in
      try store.forget(mirror: name, by: holder, record: record)
    }
  }

  /// `POST /mirrors`: what a mirror names since the run that ended now.
  func register(_ body: JSONValue) throws -> Response {
    guard let name = try body.humanText("name", .line(bytes: 1024)), !name.isEmpty else {
      throw Problem.badRequest("\"name\" is where the mirror is, 1 to 1,024 bytes")
    }
    var versions: [MirroredVersion] = []
    for item in body["versions"]?.array ?? [] {
      guard let app = item["app"]?.string.flatMap({ try? AppName($0) }),
        let channel = item["channel"]?.string.flatMap({ try? ChannelName($0) }),
        let version = item["version"]?.string.flatMap({ ManifestVersion(text: $0) }), version > .none
      else { throw Problem.badRequest("\"versions\" is an array of {\"app\",\"channel\",\"version\"}") }
      guard caller.allows(.read, app: app, channel: channel) else {
        throw Problem(
          .forbidden, "scope", "token \"\(caller.name)\" may not read app \(app), channel \(channel)")
      }
      versions.append(MirroredVersion(app: app, channel: channel, version: version))
    }
    return try context.answering {
      APIAnswer(["name": .string(name)])
    } to: { (record: AnswerRecord<Void>?) in
      try store.register(mirror: name, versions, by: holder, record: record)
    }
  }
}
