import DeviceTestSupport
import System
import Testing
import TestSupport
import Values

@testable import XCacheDevice

@Suite struct ResourceTests {
  private static let page = "https://m.test/p%20a/index.html"
  private static let script = "https://m.test/app.js?v=1"
  let bench: Bench
  let device: Device
  var files: String { "\(bench.scratch.path)/device/files" }

  init() throws {
    bench = try Bench()
    try bench.origin.publish([
      Self.page: bytes("<p>"), Self.script: bytes("js"), "https://m.test/~x": bytes("x"),
    ])
    device = try bench.device()
    _ = try device.update()
    _ = bench.origin.takeLog()
  }

  @Test(arguments: [
    (page, "<p>"), ("HTTPS://M.test:443/p%20a/index.html#top", "<p>"),
    ("https://m.test/p a/index.html", "<p>"),
    ("https://m.test/p%20a/%69ndex.html", "<p>"), ("https://m.test/x/../p%20a/index.html", "<p>"),
    (script, "js"), ("https://m.test/%7Ex", "x"),
  ])
  func listedURLsAreServed(url: String, content: String) throws {
    let resource = try #require(try device.resource(for: url))
    #expect(try resource.read() == bytes(content))
    #expect(resource.size == content.utf8.count)
    #expect(resource.contentType == "text/plain;charset=UTF-8")
    #expect(bench.origin.takeLog().isEmpty)
  }

  @Test(arguments: [
    "https://m.test/p%20a/index.html?q=1", "https://m.test/app.js", "https://m.test/app.js?v=2",
    "http://m.test/p%20a/index.html", "https://m.test:444/p%20a/index.html",
    "https://m.test/P%20a/index.html",
    "https://m.test/p%2520a/index.html", "no url", "",
  ])
  func otherURLsAreNotServed(url: String) throws {
    #expect(try device.resource(for: url) == nil)
  }

  @Test(arguments: [
    ("https://m.test/p%20a/index.html?id=163", "<p>"), ("https://m.test/p%20a/index.html#x", "<p>"),
    (script, "js"), ("https://m.test/app.js?v=2", nil), ("https://other.test/p%20a/index.html?id=1", nil),
  ])
  func pagesIgnoreTheirQuery(url: String, content: String?) throws {
    #expect(try device.page(for: url)?.read() == content.map(bytes))
  }

  @Test(arguments: [
    ("https://m.test/a?x=1", "https://m.test/a", true), ("https://m.test/a", "https://m.test/a", true),
    ("https://m.test/%61", "https://m.test/a", true), ("https://m.test/a?x=1", "https://m.test/a?x=1", true),
    ("https://m.test/a", "https://m.test/a?x=1", false),
    ("https://m.test/a?x=2", "https://m.test/a?x=1", false),
    ("http://m.test/a", "https://m.test/a", false), ("https://m.test:8/a", "https://m.test/a", false),
    ("https://n.test/a", "https://m.test/a", false), ("https://m.test/a/", "https://m.test/a", false),
  ])
  func pagesOfEntries(page: String, entry: String, matches: Bool) throws {
    #expect(try ResourceURL(page).isPage(of: ResourceURL(entry)) == matches)
  }

  @Test func missingFilesAreFetchedOnDemand() throws {
    let name = try #require(device.index.entries.first { $0.url.text == Self.page }).name.text
    try Kernel.remove("\(files)/\(name)")
    #expect(try device.resource(for: Self.page)?.read() == bytes("<p>"))
    #expect(bench.origin.takeLog().count == 1)
    #expect(try device.resource(for: Self.page)?.read() == bytes("<p>"))
    #expect(bench.origin.takeLog().isEmpty)
    #expect(try bench.state() == bench.fresh())
  }

  @Test func damagedFilesAreNotServed() throws {
    let name = try #require(device.index.entries.first { $0.url.text == Self.page }).name.text
    try Scratch.write("<x>", to: "\(files)/\(name)")
    #expect(try device.resource(for: Self.page)?.read() == bytes("<p>"))
    bench.origin.fail { _ in .status(404) }
    try Scratch.write(
      "jj", to: "\(files)/\(#require(device.index.entries.first { $0.url.text == Self.script }).name.text)")
    #expect(throws: DeviceError.self) { try device.resource(for: Self.script) }
  }

  @Test func removedFilesAreNotServedAndOpenOnesStay() throws {
    let open = try #require(try device.resource(for: Self.page))
    try bench.origin.publish([Self.page: bytes("<b>changed")])
    _ = try device.update(force: true)
    #expect(try open.read() == bytes("<p>"))
    #expect(try device.resource(for: Self.page)?.read() == bytes("<b>changed"))
    #expect(try device.resource(for: Self.script) == nil)
  }

  @Test(arguments: [(0, 2, "<p"), (1, 100, "p>"), (3, 1, ""), (100, 1, ""), (-5, 1, "<"), (0, 0, "")])
  func parts(offset: Int64, count: Int, content: String) throws {
    #expect(try device.resource(for: Self.page)?.read(at: offset, count: count) == bytes(content))
  }

  /// Several threads read while updates switch back and forth: each answer is complete and of one manifest.
  @Test func concurrentReadsAndUpdates() throws {
    try bench.origin.publish([Self.page: bytes(String(repeating: "a", count: 5000))])
    try bench.origin.publish([Self.page: bytes(String(repeating: "b", count: 7000))])
    let device = device
    let isDone = Locked(false)
    let answers = Locked<Set<Int64>>([])
    try Parallel.forEach(4, threads: 4) { i throws(DeviceError) in
      if i == 0 {
        defer { isDone.withLock { $0 = true } }
        for version in 0..<20 {
          bench.origin.restore(to: Int64(2 + version % 2))
          _ = try device.update(force: true)
        }
      }
      while !isDone.withLock({ $0 }) {
        guard let resource = try device.resource(for: Self.page) else { continue }
        let content = try resource.read()
        #expect(Set(content).count <= 3 && Int64(content.count) == resource.size)
        #expect(SHA256.of(content).hex == resource.sha256)
        answers.withLock { _ = $0.insert(resource.size) }
      }
    }
    #expect(answers.withLock { $0.isSubset(of: [3, 5000, 7000]) && $0.count > 1 })
  }
}
