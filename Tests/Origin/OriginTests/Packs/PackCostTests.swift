import System
import Testing
import Values

@testable import Origin
@testable import Store

/// Forecasts of a release's packs, compared with the files.
@Suite struct PackCostTests {
  private static let online = "apps/shop/channels/online"

  /// Files that change from version to version, so that their numbers differ; some return to earlier bytes.
  private static func files(_ version: Int) throws -> [String: String] {
    var files: [String: String] = [:]
    for index in 0..<60 where index % 5 == version % 5 || version == 1 {
      let text = (0..<80).map { "let a\($0) = \($0 &* 7919 &+ index);" }.joined(separator: "\n")
      files["js/part\(index).js"] = text + (index % 3 == 0 ? "// \(version % 2)" : "// \(version)")
    }
    files["new\(version).js"] = "let version = \(version)"
    return files
  }

  private static func release(_ origin: TestOrigin, _ version: Int) throws -> JSONValue {
    try origin.release(try files(version), remove: version > 1 ? ["new\(version - 1).js"] : [])
  }

  static func prepare(_ origin: TestOrigin, _ release: JSONValue) throws -> JSONValue {
    var answer = try origin.api("POST", "\(online)/preparations", release).json
    let end = Clock.monotonicNanoseconds() + 20_000_000_000
    while answer["done"]?.bool != true, Clock.monotonicNanoseconds() < end {
      Clock.sleep(for: .milliseconds(10))
      let id: JSONValue = ["id": .string(answer["id"]?.string ?? "")]
      answer = try origin.api("POST", "\(online)/preparations", id).json
    }
    return try #require(answer["cost"])
  }

  /// Exact to the byte, from each version with a forecast, including the answers.
  @Test func costIsThePacksSize() throws {
    let origin = try TestOrigin()
    // Numbers of several digits, as after a year.
    for version in 1...12 {
      let reply = try origin.api("POST", "\(Self.online)/releases", Self.release(origin, version))
      #expect(reply.status == 201)
    }
    _ = try origin.api("POST", "\(Self.online)/settings", ["interval": 60])
    let release = try Self.release(origin, 13)
    let cost = try Self.prepare(origin, release)
    #expect(try origin.api("POST", "\(Self.online)/releases", release).status == 201)
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    for (name, base) in [("last1", 12), ("last2", 11), ("last5", 8)] {
      let poll = "/configure.json?app=shop&version=\(base)&patch=1&pack=1"
      let end = Clock.monotonicNanoseconds() + 20_000_000_000
      while try PackServingTests.pack(origin, poll) == nil, Clock.monotonicNanoseconds() < end {
        Clock.sleep(for: .milliseconds(10))
      }
      let (path, size) = try #require(try PackServingTests.pack(origin, poll))
      #expect(try origin.ask("GET", path).body.count == Int(size))
      #expect(cost[name]?["pack"]?.integer == size, "\(name)")
      let answer = try origin.ask("GET", poll).body.count
      #expect(cost[name]?["answer"]?.integer == Int64(answer), "\(name)")
      #expect(cost[name]?["total"]?.integer == size + Int64(answer))
    }
    let whole = try origin.ask("GET", "/configure.json?app=shop", ["Accept-Encoding: zstd"]).body.count
    #expect(cost["new"]?["answer"]?.integer == Int64(whole))
  }

  /// For past releases the digest is known, so answers without a pack are exact, too.
  @Test func costsOfPastReleasesAreExact() throws {
    let origin = try TestOrigin { $0.packs.largest = 0 }
    for version in 1...3 {
      let reply = try origin.api("POST", "\(Self.online)/releases", Self.release(origin, version))
      #expect(reply.status == 201)
    }
    func sent(_ query: String) throws -> Int64 {
      let poll = "/configure.json?app=shop\(query)"
      return Int64(try origin.ask("GET", poll, ["Accept-Encoding: zstd"]).body.count)
    }
    func forecast(_ path: String) throws -> Int64? {
      try origin.api("GET", "\(Self.online)/\(path)").json["cost"]?["answer"]?.integer
    }
    #expect(try forecast("releases/3") == sent("&version=2&patch=1&pack=1"))
    #expect(try forecast("diff?from=1&to=3") == sent("&version=1&patch=1&pack=1"))
    #expect(try forecast("diff?from=0&to=3") == sent(""))
    #expect(try origin.ask("GET", "/metrics").text.contains("xcache_pack_bytes 0\n"))
  }

  /// The cost of a first release includes its answer.
  @Test func firstReleaseIncludesItsAnswer() throws {
    let origin = try TestOrigin()
    let release = try Self.release(origin, 1)
    let cost = try Self.prepare(origin, release)
    #expect(cost["last1"] == nil)
    let forecast = try #require(cost["new"]?["answer"]?.integer)
    #expect(try origin.api("POST", "\(Self.online)/releases", release).status == 201)
    let answer = try origin.ask("GET", "/configure.json?app=shop", ["Accept-Encoding: zstd"]).body.count
    #expect(Int64(answer) == forecast)
    #expect(cost["new"]?["total"]?.integer == forecast + (cost["new"]?["bytes"]?.integer ?? 0))
  }
}
