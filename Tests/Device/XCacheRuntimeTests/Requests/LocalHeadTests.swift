import HTTP
import DeviceTestSupport
import Manifests
import System
import Testing
import Values

@testable import XCacheDevice
@testable import XCacheRuntime

/// Status and headers of local answers.
@Suite struct LocalHeadTests {
  static let body = bytes("0123456789")

  private static func file(
    _ content: [UInt8] = body, at url: String = "https://m.test/a.css",
    _ headers: [String: String] = ["Content-Security-Policy": "default-src 'self'"]
  ) throws -> ListedFile {
    let sha256 = SHA256.of(content).hex
    let entry = try Entry(
      json: JSONValue.parse(
        bytes(
          """
          {"ctype":"text/css;charset=UTF-8","download":"https://cdn.test/x/xcache/1/1/1/\(sha256)/f",\
          "headers":{\(headers.map { "\"\($0.key)\":\"\($0.value)\"" }.joined(separator: ","))},\
          "md5":"\(MD5.of(content).hex)","sha256":"\(sha256)","size":\(content.count),"version":"1"}
          """)))
    let item = ManifestItem(url: try ResourceURL(url), entry: entry)
    var kinds = EntryKinds()
    return ListedFile(try HeldEntry(item, sharing: &kinds), of: ManifestVersion(1))
  }

  private static func head(
    _ headers: HTTPFields, method: String = "GET", mode: PageRequest.Mode = .noCORS,
    credentials: Bool = false, of content: [UInt8] = body
  ) throws -> LocalHead? {
    let request = PageRequest(
      "https://m.test/a.css", method: method, headers: headers, mode: mode, hasCredentials: credentials)
    return LocalHead(request, try file(content)) { $0.hasSuffix(".test") }
  }

  private static var tag: String { "\"\(MD5.of(body).hex)\"" }

