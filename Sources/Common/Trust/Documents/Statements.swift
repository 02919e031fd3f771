import Manifests
import System
import Values

/// What a publisher says about the content of a bundle: `content` may run on the devices of these channels.
package struct ReleaseStatement: TrustDocument {
  package static let payloadType = "application/vnd.xcache.release+json"

  /// The maximum number of channels.
  package static let channelLimit = 64

  package let app: AppName
  /// That of the root under which it is taken; nil if that has none.
  package let environment: TrustEnvironment?
  package let bundle: BundleName
  /// The channels in which it holds, ordered, each once.
  package let channels: [ChannelName]
  /// The digest of the bundle's content: see `BundleContent`.
  package let content: SHA256
  /// When it was signed.
  package let serial: Serial
  /// The lowest serial of this bundle that is still allowed.
  package let floor: Serial

  /// - Throws: `member`, for what no reader would take.
  package init(
    app: AppName, environment: TrustEnvironment? = nil, bundle: BundleName, channels: Set<ChannelName>,
    content: SHA256, serial: Serial, floor: Serial = .zero
  ) throws(TrustFormError) {
    guard (1...Self.channelLimit).contains(channels.count) else { throw .member("channels") }
    guard floor <= serial else { throw .member("floor") }
    self.app = app
    self.environment = environment
    self.bundle = bundle
    self.channels = channels.sorted()
    self.content = content
    self.serial = serial
    self.floor = floor
  }

  package init(json: JSONValue) throws(TrustFormError) {
    let order = try SerialAndFloor(json: json)
    try self.init(
      app: try json.app(), environment: try json.environment(),
      bundle: try json.required("bundle") { $0.string.flatMap { try? BundleName($0) } },
      channels: Set(try json.list("channels", 1...Self.channelLimit) { try? ChannelName($0) }),
      content: try json.digest("content"), serial: order.serial, floor: order.floor)
  }

  package var json: JSONValue {
    var object = JSONObject()
    object["app"] = .string(app.text)
    object.set("environment", environment.map { .string($0.text) })
    object["bundle"] = .string(bundle.text)
    object["channels"] = .strings(channels.map(\.text))
    object["content"] = .string(content.hex)
    object["serial"] = .integer(serial.number)
    if floor > .zero { object["floor"] = .integer(floor.number) }
    return .object(object)
  }
}

/// What a publisher says about a prefetch config: it may run on the devices of these channels.
package struct PrefetchStatement: TrustDocument {
  package static let payloadType = "application/vnd.xcache.prefetch+json"

  package let app: AppName
  /// That of the root under which it is taken; nil if that has none.
  package let environment: TrustEnvironment?
  /// The channels in which it holds, ordered, each once.
  package let channels: [ChannelName]
  /// The SHA-256 of the canonical form of `config`.
  package let content: SHA256
  /// When it was signed.
  package let serial: Serial
  /// The lowest serial of a prefetch config that is still allowed.
  package let floor: Serial

  /// - Throws: `member`, for what no reader would take.
  package init(
    app: AppName, environment: TrustEnvironment? = nil, channels: Set<ChannelName>, content: SHA256,
    serial: Serial, floor: Serial = .zero
  ) throws(TrustFormError) {
    guard (1...ReleaseStatement.channelLimit).contains(channels.count) else { throw .member("channels") }
    guard floor <= serial else { throw .member("floor") }
    self.app = app
    self.environment = environment
    self.channels = channels.sorted()
    self.content = content
    self.serial = serial
    self.floor = floor
  }

  package init(json: JSONValue) throws(TrustFormError) {
    let order = try SerialAndFloor(json: json)
    try self.init(
      app: try json.app(), environment: try json.environment(),
      channels: Set(try json.list("channels", 1...ReleaseStatement.channelLimit) { try? ChannelName($0) }),
      content: try json.digest("content"), serial: order.serial, floor: order.floor)
  }

  package var json: JSONValue {
    var object = JSONObject()
    object["app"] = .string(app.text)
    object.set("environment", environment.map { .string($0.text) })
    object["channels"] = .strings(channels.map(\.text))
    object["content"] = .string(content.hex)
    object["serial"] = .integer(serial.number)
    if floor > .zero { object["floor"] = .integer(floor.number) }
    return .object(object)
  }
}
