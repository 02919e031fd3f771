import Manifests
import System
import Testing
import TestSupport
import Values

@Suite struct ConfigureAnswerTests {
  private static let digest = String(repeating: "ab", count: 32)

  private func parse(_ text: String) throws -> ConfigureAnswer { try .parse(Array(text.utf8)) }

  @Test(
    arguments: [
      (#"{}"#, .member("code")), (#"{"code":"200"}"#, .member("code")), (#"{"code":200}"#, .member("data")),
      (#"[]"#, .unexpected(at: 0)), (#"{"code":200,"data":null}"#, .unexpected(at: 19)),
      (#"{"code":200,"data":{}}"#, .member("version")),
      (#"{"code":200,"data":{"version":"1"}}"#, .member("update")),
      (#"{"code":200,"data":{"update":false,"version":1}}"#, .member("version")),
      (#"{"code":200,"data":{"update":false,"version":"01"}}"#, .member("version")),
      (#"{"code":200,"data":{"update":0,"version":"1"}}"#, .member("update")),
      (#"{"code":200,"data":{"update":true,"version":"1"}}"#, .member("digest")),
      (#"{"code":200,"data":{"digest":"x","update":true,"version":"1"}}"#, .member("digest")),
      (#"{"code":200,"data":{"digest":"D","update":true,"version":"1"}}"#, .member("resourcemap")),
      (#"{"code":200,"data":{"digest":"D","patch":{},"update":true,"version":"1"}}"#, .member("base")),
      (
        #"{"code":200,"data":{"base":"0","digest":"D","patch":{},"resourcemap":{},"update":true,"version":"1"}}"#,
        .member("patch")
      ),
      (
        #"{"code":200,"data":{"digest":"D","resourcemap":{"https://a":{}},"update":true,"version":"1"}}"#,
        .member("https://a")
      ),
      (
        #"{"code":200,"data":{"digest":"D","resourcemap":{"file:///a":{}},"update":true,"version":"1"}}"#,
        .member("file:///a")
      ),
      (
        #"{"code":200,"data":{"digest":"D","resourcemap":{"https://a/":5},"update":true,"version":"1"}}"#,
        .member("resourcemap")
      ),
      (
        #"{"code":200,"data":{"digest":"D","resourcemap":{"https://a/":{}},"update":true,"version":"1"}}"#,
        .member("ctype")
      ),
      (
        #"{"code":200,"data":{"base":"0","digest":"D","patch":{"https://a/":1,"https://a/":2},"update":true}}"#,
        .duplicateKey("https://a/")
      ),
      (#"{"code":200,"data":{"update":false,"update":true,"version":"1"}}"#, .duplicateKey("update")),
      (#"{"code":200,"data":{"deltas":{"https://a/":{}},"update":false,"version":"1"}}"#, .member("base")),
      (#"{"code":200,"data":{"interval":"60","update":false,"version":"1"}}"#, .member("interval")),
      (#"{"code":200,"data":{"policy":3,"update":false,"version":"1"}}"#, .member("policy")),
      (#"{"code":200,"data":{"update":false,"version":"1"}} x"#, .trailing(at: 51)),
    ] as [(String, JSONError)])
  func invalidAnswersAreRefused(_ text: String, _ error: JSONError) {
    let parts = text.split(separator: "\"D\"", omittingEmptySubsequences: false)
    #expect(throws: error) { try self.parse(parts.joined(separator: "\"\(Self.digest)\"")) }
  }

  @Test func unknownMembersAreIgnored() throws {
    let answer = try parse(
      #"{"a":[{"b":1}],"code":200,"data":{"signature":{"x":1},"update":false,"version":"7"},"z":null}"#)
    #expect(answer == .upToDate(ManifestVersion(7), .none))
  }

  @Test(arguments: [
    ("1", 30), ("-5", 30), ("30", 30), ("3600", 3600), ("99999999", 3600), ("9223372036854775807", 3600),
    ("9007199254740993", 3600), ("1e400", 3600), ("-1e400", 30), ("59.9", 59), ("6e1", 60), ("-0", 30),
  ])
  func intervalsAreClamped(_ text: String, _ seconds: Int) throws {
    let answer = try parse(#"{"code":200,"data":{"interval":\#(text),"update":false,"version":"7"}}"#)
    #expect(answer.extras.interval == seconds)
  }

  @Test(arguments: [
    ("-1", 0), ("0", 0), ("10000", 10_000), ("9223372036854775807", 10_000), ("1e99", 10_000),
  ])
  func shareOfReportsIsClamped(_ text: String, _ share: Int) throws {
    let answer = try parse(#"{"code":200,"data":{"reports":\#(text),"update":false,"version":"7"}}"#)
    #expect(answer.extras.reports == share)
  }

  @Test(arguments: [
    ("10", 10), ("0", 1), ("-7", 1), ("61", 60), ("1e400", 60), ("2.5", 2),
    ("\"10\"", nil), ("true", nil), ("null", nil), ("[10]", nil), (#"{"a":[1,2]}"#, nil),
  ])
  func edgeIsClampedOrLeftOut(_ text: String, _ seconds: Int?) throws {
    let answer = try parse(#"{"code":200,"data":{"edge":\#(text),"update":false,"version":"7"}}"#)
    #expect(answer == .upToDate(ManifestVersion(7), AnswerExtras(edge: seconds)))
  }

  /// Error samples are off by 0 alone.
  @Test(arguments: [
    ("0", 0), ("1", nil), ("-0", nil), ("0.5", nil), ("1e400", nil), ("\"0\"", nil), ("false", nil),
    ("null", nil), ("[0]", nil),
    (#"{"a":[1,2]}"#, nil),
  ])
  func samplesAreOffOrLeftOut(_ text: String, _ samples: Int?) throws {
    let answer = try parse(#"{"code":200,"data":{"samples":\#(text),"update":false,"version":"7"}}"#)
    #expect(answer == .upToDate(ManifestVersion(7), AnswerExtras(samples: samples)))
    // Canonical, so that the member stands where its name sorts.
    let extras = AnswerExtras(reports: 5, samples: 0, rollback: ManifestVersion(3), root: 4)
    let whole = Documents.whole(ManifestVersion(7), .empty, extras: extras, trust: Array("{}".utf8))
    #expect(try JSONValue.parse(whole).canonical == whole)
    #expect(try ConfigureAnswer.parse(whole).extras == extras)
  }

  @Test func failuresNeedNoMessage() throws {
    #expect(try parse(#"{"code":500,"data":{}}"#) == .failure(code: 500, message: ""))
  }

  private func patch(_ patch: String, base: Int = 1, digest: SHA256) throws -> PatchAnswer? {
    let frame = Documents.patch(
      ManifestVersion(2), digest: digest, base: DocumentBase(ManifestVersion(Int64(base))))
    guard case .patch(let answer) = try ConfigureAnswer.parse(frame.around(Array(patch.utf8))) else {
      return nil
    }
    return answer
  }

  @Test func patchesOfAnotherBaseOrDigestAreRefused() throws {
    let url = try ResourceURL("https://a/b")
    let held = Manifest(
      version: ManifestVersion(1), items: [ManifestItem(url: url, entry: Samples.entry("x"))])
    let empty = ResourceMap.empty.digest

    let good = try #require(try patch(#"{"https://a/b":null,"https://a/none":null}"#, digest: empty))
    #expect(try held.applying(good).items.isEmpty)

    let other = try #require(try patch("{}", base: 9, digest: held.map.digest))
    #expect(throws: ManifestMismatch.base(expected: ManifestVersion(9), held: held.version)) {
      try held.applying(other)
    }
    let wrong = try #require(try patch("{}", digest: empty))
    #expect(throws: ManifestMismatch.digest(expected: empty, actual: held.map.digest)) {
      try held.applying(wrong)
    }
    for broken in ["5", "[]", "{\"size\":-1}", "{\"md5\":null}"] {
      let answer = try #require(try patch("{\"https://a/b\":\(broken)}", digest: empty))
      #expect(throws: ManifestMismatch.self) { try held.applying(answer) }
    }
  }

  @Test func partialEntriesAreMerged() throws {
    let url = try ResourceURL("https://a/b")
    let held = Manifest(
      version: ManifestVersion(1), items: [ManifestItem(url: url, entry: Samples.entry("x"))])
    var expected = try #require(held.items[0].entry.json.object)
    expected["size"] = 77
    let map = ResourceMap([ManifestItem(url: url, entry: try Entry(json: .object(expected)))])
    let answer = try #require(try patch(#"{"https://a/b":{"size":77}}"#, digest: map.digest))
    #expect(try held.applying(answer)[url]?.size == 77)
  }

  @Test func digestsOfWholeManifestsAreChecked() throws {
    let body = Documents.whole(ManifestVersion(1), digest: SHA256.of([])).around(Array("{}".utf8))
    guard case .whole(let answer) = try ConfigureAnswer.parse(body) else {
      Issue.record("a whole manifest is read as something else")
      return
    }
    #expect(throws: ManifestMismatch.digest(expected: SHA256.of([]), actual: ResourceMap.empty.digest)) {
      try answer.manifest()
    }
  }

  /// The manifest is as good without a first pack.
  @Test(arguments: [
    "null", "[]", "{}", "\"x\"", #"{"download":"https://a/","size":-1}"#, #"{"download":7,"size":1}"#,
    #"{"size":1}"#, #"{"download":"https://a/","size":9007199254740992}"#, #"{"download":"https://a/"}"#,
    "[" + String(repeating: "1,", count: 20_000) + "1]",
    #"{"download":"https://a/","size":1,"more":""# + String(repeating: "x", count: 20_000) + "\"}",
  ]) func firstPacksThatCannotBeAreIgnored(value: String) throws {
    let body = String(decoding: Documents.whole(ManifestVersion(1), .empty), as: UTF8.self)
    let named = body.replacing(#""resourcemap""#, with: #""first":\#(value),"resourcemap""#)
    guard case .whole(let answer) = try parse(named) else {
      Issue.record("a whole manifest is read as something else")
      return
    }
    #expect(answer.first == nil)
    #expect(try answer.manifest().items.isEmpty)
    // What isn't JSON is no answer.
    #expect((try? parse(body.replacing(#""resourcemap""#, with: #""first":{,"resourcemap""#))) == nil)
  }

  @Test func orderOfMembersDoesNotMatter() throws {
    let a = String(decoding: Samples.entry("a").canonicalJSON, as: UTF8.self)
    let b = String(decoding: Samples.entry("b").canonicalJSON, as: UTF8.self)
    let answer = try parse(
      #"{"data":{"version":"1","update":true,"resourcemap":{"https://b/":\#(b),"https://a/":\#(a)},"#
        + #""digest":"\#(Self.digest)"},"code":200}"#)
    guard case .whole(let whole) = answer else {
      Issue.record("a whole manifest is read as something else")
      return
    }
    // The expected digest is made up; the actual one in the error shows that both entries were read, in order.
    let items = [
      ManifestItem(url: try ResourceURL("https://a/"), entry: Samples.entry("a")),
      ManifestItem(url: try ResourceURL("https://b/"), entry: Samples.entry("b")),
    ]
    let expected = try #require(SHA256(hex: Self.digest))
    #expect(throws: ManifestMismatch.digest(expected: expected, actual: ResourceMap(items).digest)) {
      try whole.manifest()
    }
  }

  /// A body with a random change is refused, or has another digest, or gives the same manifest.
  @Test func mutatedBodiesNeverGiveAnotherManifest() throws {
    var random = SplitMix(seed: 10)
    let old = Samples.manifest(1, &random)
    let new = Samples.manifest(2, &random)
    let bodies = [
      Documents.whole(new.version, new.map),
      Documents.patch(
        new.version, digest: new.map.digest, base: DocumentBase(old.version),
        ManifestPatch(from: old.items, to: new.items)),
    ]
    var read = 0
    for number in 0..<3_000 {
      var body = bodies[number % 2]
      body[Int.random(in: 0..<body.count, using: &random)] = body.randomElement(using: &random) ?? 0
      switch try? ConfigureAnswer.parse(body) {
      case .whole(let answer):
        read += 1
        if let manifest = try? answer.manifest() { #expect(manifest.items == new.items) }
      case .patch(let answer):
        read += 1
        if let manifest = try? old.applying(answer) { #expect(manifest.items == new.items) }
      default: break
      }
    }
    #expect(read > 300)
  }
}