  @Test func completeFiles() throws {
    let head = try #require(try Self.head([]))
    #expect(head.status == 200 && head.range == 0..<10)
    #expect(
      head.headers.map { "\($0.name): \($0.value)" } == [
        "ETag: \(Self.tag)", "X-Content-Type-Options: nosniff", "Content-Security-Policy: default-src 'self'",
        "Content-Type: text/css;charset=UTF-8", "Accept-Ranges: bytes", "Content-Length: 10",
      ])
  }

  @Test(arguments: [
    ("bytes=0-0", 206, 0..<1), ("bytes=2-", 206, 2..<10), ("BYTES= 2-4", 206, 2..<5),
    ("bytes=-3", 206, 7..<10),
    ("bytes=5-99999999999999999999", 206, 5..<10), ("bytes=-99999999999999999999", 206, 0..<10),
    ("bytes=10-", 416, 0..<0), ("bytes=-0", 416, 0..<0), ("bytes=99999999999999999999-", 416, 0..<0),
    // Ranges that may be ignored: the whole file is sent.
    ("bytes=4-2", 200, 0..<10), ("bytes=0-1,3-4", 200, 0..<10), ("bytes=", 200, 0..<10),
    ("bytes=-", 200, 0..<10),
    ("lines=1-2", 200, 0..<10), ("bytes=a-b", 200, 0..<10), ("bytes=--1", 200, 0..<10), ("", 200, 0..<10),
    ("bytes=+1-2", 200, 0..<10), ("bytes = 2-4", 200, 0..<10), ("bytes=2 - 4", 200, 0..<10),
    ("bytes=0-1,20-", 200, 0..<10),
    // A list may have empty members (RFC 9110 §5.6.1).
    ("bytes=0-1,", 206, 0..<2),
  ])
  func ranges(text: String, status: Int, range: Range<Int64>) throws {
    let head = try #require(try Self.head([("Range", text)]))
    #expect(head.status == status && head.range == range)
    let fields = Dictionary(head.headers.map { ($0.name, $0.value) }) { first, _ in first }
    #expect(fields["Content-Length"] == "\(range.count)")
    switch status {
    case 206: #expect(fields["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/10")
    case 416: #expect(fields["Content-Range"] == "bytes */10")
    default: #expect(fields["Content-Range"] == nil)
    }
  }

  @Test(arguments: [("bytes=0-", 416), ("bytes=-1", 200)])
  func rangesOfEmptyFiles(text: String, status: Int) throws {
    #expect(try Self.head([("range", text)], of: [])?.status == status)
    #expect(try Self.head([], of: [])?.status == 200)
  }

  /// "GET is the only method for which range handling is defined" (RFC 9110 §14.2).
  @Test(arguments: ["bytes=2-4", "bytes=10-"])
  func rangesOfHEAD(text: String) throws {
    let head = try #require(try Self.head([("Range", text)], method: "HEAD"))
    #expect(head.status == 200 && head.range == 0..<10)
    #expect(head.headers.contains { $0.name == "Content-Length" && $0.value == "10" })
    #expect(!head.headers.contains { $0.name == "Content-Range" })
  }

  @Test func conditions() throws {
    #expect(try Self.head([("If-None-Match", Self.tag)])?.status == 304)
    #expect(try Self.head([("if-none-match", "\"x\", W/\(Self.tag)")])?.status == 304)
    #expect(try Self.head([("If-None-Match", "*")])?.status == 304)
    #expect(try Self.head([("If-None-Match", "\"x\""), ("if-none-match", Self.tag)])?.status == 304)
    #expect(try Self.head([("If-None-Match", "\"x, \(Self.tag.dropFirst())")])?.status == 200)
    #expect(try Self.head([("If-None-Match", "\"x\"")])?.status == 200)
    #expect(try Self.head([("Range", "bytes=0-1"), ("If-Range", Self.tag)])?.status == 206)
    #expect(try Self.head([("Range", "bytes=0-1"), ("If-Range", "\"x\"")])?.status == 200)
    #expect(try Self.head([("Range", "bytes=0-1"), ("If-Range", "W/\(Self.tag)")])?.status == 200)
    // Two of them may contradict each other.
    #expect(try Self.head([("Range", "bytes=0-1"), ("Range", "bytes=4-")])?.status == 200)
    // Conditions that the server must evaluate.
    #expect(try Self.head([("If-Match", Self.tag)]) == nil)
    #expect(try Self.head([("If-Unmodified-Since", "Sun, 22 Nov 2026 00:00:00 GMT")]) == nil)
  }

  /// Exactly the headers that an entry may have are sent.
  @Test func headersOfEntries() throws {
    #expect(LocalHead.ofEntries == Set(EntryHeaders.Name.allCases.map(\.rawValue)))
    let listed = Dictionary(
      uniqueKeysWithValues: (LocalHead.ofEntries.sorted() + [
        "Set-Cookie", "Transfer-Encoding", "Connection", "Location", "Access-Control-Allow-Origin",
      ]).map { ($0, "x") })
    let head = try #require(
      LocalHead(
        PageRequest("https://m.test/a.css"), try Self.file(Self.body, at: "https://m.test/a.css", listed)
      ) { _ in true })
    #expect(Set(head.headers.filter { $0.value == "x" }.map(\.name)) == LocalHead.ofEntries)
  }

  /// A worker with a scope beyond its script's folder would outlive the page and the policy.
  @Test(arguments: [
    ("/", false), ("/a/", false), ("/a/b/", true), ("/a/b/c", true), ("/a/b/../", false), ("./", false),
    ("https://m.test/a/b/", false), ("/a/bc", false),
  ])
  func widerScopesOfWorkersAreLeftToTheServer(scope: String, isLocal: Bool) throws {
    let file = try Self.file(Self.body, at: "https://m.test/a/b/sw.js", ["Service-Worker-Allowed": scope])
    let script = PageRequest(file.url, headers: [("Service-Worker", "script")], destination: .worker)
    #expect((LocalHead(script, file) { _ in true } != nil) == isLocal)
    // For other requests the header doesn't matter.
    #expect(LocalHead(PageRequest(file.url), file) { _ in true } != nil)
    let plain = try Self.file(at: file.url)
    #expect(LocalHead(script, plain) { _ in true } != nil)
  }

  @Test func otherOrigins() throws {
    func allowed(_ head: LocalHead?) -> [String] {
      head?.headers.filter { $0.name.hasPrefix("Access-") || $0.name == "Vary" }.map(\.value) ?? ["none"]
    }
    let origin: HTTPFields = [("Origin", "https://other.test")]
    #expect(allowed(try Self.head(origin)) == [])
    #expect(allowed(try Self.head(origin, mode: .cors)) == ["*"])
    #expect(
      allowed(try Self.head(origin, mode: .cors, credentials: true)) == [
        "https://other.test", "true", "Origin",
      ])
    #expect(allowed(try Self.head([("Origin", "https://evil.example")], mode: .cors)) == ["none"])
    #expect(allowed(try Self.head([("Origin", "null")], mode: .cors)) == ["none"])
  }
}
