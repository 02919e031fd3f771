import Manifests
import System
import TestSupport
import Testing
import Values

@testable import Trust

/// Runs Tests/Conformance/trust/vectors.json, which a second implementation has made from docs/protocol.md §14 alone.
@Suite struct TrustVectorTests {
  @Test func keys() throws {
    for sample in try Self.cases("keys") {
      let key = TrustKey(base64: try sample.string("key"))
      #expect(key?.id.text == sample["id"]?.string, "\(sample)")
    }
  }

  @Test func signatures() throws {
    for sample in try Self.cases("signatures") {
      let signature = P256Signature(der: try sample.bytes("der"))
      #expect(signature.map { Hex.encode($0.raw.span.bytes) } == sample["raw"]?.string, "\(sample)")
      guard let signature else { continue }
      let key = try #require(TrustKey(base64: try sample.string("key")))
      let verifies = SystemVerifier().verifies(signature, of: try sample.bytes("message"), by: key)
      #expect(verifies == sample["verifies"]?.bool, "\(sample)")
    }
  }

  @Test func messages() throws {
    for sample in try Self.cases("messages") {
      let message = Envelope.message(
        payloadType: try sample.string("type"), payload: try sample.bytes("payload"))
      #expect(message == (try sample.bytes("message")), "\(sample)")
    }
  }

