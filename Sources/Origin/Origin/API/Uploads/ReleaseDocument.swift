import HTTP
import Manifests
import OriginAPI
import Store
import Trust
import Values

/// The body of `POST …/releases` and `…/preparations`: the members of the release, and the change to each bundle.
struct ReleaseDocument: StreamedContent {
  static var division: JSONDivision {
    .members([
      "bundles": .elements(.members(["remove": .elements(), "set": .members()])), "statements": .elements(),
    ])
  }

  private let context: RequestContext
  private let act: (RequestContext, ReleaseDocument) throws -> Response
  /// The members other than the bundles.
  private var members = JSONObject()
  /// Nil if the document has none.
  private(set) var bundles: [BundleChange]?
  private var bundle = Bundle()
  private var place = Place.outside

  private enum Place {
    case outside, document, bundles, bundle, set, remove, statements
  }

  /// The release statements; nil if the document has no such member.
  private(set) var statements: [Signed<ReleaseStatement>]?

  /// The maximum number of URLs set and removed in one release: each takes memory until it is made, however short its text.
  private static let urlLimit = 250_000
  private var urls = 0

  /// The members other than the bundles: `ReleaseOptions`, `PlanReference`, `PreparationRequest`.
  private static let known: Set = [
    "allowSecrets", "awaitSignatures", "breakGlass", "create", "dryRun", "id", "ifNoRollout", "ifVersion",
    "message", "now",
    "plan",
    "replaces", "rollout", "schedule",
  ]
  private static let bundleMembers: Set = ["base", "bundle", "unpublish"]

  /// The maximum number of members of an object that isn't keyed by URL; ten are known.
  private static let memberLimit = 64

  /// Content types by their text: 100,000 files share a few.
  private var types: [String: ContentType] = [:]
  private static let maxTypes = 64

  /// A bundle that is still arriving.
  private struct Bundle {
    var members = JSONObject()
    var set: [ResourceURL: ResourceContent] = [:]
    var remove: Set<ResourceURL> = []
    var seen: Set<String> = []
  }

  /// Creates a document; `act` is carried out once all of it has arrived.
  init(
    _ context: RequestContext, _ act: @escaping (RequestContext, ReleaseDocument) throws -> Response
  ) {
    self.context = context
    self.act = act
  }

  func finish(_ context: RequestContext) throws -> Response { try act(context, self) }

  /// Decodes the members other than the bundles.
  func decodeMembers<Members: Decodable>(as type: Members.Type) throws -> Members {
    try JSONValue.object(members).decode(type)
  }

  /// Decodes the options of the release, with its statements.
  func options() throws -> ReleaseOptions {
    var options = try decodeMembers(as: ReleaseOptions.self)
    if let rollout = members["rollout"], !rollout.isNull { _ = try rollout.decodeKnown(RolloutTerms.self) }
    options.statements = statements?.map(\.envelope.json)
    return options
  }

  mutating func process(_ part: JSONStream.Part) throws {
    switch (place, part) {
    case (.outside, .begin): place = .document
    case (.document, .begin("statements")):
      guard statements == nil else { throw Self.twice("statements") }
      statements = []
      place = .statements
    case (.document, .value("statements", let value)):
      guard value.isNull else { throw Problem.badRequest("\"statements\" must be an array of envelopes") }
    case (.statements, .value(_, let value)): try add(statement: value)
    case (.statements, _): place = .document
    case (.document, .begin):
      guard bundles == nil else { throw Self.twice("bundles") }
      bundles = []
      place = .bundles
    case (.document, .value("bundles", _)): throw Self.noBundles
    case (.document, .value(let key?, _)) where !Self.known.contains(key):
      throw UnknownMember(name: key)
    case (.document, .value(let key?, let value)): try Self.add(value, key, to: &members)
    case (.bundles, .begin):
      bundle = Bundle()
      place = .bundle
    case (.bundles, .end): place = .document
    case (.bundle, .begin(let key?)):
      guard bundle.seen.insert(key).inserted else { throw Self.twice(key) }
      place = key == "set" ? .set : .remove
    case (.bundle, .value(let key?, let value)): try process(value, key)
    case (.bundle, .end): try endBundle()
    case (.set, .value(let key?, let value)):
      try countURL()
      let old = bundle.set.updateValue(try content(value, of: key), forKey: try Self.url(key))
      if old != nil { throw Self.twice(key) }
    case (.remove, .value(_, let value)):
      guard let text = value.string else { throw Problem.badRequest("\"remove\" must be an array of URLs") }
      try countURL()
      bundle.remove.insert(try Self.url(text))
    case (.set, _), (.remove, _): place = .bundle
    case (.document, _): place = .outside
    default: throw Problem.badRequest("each bundle is an object with its name as \"bundle\"")
    }
  }

