import Manifests
import OriginAPI
import System
import Testing
import Values

@testable import Publishing

@Suite struct PlanTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// URL paths and contents, local and at the origin.
    let local: [(String, String)]
    let remote: [(String, String)]
    let put: [String]
    let remove: [String]
    let counts: [Int]
  }

  @Test(arguments: [
    Case(
      testDescription: "first", local: [("a", "1"), ("b", "2")], remote: [], put: ["a", "b"], remove: [],
      counts: [2, 0, 0]),
    Case(
      testDescription: "same", local: [("a", "1")], remote: [("a", "1")], put: [], remove: [],
      counts: [0, 0, 1]),
    Case(
      testDescription: "bytes", local: [("a", "1")], remote: [("a", "2")], put: ["a"], remove: [],
      counts: [0, 1, 0]),
    Case(
      testDescription: "all at once", local: [("b", "1"), ("c", "2"), ("e", "3")],
      remote: [("a", "0"), ("b", "1"), ("c", "x"), ("d", "0"), ("f", "0")], put: ["c", "e"],
      remove: ["a", "d", "f"],
      counts: [1, 1, 1]),
    Case(
      testDescription: "renamed", local: [("b", "1")], remote: [("a", "1")], put: ["b"], remove: ["a"],
      counts: [1, 0, 0]),
  ])
  func plans(_ item: Case) throws {
    let plan = Plan(
      try BundleName("main"), local: try item.local.map { try PlanTests.resource($0.0, $0.1) },
      remote: RemoteBundle(
        version: ManifestVersion(7),
        entries: try item.remote.map { .init(try PlanTests.resource($0.0, $0.1)) }))
    #expect(plan.put.map { String($0.url.path.dropFirst()) } == item.put)
    #expect(plan.remove == item.remove.map { "https://h/\($0)" })
    #expect([plan.added, plan.changed, plan.unchanged] == item.counts)
    #expect(plan.isEmpty == (item.put.isEmpty && item.remove.isEmpty))
    #expect(plan.base == ManifestVersion(7))
  }

  @Test(arguments: [
    RemoteBundle.Entry.Form(ctype: "text/other"),
    .init(ctype: "application/octet-stream", headers: #"{"X-Frame-Options":"DENY"}"#),
    .init(ctype: "application/octet-stream", fallbacks: #"[{"prefix":"/"}]"#),
    .init(ctype: "application/octet-stream", isLazy: true),
  ])
  func changedTypeHeadersFallbacksOrLazinessAreAChange(_ form: RemoteBundle.Entry.Form) throws {
    let local = try PlanTests.resource("a", "1")
    #expect(local.content.ctype.text == "application/octet-stream")
    let remote = RemoteBundle.Entry(
      url: "https://h/a", form: form, md5: local.content.md5, sha256: local.content.sha256, size: 1)
    let plan = Plan(
      try BundleName("b"), local: [local],
      remote: RemoteBundle(version: ManifestVersion(1), entries: [remote]))
    #expect(plan.changed == 1)
  }

  @Test func requestIsCanonicalJSON() throws {
    let plan = Plan(
      try BundleName("main"), local: [try PlanTests.resource("a", "1")],
      remote: RemoteBundle(version: ManifestVersion(9), entries: [.init(try PlanTests.resource("b", "2"))]))
    let request = ReleaseRequest(
      changes: [plan.change, .unpublish(try BundleName("old"))],
      options: ReleaseOptions(message: "say \"hi\"", now: true, ifVersion: "3"))
    let json = try JSONValue.parse(request.json)
    #expect(json.canonical == request.json)
    #expect(json["bundles"]?.array?.count == 2)
    #expect(json["bundles"]?.array?[0]["set"]?["https://h/a"]?["size"]?.integer == 1)
    #expect(json["bundles"]?.array?[0]["remove"]?.array == ["https://h/b"])
    #expect(json["bundles"]?.array?[1]["unpublish"]?.bool == true)
    #expect(json["ifVersion"]?.string == "3")
    #expect(json["message"]?.string == "say \"hi\"")
  }

  @Test func changesAreAppliedInOrder() throws {
    let entry = { (name: String, text: String) in RemoteBundle.Entry(try PlanTests.resource(name, text)) }
    let bundle = RemoteBundle(
      version: ManifestVersion(1), entries: [try entry("b", "1"), try entry("c", "1"), try entry("d", "1")])
    let after = bundle.applying(
      [
        ("https://h/a", try entry("a", "2")), ("https://h/c", nil), ("https://h/d", try entry("d", "2")),
        ("https://h/x", nil), ("https://h/z", try entry("z", "2")),
      ], version: ManifestVersion(2))
    #expect(after.version == ManifestVersion(2))
    #expect(
      after.entries == [try entry("a", "2"), try entry("b", "1"), try entry("d", "2"), try entry("z", "2")])
  }

  @Test func cachedEntriesRoundTrip() throws {
    let bundle = RemoteBundle(
      version: ManifestVersion(12),
      entries: try (100..<400).map { .init(try PlanTests.resource("f\($0).js", "\($0)")) })
    #expect(RemoteBundle(cached: bundle.cached) == bundle)
    for count in stride(from: 0, to: bundle.cached.count, by: 97) {
      #expect(RemoteBundle(cached: Array(bundle.cached.prefix(count))) == nil)
    }
  }

  static func resource(_ path: String, _ text: String) throws -> BuildFile {
    let status = try #require(try Kernel.status("/"))
    let bytes = Array(text.utf8)
    let source = SourceFile(location: path, path: path, status: status)
    return BuildFile(
      MappedFile(
        url: try ResourceURL("https://h/\(path)"), ctype: ContentType.of(fileName: path),
        headers: EntryHeaders(), file: source),
      HashedFile(
        source: source,
        digest: FileDigest(md5: MD5.of(bytes), sha256: SHA256.of(bytes), size: Int64(bytes.count))))
  }
}

@Suite struct UploadPlanTests {
  func files(_ sizes: [Int64]) throws -> [HashedFile] {
    let status = try #require(try Kernel.status("/"))
    return sizes.enumerated().map { index, size in
      HashedFile(
        source: SourceFile(location: "\(index)", path: "\(index)", status: status),
        digest: FileDigest(md5: MD5.of([]), sha256: SHA256.of([]), size: size))
    }
  }

  @Test func smallFilesArePackedAndLargeOnesGoFirst() throws {
    let plan = UploadPlan(try files([10, 65_535, 65_536, 9_000_000, 0]), connections: 4)
    let shape = plan.units.map { unit in
      switch unit {
      case .file(let file): [file.digest.size]
      case .pack(let files): files.map(\.digest.size)
      }
    }
    #expect(shape == [[9_000_000], [65_536], [10, 65_535, 0]])
    #expect(plan.bytes == 9_131_081)
  }

  @Test func packsAreBoundedAndShared() throws {
    let many = UploadPlan(try files(Array(repeating: 50_000, count: 2000)), connections: 4)
    for unit in many.units { #expect(unit.files.reduce(0) { $0 + $1.digest.size } <= UploadPlan.packCeiling) }
    #expect(many.units.reduce(0) { $0 + $1.files.count } == 2000)
    let few = UploadPlan(try files(Array(repeating: 50_000, count: 40)), connections: 4)
    #expect((4...6).contains(few.units.count))
    #expect(UploadPlan([], connections: 4).units.isEmpty)
    #expect(UploadPlan(try files([0]), connections: 4).units.count == 1)
  }

  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ])
  func base64(_ text: String, _ coded: String) {
    // RFC 4648 §10
    #expect(Base64.encode(Array(text.utf8)) == coded)
  }
}