  @Test func envelopes() throws {
    let root = try #require(try Self.document(named: "1"))
    let heads = try Signed<TrustRoot>(parsing: root).document
    for sample in try Self.cases("envelopes") {
      let fill = String(
        repeating: sample["fill"]?.string ?? "", count: Int(sample["times"]?.integer ?? 0))
      let text = try sample.string("envelope") + fill + (sample["rest"]?.string ?? "")
      let head = try? Signed<TrustHead>(parsing: Array(text.utf8))
      let signers = head?.signers(among: heads.heads, keys: heads.keys, by: SystemVerifier())
      #expect(
        signers?.map(\.text) == sample["signers"]?.array?.compactMap(\.string), "\(sample["what"] ?? "")")
    }
  }

  @Test func documents() throws {
    for sample in try Self.cases("documents") {
      let payload = Array(try sample.string("payload").utf8)
      let isGood =
        switch try sample.string("type") {
        case "root": Self.reads(TrustRoot.self, payload)
        case "release": Self.reads(ReleaseStatement.self, payload)
        case "prefetch": Self.reads(PrefetchStatement.self, payload)
        default: Self.reads(TrustHead.self, payload)
        }
      #expect(isGood == (sample["error"] == nil), "\(sample)")
    }
  }

  /// Whether a document can be read; then it must also write what it has read.
  private static func reads<Document: TrustDocument>(_ type: Document.Type, _ payload: [UInt8]) -> Bool {
    guard
      let envelope = try? Envelope(payloadType: Document.payloadType, payload: payload, signatures: []),
      let signed = try? Signed<Document>(envelope)
    else { return false }
    #expect((try? Document(json: signed.document.json)) == signed.document)
    return true
  }

  @Test func contents() throws {
    for sample in try Self.cases("contents") {
      var content = BundleContent()
      for item in try Self.items(try #require(sample["resourcemap"]))
      where item.entry.others["bundle"] == sample["bundle"] {
        content.append(item)
      }
      let copy = content
      #expect(String(decoding: copy.bytes(), as: UTF8.self) == (try sample.string("canonical")))
      #expect(content.digest().hex == (try sample.string("digest")))
    }
  }

  @Test func checks() throws {
    let checks = try #require(try Self.vectors()["checks"])
    let cases = try #require(checks["cases"]?.array)
    #expect(cases.count > 100)
    for sample in cases {
      var device = try VectorDevice(sample, checks)
      for step in sample["steps"]?.array ?? [] { try device.run(step) }
    }
  }

  /// Each result that the check has occurs in the vectors.
  @Test func everyResultHasAVector() throws {
    let cases = try Self.vectors()["checks"]?["cases"]?.array ?? []
    let results = Set(cases.flatMap { $0["steps"]?.array ?? [] }.compactMap { $0["result"]?.string })
    #expect(results == Set(TrustFailure.allCases.map(\.rawValue)))
  }

  fileprivate static func vectors() throws -> JSONValue {
    let path = Repository.root + "/Tests/Conformance/trust/vectors.json"
    return try JSONValue.parse(try #require(try DurableFile.read(path)))
  }

  private static func cases(_ name: String) throws -> [JSONValue] {
    let cases = try vectors()[name]?.array ?? []
    try #require(!cases.isEmpty)
    return cases
  }

  private static func document(named name: String) throws -> [UInt8]? {
    try vectors()["checks"]?["envelopes"]?[name]?.canonical
  }

  fileprivate static func items(_ map: JSONValue) throws -> [ManifestItem] {
    try (map.object?.members ?? []).map {
      ManifestItem(url: try ResourceURL($0.key), entry: try Entry(json: $0.value))
    }
  }
}

/// A device that does what a vector's steps say.
private struct VectorDevice {
  let what: String
  let checks: JSONValue
  let check: TrustCheck<SystemVerifier>
  var state: TrustState
  var taken: [BundleName: TrustState.Release]?

  init(_ sample: JSONValue, _ checks: JSONValue) throws {
    what = try sample.string("what")
    self.checks = checks
    let place = TrustPlace(
      app: try AppName(try sample.string("app")),
      environment: sample["environment"]?.string.flatMap { TrustEnvironment($0) },
      channel: try ChannelName(try sample.string("channel")))
    check = TrustCheck(place: place, verifier: SystemVerifier())
    let envelope = try #require(checks["envelopes"]?[try sample.string("builtIn")])
    state = TrustState(builtIn: try Signed(json: envelope))
  }

  mutating func run(_ step: JSONValue) throws {
    if let name = step["start"]?.string {
      state.start(builtIn: try Signed(json: try #require(checks["envelopes"]?[name])))
    } else if step["switch"] != nil {
      state.take(try #require(taken, "\(what)"))
    } else if step["proved"] != nil {
      state.recordProof(in: check.place.channel)
    } else {
      let now = try #require(TrustTime(try step.size("now")))
      let verdict = check.check(try offer(step), state: state, now: now)
      #expect(verdict.failure?.rawValue == step["result"]?.string, "\(what)")
      #expect(verdict.isCandidate == (step["candidate"] != nil), "\(what)")
      #expect(verdict.isStale == (step["stale"] != nil), "\(what)")
      #expect((verdict.releases != nil) == (verdict.isGood && step["manifest"] != nil), "\(what)")
      state = verdict.state
      taken = verdict.releases
    }
    #expect(stored == step["stored"], "\(what)")
  }

  private func received<Document>(_ value: JSONValue) throws -> Received<Document> {
    Received(json: try #require(checks["envelopes"]?[value.string ?? ""]))
  }

  private func offer(_ step: JSONValue) throws -> TrustOffer {
    var offer = TrustOffer()
    offer.rootNumber = step["root"]?.string.flatMap { RootNumber(text: $0) }
    offer.roots = try (step["roots"]?.array ?? []).map { try received($0) }
    offer.head = try step["head"].map { try received($0) }
    offer.releases = try (step["releases"]?.array ?? []).map { try received($0) }
    offer.policy = step["policy"]?.string.flatMap { Int64($0) }
    if let manifest = step["manifest"] {
      let map = try #require(checks["resourcemaps"]?[try manifest.string("resourcemap")])
      let version = try #require(ManifestVersion(text: try manifest.string("version")))
      offer.manifest = TrustOffer.Manifest(
        Manifest(version: version, items: try TrustVectorTests.items(map)))
    }
    if let prefetch = step["prefetch"] {
      offer.prefetch = TrustOffer.Prefetch(
        version: Int64(try prefetch.string("version")) ?? -1,
        digest: SHA256.of(try #require(prefetch["config"]).canonical),
        statement: try prefetch["statement"].map { try received($0) })
    }
    return offer
  }

  /// What is stored, as vectors have it.
  private var stored: JSONValue {
    var floors = JSONObject()
    for (bundle, floor) in state.floors { floors[bundle.text] = .integer(floor.number) }
    var releases = JSONObject()
    for (bundle, release) in state.releases {
      releases[bundle.text] = [
        "leaves": .integer(release.floor.number), "serial": .integer(release.statement.serial.number),
        "signers": .strings(release.signers.map(\.text)),
      ]
    }
    return [
      "at": state.head.map { .integer($0.head.at.milliseconds) } ?? .null, "floors": .object(floors),
      "head": state.head.map { .string($0.head.version.text) } ?? .null,
      "prefetchFloor": .integer(state.prefetchFloor.number), "releases": .object(releases),
      "root": .string(state.root.number.text), "signers": .strings(state.head?.signers.map(\.text) ?? []),
    ]
  }
}

extension JSONValue {
  fileprivate func bytes(_ key: String) throws -> [UInt8] {
    let text = try string(key)
    return try #require(Hex.decode(text, count: text.utf8.count / 2))
  }
}
