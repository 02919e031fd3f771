import Manifests
import System
import Values

// How a device stores what it must not forget. Only it reads this, so that what it doesn't know is damage.
extension TrustState {
  /// What is stored, without the statements: which of them are held is said by the manifest that is.
  package var json: JSONValue {
    var object = JSONObject()
    object["builtIn"] = .string(builtIn.hex)
    object["root"] = root.json
    object.set("head", head.map { ["document": $0.head.json, "signers": .strings($0.signers.map(\.text))] })
    object["floors"] = .object(
      JSONObject(floors.map { JSONObject.Member(key: $0.key.text, value: .integer($0.value.number)) }))
    object["prefetchFloor"] = .integer(prefetchFloor.number)
    return .object(object)
  }

  /// Reads what was stored.
  package init(json: JSONValue) throws(TrustFormError) {
    guard let root = json["root"] else { throw .member("root") }
    self.init(
      builtIn: try json.digest("builtIn"), root: try TrustRoot(json: root),
      head: try json["head"].map { (head) throws(TrustFormError) in try Head(json: head) },
      floors: try Self.floors(json), prefetchFloor: try json.serial("prefetchFloor") ?? .zero)
  }

  private static func floors(_ json: JSONValue) throws(TrustFormError) -> [BundleName: Serial] {
    var floors: [BundleName: Serial] = [:]
    for member in try json.required("floors", \.object).members {
      guard let bundle = try? BundleName(member.key), let floor = member.value.integer.flatMap({ Serial($0) })
      else { throw .member("floors") }
      floors[bundle] = floor
    }
    return floors
  }
}

extension TrustState.Head {
  fileprivate init(json: JSONValue) throws(TrustFormError) {
    guard let document = json["document"] else { throw .member("document") }
    self.init(
      head: try TrustHead(json: document),
      signers: try json.list("signers", 1...TrustRoot.listLimit) { KeyID(text: $0) })
  }
}

extension TrustState.Release {
  /// The statement as it is stored.
  package var json: JSONValue {
    [
      "floor": .integer(floor.number), "signers": .strings(signers.map(\.text)), "statement": statement.json,
    ]
  }

  /// Reads a stored statement.
  package init(json: JSONValue) throws(TrustFormError) {
    guard let statement = json["statement"] else { throw .member("statement") }
    guard let floor = try json.serial("floor") else { throw .member("floor") }
    self.init(
      statement: try ReleaseStatement(json: statement),
      signers: try json.list("signers", 0...Envelope.signatureLimit) { KeyID(text: $0) }, floor: floor)
  }
}