  private mutating func add(statement value: JSONValue) throws {
    let number = (statements?.count ?? 0) + 1
    guard number <= AnswerTrust.releaseLimit else { throw Problem.tooManyStatements }
    statements?.append(try context.statement(value, number: number))
  }

  private mutating func countURL() throws {
    urls += 1
    guard urls <= Self.urlLimit else {
      throw Problem(
        .contentTooLarge, "too-large",
        "a release changes at most \(Self.urlLimit) URLs; publish its bundles one after another")
    }
  }

  private mutating func process(_ value: JSONValue, _ key: String) throws {
    switch key {
    case "set" where !value.isNull: throw Problem.badRequest("\"set\" must be an object of URLs")
    case "remove" where !value.isNull: throw Problem.badRequest("\"remove\" must be an array of URLs")
    case "set", "remove":
      guard bundle.seen.insert(key).inserted else { throw Self.twice(key) }
    case _ where !Self.bundleMembers.contains(key): throw UnknownMember(name: key)
    case "bundle":
      // Checked as early as possible: nothing more is received for a bundle that the token may not change.
      if let text = value.string { try context.caller.check(bundle: BundleName(text)) }
      fallthrough
    default: try Self.add(value, key, to: &bundle.members)
    }
  }

  private mutating func endBundle() throws {
    let members = try JSONValue.object(bundle.members).decode(BundleMembers.self)
    guard let name = members.bundle else {
      throw Problem.badRequest("each bundle has its name as \"bundle\"")
    }
    let change: BundleChange.Change =
      members.unpublish == true
      ? .unpublish : .update(base: try members.version(), set: bundle.set, remove: bundle.remove)
    bundles?.append(BundleChange(try BundleName(name), change))
    bundle = Bundle()
    place = .bundles
  }

  /// The members of a bundle other than its URLs.
  private struct BundleMembers: Decodable {
    let bundle: String?
    let base: String?
    let unpublish: Bool?

    func version() throws(Problem) -> ManifestVersion {
      guard let base else { return .none }
      guard let version = ManifestVersion(text: base) else {
        throw .badRequest("\"base\" must be a version: a decimal number as a string")
      }
      return version
    }
  }

  private static func add(_ value: JSONValue, _ key: String, to object: inout JSONObject) throws {
    guard object[key] == nil else { throw twice(key) }
    guard object.count < memberLimit else {
      throw Problem.badRequest("an object of the body has more than \(memberLimit) members")
    }
    object[key] = value
  }

  /// URLs must be in stored form: a second spelling would be a second resource.
  private static func url(_ text: String) throws -> ResourceURL {
    do {
      let url = try ResourceURL(text)
      guard url.text == text else { throw Problem.badRequest("\(text) must be written as \(url.text)") }
      return url
    } catch let problem as Problem {
      throw problem
    } catch {
      throw Problem.badRequest("\(error)")
    }
  }

  private mutating func type(_ text: String) -> ContentType? {
    if let known = types[text] { return known }
    guard let type = ContentType(text) else { return nil }
    if types.count < Self.maxTypes { types[text] = type }
    return type
  }

