import HTTP
import Manifests
import Store
import System

/// `POST /apps/{app}/channels/{channel}/create | remove | freeze | thaw`, for admins of the channel.
struct ChannelActCalls {
  private let store: Store
  private let desk: ReleaseDesk
  private let call: APIRequest
  private let caller: AccessToken

  init(_ api: APIEndpoint, _ call: APIRequest, _ caller: AccessToken) {
    store = api.store
    desk = api.releases
    self.call = call
    self.caller = caller
  }

  func reply(_ body: JSONValue) throws(Problem) -> Response {
    let names = try ChannelNames(call)
    switch call.path[4] {
    case "create": return try create(body, names)
    case "remove": return try remove(names)
    case "freeze": return try freeze(body, names)
    case "thaw": return try thaw(names)
    default: throw .notFound
    }
  }

  private func create(_ body: JSONValue, _ names: ChannelNames) throws(Problem) -> Response {
    var publicURL: BaseURL?
    if let text = body["publicURL"]?.string {
      do {
        publicURL = try BaseURL(text)
      } catch {
        throw .badRequest("\"publicURL\": \(error)")
      }
    }
    return try call.answering {
      APIAnswer(ChannelState(channel: $0, freeze: nil).json, .created)
    } to: { (record) throws(StoreError) in
      try desk.create(
        names.app, names.channel, publicURL: publicURL, by: caller.actor(call), record: record)
    }
  }

  private func remove(_ names: ChannelNames) throws(Problem) -> Response {
    // No other app takes its place by itself: devices that name no app are this one's.
    let leavesNone = try APIEndpoint.store { () throws(StoreError) in
      let (app, channels) = (try store.defaultApp(), try store.channels())
      return app == names.app && !channels.contains { $0.app == app && $0.name != names.channel }
    }
    return try call.answering {
      let state = ChannelState(channel: $0, freeze: nil).json.object ?? JSONObject()
      return APIAnswer(
        .object(JSONObject(state.members + [.init(key: "leavesNoDefault", value: .bool(leavesNone))])))
    } to: { (record) throws(StoreError) in
      try desk.remove(names.app, names.channel, by: caller.actor(call), record: record)
    }
  }

  private func freeze(_ body: JSONValue, _ names: ChannelNames) throws(Problem) -> Response {
    guard let reason = try body.humanText("reason", .message), !reason.isEmpty else {
      throw .badRequest("\"reason\" says why the channel is frozen, for those whom it stops")
    }
    return try call.answering {
      APIAnswer(["changed": true, "freeze": $0.json])
    } to: { (record) throws(StoreError) in
      try store.freezeChannel(
        names.app, names.channel, reason: reason, by: caller.actor(call), record: record)
    }
  }

  private func thaw(_ names: ChannelNames) throws(Problem) -> Response {
    try call.answering { lifted in
      APIAnswer(["changed": .bool(lifted != nil), "lifted": lifted?.json ?? .null])
    } to: { (record) throws(StoreError) in
      try store.thawChannel(names.app, names.channel, by: caller.actor(call), record: record)
    }
  }
}

/// `GET /apps`: every channel that a token may read.
struct ChannelList {
  let store: Store
  let caller: AccessToken

  func reply() throws(Problem) -> Response {
    let states = try APIEndpoint.store { () throws(StoreError) in try store.channelStates() }
    let allowed = states.filter { caller.allows(.read, app: $0.channel.app, channel: $0.channel.name) }
    let app = try APIEndpoint.store { () throws(StoreError) in try store.defaultApp() }
    // Which apps there are beside their own is not everybody's business.
    let isTold = app.map { app in caller.isUnlimited || allowed.contains { $0.channel.app == app } } ?? false
    return APIEndpoint.document([
      "channels": .array(allowed.map(\.json)),
      "defaultApp": app.flatMap { isTold ? JSONValue.string($0.text) : nil } ?? .null,
    ])
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
