import HTTP
import Manifests
import Store

/// The body of `POST …/releases` and `…/preparations`: the members of the release, and what becomes of each bundle.
struct ReleaseDocument: StreamedContent {
  static let division = JSONDivision.members([
    "bundles": .elements(.members(["remove": .elements(), "set": .members()]))
  ])

  private let calls: ReleaseCalls
  private let act: (ReleaseCalls, ReleaseDocument) throws(Problem) -> Response
  /// The members beside the bundles.
  private(set) var members = JSONObject()
  /// nil where the document has none.
  private(set) var bundles: [BundleChange]?
  private var bundle = Bundle()
  private var place = Place.outside

  private enum Place {
    case outside, document, bundles, bundle, set, remove
  }

  /// Members of an object whose members aren't URLs; there are ten.
  private static let memberLimit = 64

  /// A bundle of which a part has arrived.
  private struct Bundle {
    var members = JSONObject()
    var set: [ResourceURL: ResourceContent] = [:]
    var remove: Set<ResourceURL> = []
    var seen: Set<String> = []
  }

  /// - Parameter act: what is done when all of it has arrived.
  init(_ calls: ReleaseCalls, _ act: @escaping (ReleaseCalls, ReleaseDocument) throws(Problem) -> Response) {
    self.calls = calls
    self.act = act
  }

  func finish(_ call: APIRequest) throws(Problem) -> Response {
    var calls = calls
    calls.call = call
    return try act(calls, self)
  }

  mutating func take(_ part: JSONStream.Part) throws(Problem) {
    switch (place, part) {
    case (.outside, .begin): place = .document
    case (.document, .begin):
      guard bundles == nil else { throw Self.twice("bundles") }
      bundles = []
      place = .bundles
    case (.document, .value("bundles", _)): throw Self.noBundles
    case (.document, .value(let key?, let value)): try Self.add(value, key, to: &members)
    case (.bundles, .begin):
      bundle = Bundle()
      place = .bundle
    case (.bundles, .end): place = .document
    case (.bundle, .begin(let key?)):
      guard bundle.seen.insert(key).inserted else { throw Self.twice(key) }
      place = key == "set" ? .set : .remove
    case (.bundle, .value(let key?, let value)): try take(value, key)
    case (.bundle, .end): try endBundle()
    case (.set, .value(let key?, let value)):
      let old = bundle.set.updateValue(try calls.content(value, of: key), forKey: try ReleaseCalls.url(key))
      if old != nil { throw Self.twice(key) }
    case (.remove, .value(_, let value)):
      guard let text = value.string else { throw .badRequest("\"remove\" is an array of URLs") }
      bundle.remove.insert(try ReleaseCalls.url(text))
    case (.set, _), (.remove, _): place = .bundle
    case (.document, _): place = .outside
    default: throw .badRequest("each bundle is an object with its name as \"bundle\"")
    }
  }

  private mutating func take(_ value: JSONValue, _ key: String) throws(Problem) {
    switch key {
    case "set" where !value.isNull: throw .badRequest("\"set\" is an object of URLs")
    case "remove" where !value.isNull: throw .badRequest("\"remove\" is an array of URLs")
    case "bundle":
      // As soon as it is known: nothing more is taken for a bundle that the token may not change.
      if let text = value.string { try calls.caller.check(bundle: Self.name(text)) }
      fallthrough
    default: try Self.add(value, key, to: &bundle.members)
    }
  }

  private mutating func endBundle() throws(Problem) {
    guard let text = bundle.members["bundle"]?.string else {
      throw .badRequest("each bundle has its name as \"bundle\"")
    }
    let document = JSONValue.object(bundle.members)
    let change: BundleChange.Change =
      document["unpublish"]?.bool == true
      ? .unpublish
      : .update(base: try document.optionalVersion("base") ?? .none, set: bundle.set, remove: bundle.remove)
    bundles?.append(BundleChange(try Self.name(text), change))
    bundle = Bundle()
    place = .bundles
  }

  private static func name(_ text: String) throws(Problem) -> BundleName {
    try ChannelNames.parse(text) { (text) throws(NameError) in try BundleName(text) }
  }

  private static func add(_ value: JSONValue, _ key: String, to object: inout JSONObject) throws(Problem) {
    guard object[key] == nil else { throw twice(key) }
    guard object.count < memberLimit else {
      throw .badRequest("an object of the body has more than \(memberLimit) members")
    }
    object[key] = value
  }

  static var noBundles: Problem {
    .badRequest("\"bundles\" is the array of what becomes of each bundle")
  }

  private static func twice(_ key: String) -> Problem {
    .badRequest("the body is not the JSON that is expected: \(JSONError.duplicateKey(key))")
  }
}
