import Manifests
import System
import Values

/// Who signs what for an app: the document that an app is built with, and the ones that follow it.
package struct TrustRoot: TrustDocument {
  package static let payloadType = "application/vnd.xcache.root+json"

  /// The maximum number of keys.
  package static let keyLimit = 64
  /// The maximum number of grants.
  package static let grantLimit = 64
  /// The maximum number of head keys, and of keys that sign prefetch configs.
  package static let listLimit = 16
  /// The maximum number of floors.
  package static let floorLimit = 1000

  package let app: AppName
  /// Nil for an app that has one environment.
  package let environment: TrustEnvironment?
  package let number: RootNumber
  /// Every key that the root names.
  package let keys: [KeyID: TrustKey]
  /// Who signs the root that follows, and signed this one.
  package let roots: KeyGroup
  /// Who signs releases.
  package let grants: [ReleaseGrant]
  /// The keys of which one signs prefetch configs, ordered.
  package let prefetch: [KeyID]
  /// The keys of which one signs heads, ordered.
  package let heads: [KeyID]
  /// What the floors of bundles become when a device takes this root, also where they were higher.
  package let floors: [BundleName: Serial]
  /// The same for prefetch configs; nil leaves it as it is.
  package let prefetchFloor: Serial?
  /// The Ed25519 key that verifies a policy's scripts, 32 bytes; nil leaves that to the app.
  package let scriptKey: [UInt8]?
  /// Whether devices no longer check anything: the way out.
  package let isOff: Bool

  /// - Throws: `member`, for what no reader would take.
  package init(
    app: AppName, environment: TrustEnvironment? = nil, number: RootNumber, keys: [TrustKey], roots: KeyGroup,
    grants: [ReleaseGrant] = [], prefetch: Set<KeyID> = [], heads: Set<KeyID> = [],
    floors: [BundleName: Serial] = [:], prefetchFloor: Serial? = nil, scriptKey: [UInt8]? = nil,
    isOff: Bool = false
  ) throws(TrustFormError) {
    self.app = app
    self.environment = environment
    self.number = number
    self.keys = Dictionary(keys.map { ($0.id, $0) }) { key, _ in key }
    self.roots = roots
    self.grants = grants
    self.prefetch = prefetch.sorted()
    self.heads = heads.sorted()
    self.floors = floors
    self.prefetchFloor = prefetchFloor
    self.scriptKey = scriptKey
    self.isOff = isOff
    try check()
  }

  /// Checks what concerns more than one member.
  private func check() throws(TrustFormError) {
    guard (1...Self.keyLimit).contains(keys.count) else { throw .member("keys") }
    guard grants.count <= Self.grantLimit else { throw .member("releases") }
    guard prefetch.count <= Self.listLimit else { throw .member("prefetch") }
    // Without a head key no head would be taken any more, and so nothing else.
    guard heads.count <= Self.listLimit, isOff || !heads.isEmpty else { throw .member("heads") }
    guard floors.count <= Self.floorLimit else { throw .member("floors") }
    guard scriptKey.map({ $0.count == Ed25519.keyCount }) ?? true else { throw .member("scriptKey") }
    let online = Set(heads + prefetch + grants.flatMap(\.signers.keys))
    guard online.union(roots.keys).allSatisfy({ keys[$0] != nil }) else { throw .member("keys") }
    // A root key is kept away from every machine that signs anything else.
    guard online.isDisjoint(with: roots.keys) else { throw .member("roots") }
  }

  package init(json: JSONValue) throws(TrustFormError) {
    guard let roots = json["roots"] else { throw .member("roots") }
    var grants: [ReleaseGrant] = []
    let list = try json.required("releases", \.array)
    guard list.count <= Self.grantLimit else { throw .member("releases") }
    for value in list { grants.append(try ReleaseGrant(json: value)) }
    try self.init(
      app: try json.app(), environment: try json.environment(),
      number: try json.required("number") { $0.string.flatMap { RootNumber(text: $0) } },
      keys: try Self.keys(json), roots: try KeyGroup(json: roots), grants: grants,
      prefetch: Set(try json.list("prefetch", 0...Self.listLimit) { KeyID(text: $0) }),
      heads: Set(try json.list("heads", 0...Self.listLimit) { KeyID(text: $0) }),
      floors: try Self.floors(json), prefetchFloor: try json.serial("prefetchFloor"),
      scriptKey: try json.optional("scriptKey") { $0.string.flatMap { Base64.decode($0) } },
      isOff: try json.optional("off", \.bool) ?? false)
  }

  private static func keys(_ json: JSONValue) throws(TrustFormError) -> [TrustKey] {
    guard let members = json["keys"]?.object?.members, members.count <= keyLimit else {
      throw .member("keys")
    }
    var keys: [TrustKey] = []
    for member in members {
      // The id is told again, so that a person can find it; it says nothing that the key doesn't.
      guard let key = member.value.string.flatMap({ TrustKey(base64: $0) }), key.id.text == member.key else {
        throw .member("keys")
      }
      keys.append(key)
    }
    return keys
  }

  private static func floors(_ json: JSONValue) throws(TrustFormError) -> [BundleName: Serial] {
    guard let value = json["floors"] else { return [:] }
    guard let members = value.object?.members, members.count <= floorLimit else { throw .member("floors") }
    var floors: [BundleName: Serial] = [:]
    for member in members {
      guard let bundle = try? BundleName(member.key), let floor = member.value.integer.flatMap({ Serial($0) })
      else { throw .member("floors") }
      floors[bundle] = floor
    }
    return floors
  }

  package var json: JSONValue {
    var object = JSONObject()
    object["app"] = .string(app.text)
    object.set("environment", environment.map { .string($0.text) })
    object["number"] = .string(number.text)
    object["keys"] = .object(
      JSONObject(keys.values.map { JSONObject.Member(key: $0.id.text, value: .string($0.base64)) }))
    object["roots"] = .object(roots.members)
    object["releases"] = .array(grants.map(\.json))
    object["prefetch"] = .strings(prefetch.map(\.text))
    object["heads"] = .strings(heads.map(\.text))
    if !floors.isEmpty {
      object["floors"] = .object(
        JSONObject(floors.map { JSONObject.Member(key: $0.key.text, value: .integer($0.value.number)) }))
    }
    object.set("prefetchFloor", prefetchFloor.map { .integer($0.number) })
    object.set("scriptKey", scriptKey.map { .string(Base64.encode($0)) })
    if isOff { object["off"] = true }
    return .object(object)
  }

  /// The keys that sign any release, each once.
  var releaseKeys: Set<KeyID> { Set(grants.flatMap(\.signers.keys)) }
}