  private mutating func content(_ value: JSONValue, of url: String) throws -> ResourceContent {
    let content: ResourceContent
    do {
      if let unknown = value.object?.members.first(where: { !ResourceContent.members.contains($0.key) }) {
        throw UnknownMember(name: unknown.key)
      }
      if let headers = value["headers"] { _ = try EntryHeaders(json: headers) }
      if let fallback = value[PageFallbacks.key] { _ = try PageFallbacks(given: fallback) }
      if let lazy = value[Entry.lazyKey], lazy.bool != true { throw LazyFault.value }
      content = try ResourceContent(json: value) { type($0) }
      if content.isLazy, !content.mayBeLazy { throw LazyFault.page }
    } catch let error as UnknownMember {
      let name = String(error.name.prefix(64)).debugDescription
      throw Problem.badRequest("\(url): \(name) is not a member of an entry; nothing was done; leave it out")
    } catch {
      throw Problem.badRequest("\(url): \(error)")
    }
    let largest = context.api.largestUpload
    guard content.size <= largest else {
      throw Problem(
        .unprocessableContent, "too-large",
        "\(url): \(content.size) bytes; this origin accepts at most \(largest) bytes per file (serve --max-upload)"
      )
    }
    return content
  }

  static var noBundles: Problem {
    .badRequest("\"bundles\" must be an array of changes, one for each bundle")
  }

  private static func twice(_ key: String) -> Problem {
    .badRequest("the body is not the expected JSON: \(JSONError.duplicateKey(key))")
  }
}

/// Why an entry can't have its member `lazy`.
private enum LazyFault: Error, CustomStringConvertible {
  /// The value isn't `true`.
  case value
  /// The entry is of a page.
  case page

  var description: String {
    switch self {
    case .value: "\"lazy\" can only be true; leave it out for a file that updates fetch"
    case .page: "a page can't be lazy, because it would not open offline after an update; leave \"lazy\" out"
    }
  }
}

extension RequestContext {
  /// Reads the member `statements` of a request that isn't streamed.
  func statements(_ values: [JSONValue]?) throws -> [Signed<ReleaseStatement>] {
    guard let values else { return [] }
    guard values.count <= AnswerTrust.releaseLimit else { throw Problem.tooManyStatements }
    return try values.enumerated().map { try statement($1, number: $0 + 1) }
  }

  /// Reads a release statement. Who has signed it is for the store to check.
  /// - Parameter number: its place in `statements`, from 1.
  fileprivate func statement(_ value: JSONValue, number: Int) throws -> Signed<ReleaseStatement> {
    let signed: Signed<ReleaseStatement>
    do throws(TrustFormError) {
      signed = try Signed(json: value)
    } catch {
      throw Problem.badRequest("\"statements\", number \(number): \(error)")
    }
    try check(signed.document.app, in: "\"statements\", number \(number)")
    let bundle = signed.document.bundle
    try caller.check(bundle: bundle)
    try caller.check(statementFor: signed.document.channels, .release, in: signed.document.app) {
      $0?.matches(bundle) ?? true
    }
    return signed
  }

  /// Reads the statement for a prefetch config, the member `key` of a request.
  func prefetchStatement(_ value: JSONValue?, in key: String) throws -> Signed<PrefetchStatement>? {
    guard let value else { return nil }
    let signed: Signed<PrefetchStatement>
    do throws(TrustFormError) {
      signed = try Signed(json: value)
    } catch {
      throw Problem.badRequest("\"\(key)\": \(error)")
    }
    try check(signed.document.app, in: "\"\(key)\"")
    try caller.check(statementFor: signed.document.channels, .release, in: signed.document.app)
    return signed
  }

  private func check(_ app: AppName, in place: String) throws {
    let here = try names.app
    guard app == here else { throw Problem.badRequest("\(place): it is for app \"\(app)\", not \"\(here)\"") }
  }
}

extension Problem {
  fileprivate static var tooManyStatements: Problem {
    .badRequest("\"statements\" has more than \(AnswerTrust.releaseLimit) envelopes")
  }
}
