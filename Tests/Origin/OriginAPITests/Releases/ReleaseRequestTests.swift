import Manifests
import OriginAPI
import System
import Testing
import Values

/// The body of a release request, which is written in pieces.
@Suite struct ReleaseRequestTests {
  private static func content(
    _ text: String, headers: EntryHeaders = EntryHeaders(), fallbacks: PageFallbacks = PageFallbacks(),
    isLazy: Bool = false
  ) throws -> ResourceContent {
    var hasher = FileHasher()
    hasher.update(Array(text.utf8).span.bytes)
    return ResourceContent(
      hasher.finish(), ctype: try #require(ContentType("text/html; charset=\"a b\"")), headers: headers,
      fallbacks: fallbacks, isLazy: isLazy)
  }

  private static func text(_ request: ReleaseRequest) -> String {
    String(decoding: request.json, as: UTF8.self)
  }

  @Test func minimalRequest() {
    let request = ReleaseRequest(changes: [], options: ReleaseOptions())
    #expect(
      Self.text(request) == #"{"bundles":[],"dryRun":false,"ifVersion":null,"message":"","now":false}"#)
  }

  /// The pieces give the canonical form of the JSON value: sorted members, one form of escapes.
  @Test func isCanonical() throws {
    let headers = try EntryHeaders(known: ["X-Frame-Options": "DENY"])
    let urls = try ["https://m.example.com/", "https://m.example.com/a%22b.js", "https://m.example.com/é.js"]
      .map { try ResourceURL($0) }.sorted { $0.text < $1.text }
    let set = try urls.enumerated().map { index, url in
      (url: url, content: try Self.content("\(index)", headers: index == 1 ? headers : EntryHeaders()))
    }
    var options = ReleaseOptions(
      message: "line\n\"two\" \u{1F600}\u{7F}\u{0}", now: true, dryRun: true, ifVersion: "9",
      breakGlass: "fire")
    options.replaces = ManifestVersion(8)
    let request = ReleaseRequest(
      changes: [
        .update(
          try BundleName("web"), base: ManifestVersion(7), set: set, remove: ["https://m.example.com/\"x\""]),
        .unpublish(try BundleName("old")),
        .update(try BundleName("empty"), base: .none, set: [], remove: []),
      ], options: options)
    let json = try JSONValue.parse(request.json)
    #expect(Self.text(request) == String(decoding: json.canonical, as: UTF8.self))
    let keys = try #require(json.object).members.map(\.key)
    #expect(keys == ["breakGlass", "bundles", "dryRun", "ifVersion", "message", "now", "replaces"])
    let bundles = try #require(json["bundles"]?.array)
    #expect(bundles.map { $0["bundle"] } == ["web", "old", "empty"])
    #expect(bundles[1] == ["bundle": "old", "unpublish": true])
    #expect(bundles[2] == ["base": "0", "bundle": "empty", "remove": [], "set": [:]])
    #expect(bundles[0]["set"]?.object?.members.count == 3)
    for resource in set {
      let written = try #require(bundles[0]["set"]?[resource.url.text])
      #expect(try ResourceContent(json: written) == resource.content)
    }
  }

  /// Contents with headers, fallbacks or `lazy`, and without, are written in two ways, which must agree.
  @Test func contentsEqualTheirJSON() throws {
    for headers in [EntryHeaders(), try EntryHeaders(known: ["Referrer-Policy": "no-referrer"])] {
      for fallbacks in [PageFallbacks(), try PageFallbacks([.init(prefix: "/app/", except: ["/app/*.*"])])] {
        for isLazy in [false, true] {
          let content = try Self.content("x", headers: headers, fallbacks: fallbacks, isLazy: isLazy)
          var out: [UInt8] = []
          content.appendJSON(to: &out)
          #expect(out == content.json.canonical)
          #expect(try ResourceContent(json: JSONValue.parse(out)) == content)
        }
      }
    }
  }

  @Test func updateCosts() {
    #expect(TransferCost(files: 3, deltas: 0, bytes: 100, plainBytes: 100).total == 100)
    #expect(TransferCost(files: 3, deltas: 0, bytes: 100, plainBytes: 100, answer: 7, pack: 60).total == 67)
    let most = TransferCost(files: 1, deltas: 0, bytes: .max, plainBytes: .max, answer: .max)
    #expect(most.total == .max && most.wireBytes == .max)
  }

  /// An older origin doesn't give the sum.
  @Test func costsOfAnOlderOrigin() throws {
    let text = #"{"answer":7,"bytes":100,"deltas":0,"files":3,"pack":60,"plainBytes":100}"#
    let cost = try JSONValue.parse(Array(text.utf8)).decode(TransferCost.self)
    #expect(cost.total == nil && cost.wireBytes == 67)
  }

  @Test func knownCostsOfAPreparation() {
    let cost = TransferCost(files: 1, deltas: 0, bytes: 1, plainBytes: 1)
    var costs = PreparationAnswer.Costs()
    #expect(!costs.isKnown && !costs.isFirst)
    costs.new = cost
    #expect(costs.isKnown && costs.isFirst)
    costs.last1 = cost
    #expect(costs.isKnown && !costs.isFirst)
  }

  @Test func anyCountChangesABundle() {
    func isChanged(_ added: Int, _ changed: Int, _ removed: Int) -> Bool {
      ReleaseAnswer.Bundle(
        bundle: "b", counts: ChangeCounts(added: added, changed: changed, removed: removed), replaced: nil
      ).isChanged
    }
    #expect(!isChanged(0, 0, 0) && isChanged(1, 0, 0) && isChanged(0, 1, 0) && isChanged(0, 0, 1))
  }
}
