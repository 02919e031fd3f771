import System
import Testing
import TestSupport
import TLSPeer

@testable import DeviceApple

/// Decisions of the adapter for Apple's engine that need no engine.
@Suite struct AppleRulesTests {
  /// `Arrivals` in a class, so that `#expect` can call its mutating methods.
  private final class ArrivalsBox {
    var value = Arrivals<String>()
    var count: Int { value.count }
    func expect(_ port: UInt16) { value.expect(port) }
    func add(_ name: String, _ port: UInt16, at now: UInt64 = 0) -> [String] {
      value.add(name, from: port, at: now)
    }
    func take(_ port: UInt16) -> String? { value.take(port) }
    func forget(_ port: UInt16) -> String? { value.forget(port) }
  }

  @Test func connectionsAreMatchedByTheirPort() {
    let arrivals = ArrivalsBox()
    arrivals.expect(1000)
    #expect(arrivals.take(1000) == nil)
    #expect(arrivals.add("ours", 1000) == [] && arrivals.add("a stranger's", 2000) == [])
    #expect(arrivals.take(1000) == "ours" && arrivals.take(1000) == nil && arrivals.count == 1)
    // It may arrive before its port is expected.
    #expect(arrivals.add("early", 3000) == [])
    arrivals.expect(3000)
    #expect(arrivals.take(3000) == "early")
  }

  @Test func otherConnectionsAreClosed() {
    let arrivals = ArrivalsBox()
    #expect(arrivals.add("a", 1) == [] && arrivals.add("b", 1) == ["a"])
    #expect(arrivals.add("c", 2, at: 5_000_000_001) == ["b"])
    for port in 100..<163 { #expect(arrivals.add("\(port)", UInt16(port), at: 5_000_000_001) == []) }
    #expect(arrivals.add("one too many", 999, at: 5_000_000_001) == ["one too many"])
    arrivals.expect(1000)
    #expect(arrivals.add("ours", 1000, at: 5_000_000_001) == [] && arrivals.take(1000) == "ours")
    arrivals.expect(1001)
    #expect(arrivals.forget(1001) == nil && arrivals.forget(2) == "c")
  }

  @Test func reloadsAfterCrashesAreLimited() {
    var limit = ReloadLimit()
    let second: UInt64 = 1_000_000_000
    let allowed = [0, 1, 2, 3, 59, 61, 62, 62, 63, 200].map { limit.allows(at: $0 * second) }
    #expect(allowed == [true, true, true, false, false, true, true, false, true, true])
  }

  /// `LiveTasks` in a class, so that `#expect` can call its mutating methods.
  private final class Tasks {
    var value = LiveTasks<String, String>()
    var count: Int { value.count }
    func start(_ key: String, _ task: String) -> Int { value.start(key, task) }
    func finish(_ number: Int) -> String? { value.finish(number) }
    func stop(_ key: String) -> Int? { value.stop(key) }
    subscript(number: Int) -> String? { value[number] }
  }

  @Test func stoppedTasksAreNotAnswered() {
    let tasks = Tasks()
    let (first, second) = (tasks.start("place", "one"), tasks.start("other place", "two"))
    #expect(tasks[first] == "one" && tasks[second] == "two")
    #expect(tasks.stop("place") == first && tasks[first] == nil && tasks.finish(first) == nil)
    // The next task has the first one's address, and doesn't get its answer.
    let third = tasks.start("place", "three")
    #expect(third != first && tasks[first] == nil && tasks.finish(first) == nil && tasks[third] == "three")
    #expect(tasks.finish(third) == "three" && tasks.finish(third) == nil && tasks.stop("place") == nil)
    #expect(tasks.finish(second) == "two" && tasks.count == 0)
  }

  @Test(arguments: ["m.example.com", "127.0.0.1", "[2001:db8::1]"])
  func certificatesAreValidForOpenSSL(_ host: String) throws {
    let folder = try Certificates()
    func path(_ name: String) -> String { "\(folder.folder)/\(name)" }
    let key = path("key.pem")
    try Certificates.openssl(["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key])
    try Certificates.openssl(["ec", "-in", key, "-pubout", "-outform", "DER", "-out", path("public")])
    let point = try #require(try DurableFile.read(path("public"))).suffix(65)
    let now = Clock.unixMilliseconds() / 1000
    let body = OwnCertificate.body(
      host: host, key: Array(point), serial: [0, 0xFF, 1], seconds: now - 60..<now + 60)
    try DurableFile.write(body, to: path("body"))
    try Certificates.openssl(["dgst", "-sha256", "-sign", key, "-out", path("signature"), path("body")])
    let signature = try #require(try DurableFile.read(path("signature")))
    try DurableFile.write(OwnCertificate.whole(body, signature: signature), to: path("der"))
    try Certificates.openssl(["x509", "-inform", "DER", "-in", path("der"), "-out", path("pem")])
    let isName = host == "m.example.com"
    let bare = host.filter { $0 != "[" && $0 != "]" }
    func verify(_ words: [String]) throws {
      try Certificates.openssl(["verify", "-x509_strict", "-CAfile", path("pem")] + words + [path("pem")])
    }
    try verify(["-purpose", "sslserver", isName ? "-verify_hostname" : "-verify_ip", bare])
    // Not for other hosts, not for clients, and only for a limited time.
    #expect(throws: Certificates.Failed.self) { try verify(["-verify_hostname", "bank.example.com"]) }
    #expect(throws: Certificates.Failed.self) { try verify(["-purpose", "sslclient"]) }
    #expect(throws: Certificates.Failed.self) { try verify(["-attime", "\(now + 120)"]) }
  }

  @Test func encodingOfDER() {
    #expect(DER.integer([0, 0]) == [2, 1, 0] && DER.integer([0x80]) == [2, 2, 0, 0x80])
    #expect(DER.object([1, 2, 840, 10045, 2, 1]) == [6, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1])
    #expect(DER.tagged(4, [UInt8](repeating: 1, count: 128)).prefix(3) == [4, 0x81, 128])
    #expect(DER.tagged(4, [UInt8](repeating: 1, count: 300)).prefix(4) == [4, 0x82, 1, 44])
    #expect(DER.time(2_524_607_999) == [0x17, 13] + Array("491231235959Z".utf8))
    #expect(DER.time(2_524_608_000) == [0x18, 15] + Array("20500101000000Z".utf8))
  }

  /// The code in docs/guide-ios.md is from Examples/ios, which `make check-apple` type-checks.
  @Test func guidesCodeIsInTheExample() throws {
    let root = Repository.root
    func text(_ path: String) throws -> String {
      String(decoding: try #require(try DurableFile.read("\(root)/\(path)")), as: UTF8.self)
    }
    let example = try ["AppDelegate", "Shop", "SceneDelegate", "PageViewController"]
      .map { try text("Examples/ios/Shop/\($0).swift") }.joined()
    let lines = Set(example.split(separator: "\n").map { $0.drop { $0 == " " } })
    let blocks = try text("docs/guide-ios.md").split(separator: "```swift\n").dropFirst()
    let shown = blocks.flatMap { $0.prefix { $0 != "`" }.split(separator: "\n") }
    #expect(blocks.count == 4 && shown.filter { !lines.contains($0) } == [])
  }
}
