import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// What `xcache mirror --server` asks for: what to mirror, the documents that no device requests from an origin, leases,
/// and registrations. The files themselves are fetched from the paths that devices use.
struct MirrorHandler: APIHandler {
  let context: RequestContext

  private var holder: Holder { .token(caller, address: request.address) }

  // MARK: - What is there

  /// `GET /mirror?channels=online,test&keep=5`: each channel with a release that the token may read; `*` means all.
  /// `limits` is what the token is limited to: it distinguishes a removed channel from one that the token may not read.
  func overview() throws -> Response {
    let names = Set(
      (request.text("channels") ?? ChannelName.online.text).split(separator: ",").map(String.init))
    let keep = try request.number("keep", in: 0...1000) ?? 5
    var channels: [MirrorOverview.Channel] = []
    for newest in try store.channels() {
      let info = newest.full
      guard names.contains("*") || names.contains(info.name.text), let digest = info.digest,
        caller.allows(.read, app: info.app, channel: info.name)
      else { continue }
      var channel = MirrorOverview.Channel(
        app: info.app, appID: UInt64(clamping: info.appID), channel: info.name, publicURL: info.publicURL,
        version: info.version, digest: digest, versions: try store.keptVersions(of: info, keep: keep),
        extras: try store.answerExtras(of: info), scripts: try store.policyScripts(of: info))
      channel.candidateDigest = newest.rollout == nil ? nil : newest.digest
      channel.bundlesSince = info.bundlesSince
      if case .stored(let pack) = try store.firstPack(of: info) { channel.first = pack.offer(of: info).json }
      channels.append(channel)
    }
    // What is said of one grant is true, if not all, of several: a channel beyond it counts as one that may not be read.
    let widest = caller.widest
    var overview = MirrorOverview(
      origin: try store.originID(), defaultApp: try store.defaultApp(), audit: try store.auditHead().text,
      limits: .init(app: widest.app, channel: widest.channel), channels: channels)
    overview.purges = try store.purges().map { PurgedBytes(sha256: $0.sha256, at: $0.at) }
    return .json(overview)
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
  func takeLease(_ body: LeaseRequest) throws -> Response {
    let seconds = try seconds(body)
    let name = try HumanText.checked(body.holder, member: "holder", .line(bytes: 256)) ?? caller.name
    return try context.answering {
      APIAnswer(LeaseAnswer(id: $0.id), .created)
    } to: { (record) in
      try store.acquireLease(holder: name, seconds: seconds, by: holder, record: record)
    }
  }

  /// `POST /leases/{id}`
  func renewLease(_ body: LeaseRequest) throws -> Response {
    let id = request.path[1]
    try store.renewLease(id, seconds: seconds(body), by: holder)
    return .json(LeaseAnswer(id: id))
  }

  private func seconds(_ body: LeaseRequest) throws -> Int {
    let limits = Store.leaseSeconds
    guard let seconds = body.seconds, limits.contains(seconds) else {
      throw Problem.badRequest(
        "\"seconds\" must be a number from \(limits.lowerBound) to \(limits.upperBound)")
    }
    return seconds
  }

  /// `DELETE /leases/{id}`
  func endLease() throws -> Response {
    try store.endLease(request.path[1], by: holder)
    return .json(LeaseEnd(ended: request.path[1]))
  }

  // MARK: - Who mirrors

  /// `GET /mirrors`
  func mirrors() throws -> Response {
    .json(MirrorList(mirrors: try store.mirrors(for: holder).filter(isShown).map(info)))
  }

  private func info(_ mirror: MirrorRecord) -> MirrorInfo {
    MirrorInfo(
      name: mirror.name, at: Moment(milliseconds: mirror.at), keeps: mirror.isBinding,
      versions: mirror.versions.filter { caller.allows(.read, app: $0.app, channel: $0.channel) },
      mayForget: mirror.isForgettable)
  }

  /// Whether the token may see a mirror: its own, and those of anything that it may read.
  private func isShown(_ mirror: MirrorRecord) -> Bool {
    caller.isUnlimited || mirror.owner == caller.ownerID
      || mirror.versions.contains { caller.allows(.read, app: $0.app, channel: $0.channel) }
  }

  /// `DELETE /mirrors/{name}`
  func forget() throws -> Response {
    let name = request.path[1]
    return try context.answering {
      APIAnswer(MirrorAnswer(name: name))
    } to: { (record: AnswerRecord<Void>?) in
      try store.forget(mirror: name, by: holder, record: record)
    }
  }

  /// `POST /mirrors`: what a mirror names since its latest run.
  func register(_ body: MirrorRequest) throws -> Response {
    guard let name = try HumanText.checked(body.name, member: "name", .line(bytes: 1024)), !name.isEmpty
    else {
      throw Problem.badRequest("\"name\" must say where the mirror is, in 1 to 1,024 bytes")
    }
    // Without the list it would seem to name nothing, and gc would remove what it names.
    guard let versions = body.versions else {
      throw Problem.badRequest("\"versions\" must be an array of {\"app\",\"channel\",\"version\"}")
    }
    for item in versions {
      guard item.version > .none else {
        throw Problem.badRequest("\"versions\" must be an array of {\"app\",\"channel\",\"version\"}")
      }
      guard caller.allows(.read, app: item.app, channel: item.channel) else {
        throw Problem(
          .forbidden, "scope",
          "\(caller.who) may not read app \(item.app), channel \(item.channel)")
      }
    }
    return try context.answering {
      APIAnswer(MirrorAnswer(name: name))
    } to: { (record: AnswerRecord<Void>?) in
      try store.register(mirror: name, versions, by: holder, record: record)
    }
  }
}
