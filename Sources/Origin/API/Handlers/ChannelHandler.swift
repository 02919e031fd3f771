import HTTP
import Manifests
import OriginAPI
import Store
import System

/// Channels: which there are, what each holds now, and what admins do with them.
struct ChannelHandler: APIHandler {
  let context: RequestContext

  private var desk: ReleaseDesk { context.api.releases }

  /// `GET /apps`: every channel that a token may read.
  func list() throws -> Response {
    let states = try store.channelStates()
    let allowed = states.filter { caller.allows(.read, app: $0.channel.app, channel: $0.channel.name) }
    let app = try store.defaultApp()
    // Which apps there are beside their own is not everybody's business.
    let isTold = app.map { app in caller.isUnlimited || allowed.contains { $0.channel.app == app } } ?? false
    return .json([
      "channels": .array(allowed.map(\.json)),
      "defaultApp": app.flatMap { isTold ? JSONValue.string($0.text) : nil } ?? .null,
    ])
  }

  /// `POST /default-app`: the app that answers polls which name none (DESIGN §3), for admins of everything.
  func nameDefaultApp(_ body: JSONValue) throws -> Response {
    guard let app = try body.name("app", { (text) throws(NameError) in try AppName(text) }) else {
      throw Problem.badRequest("\"app\" is the app that answers where none is named")
    }
    return try context.answering { before in
      APIAnswer([
        "changed": .bool(before != app), "defaultApp": .string(app.text),
        "was": before.map { .string($0.text) } ?? .null,
      ])
    } to: { (record) in
      try desk.setDefault(app, by: actor, record: record)
    }
  }

  /// `GET /apps/{app}/channels/{channel}`
  func overview() throws -> Response {
    let channel = try context.channel()
    let bundles = try store.bundles(of: channel)
    let damaged = try store.damagedBlobs()
    let places = try store.places(of: damaged)
      .filter { $0.app == channel.app.text && $0.channel == channel.name.text }
    let scrub = try store.scrubState()
    let origin = try store.originID()
    let freeze = try store.freeze(of: channel)
    let state = try store.extras(of: channel)
    let defaultApp = try store.defaultApp()
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
      "deltas": context.api.deltas.backlog.progress(of: channel.id)?.json ?? .null,
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
    return .json(.object(JSONObject((overview.object?.members ?? []) + state.overview)))
  }

  // MARK: - Acts: `POST /apps/{app}/channels/{channel}/create | remove | freeze | thaw`

  func create(_ body: JSONValue) throws -> Response {
    let names = try context.names
    var publicURL: BaseURL?
    if let text = body["publicURL"]?.string {
      do {
        publicURL = try BaseURL(text)
      } catch {
        throw Problem.badRequest("\"publicURL\": \(error)")
      }
    }
    return try context.answering {
      APIAnswer(ChannelState(channel: $0, freeze: nil).json, .created)
    } to: { (record) in
      try desk.create(
        names.app, names.channel, publicURL: publicURL, by: actor, record: record)
    }
  }

  func remove(_ body: JSONValue) throws -> Response {
    let names = try context.names
    // No other app takes its place by itself: devices that name no app are this one's.
    let (app, channels) = (try store.defaultApp(), try store.channels())
    let leavesNone = app == names.app && !channels.contains { $0.app == app && $0.name != names.channel }
    return try context.answering {
      let state = ChannelState(channel: $0, freeze: nil).json.object ?? JSONObject()
      return APIAnswer(
        .object(JSONObject(state.members + [.init(key: "leavesNoDefault", value: .bool(leavesNone))])))
    } to: { (record) in
      try desk.remove(names.app, names.channel, by: actor, record: record)
    }
  }

  func freeze(_ body: JSONValue) throws -> Response {
    let names = try context.names
    guard let reason = try body.humanText("reason", .message), !reason.isEmpty else {
      throw Problem.badRequest("\"reason\" says why the channel is frozen, for those whom it stops")
    }
    return try context.answering {
      APIAnswer(["changed": true, "freeze": $0.json])
    } to: { (record) in
      try store.freezeChannel(
        names.app, names.channel, reason: reason, by: actor, record: record)
    }
  }

  func thaw(_ body: JSONValue) throws -> Response {
    let names = try context.names
    return try context.answering { lifted in
      APIAnswer(["changed": .bool(lifted != nil), "lifted": lifted?.json ?? .null])
    } to: { (record) in
      try store.thawChannel(names.app, names.channel, by: actor, record: record)
    }
  }
}

extension ChannelState {
  var json: JSONValue {
    [
      "app": .string(channel.app.text), "at": channel.at.map { .string(Timestamp.text($0)) } ?? .null,
      "bytes": .integer(channel.bytes), "channel": .string(channel.name.text),
      "freeze": freeze?.json ?? .null,
      "publicURL": .string(channel.publicURL.text), "resources": .integer(channel.resources),
      "version": .string(channel.version.text),
    ]
  }
}
