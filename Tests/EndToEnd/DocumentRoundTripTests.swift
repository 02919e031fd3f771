import Glibc
import System
import Testing
import Values

@Suite("Prefetch config and policy through a static copy", .enabled(if: Nginx.isInstalled))
struct DocumentRoundTripTests {
  private static func config(_ page: String) -> String {
    #"[{"url":"\#(Site.base)/\#(page)","interfaces":[{"api":"https://m.example.com/xhr","method":"GET"}]}]"#
  }

  /// The version numbers of both documents, from an answer's `data` or from `pull --json`.
  private static func numbers(_ json: JSONValue?) -> [Int64] {
    ["prefetch", "policy"].map { name in Int64(json?[name]?.string ?? "") ?? 0 }
  }

  /// Runs a command that changes a document, updates copy and device, and returns the numbers that both then have.
  private static func step(_ site: Site, _ nginx: Nginx, _ words: [String]) throws -> [Int64] {
    let outcome = try Outcome(try site.start(words + ["--app", "shop"]))
    #expect(outcome.exitCode == 0, "\(words): \(outcome.errors)")
    let polled = numbers(try site.poll("version=1")["data"])
    try site.mirror("--to", "www")
    let mirrored = try JSONValue.parse(
      DurableFile.read("\(site.scratch.path)/www/xcache/shop/version.json") ?? [])
    #expect(numbers(mirrored["data"]) == polled, "\(words)")
    #expect(numbers(try site.pull("device")) == polled, "\(words)")
    for name in ["prefetchConfig.json", "policy.json"] {
      let answer = try site.web.ask("/xcache/shop/\(name)").body
      #expect(try DurableFile.read("\(site.scratch.path)/www/xcache/shop/\(name)") == answer, "\(words)")
      let kept = try DurableFile.read("\(site.scratch.path)/device/\(name)")
      #expect(kept == nil || kept == answer, "\(words)")
    }
    return polled
  }

  @Test("Each push and rollback raises the number, on the origin, the copy and devices alike")
  func roundTrip() throws {
    let port = Nginx.freePort()
    let site = try Site(["--public-url", "http://127.0.0.1:\(port)"])
    let www = site.scratch.path + "/www"
    try Kernel.makeFolder(www)
    let nginx = try Nginx(root: www, port: port, origin: site.port)
    try site.publish(["index.html": "<p>1"])
    try site.mirror("--to", "www")
    try site.pull("device")
    for (name, text) in [("one", Self.config("a.html")), ("two", Self.config("b.html"))] {
      try DurableFile.write(Array(text.utf8), to: "\(site.scratch.path)/\(name).json")
    }
    let acts: [(words: [String], numbers: [Int64])] = [
      (["prefetch", "push", "one.json"], [1, 0]),
      (["policy", "bypass", "add", "https://third.example.com/*"], [1, 1]),
      (["prefetch", "push", "two.json"], [2, 1]),
      (["policy", "kill"], [2, 2]),
      (["prefetch", "rollback", "--to", "1"], [3, 2]),
      (["policy", "resume"], [3, 3]),
    ]
    for act in acts { #expect(try Self.step(site, nginx, act.words) == act.numbers, "\(act.words)") }
    let rolledBack = try site.web.ask("/xcache/shop/prefetchConfig.json").text
    #expect(rolledBack.contains("/a.html") && rolledBack.contains(#""version":"3""#))
    #expect(try site.poll()["data"]?["version"]?.string == "1")

    // A device that reaches only the copy gets the same documents.
    site.server.signal(SIGKILL)
    _ = try site.server.wait()
    let words = ["pull", "--to", "late", "--app", "shop", "--force", "--fallback", nginx.url]
    for _ in 1...5 { #expect(try Outcome(try site.start(words)).exitCode == 1) }
    let pulled = try Outcome(try site.start(words + ["--json"]))
    #expect(pulled.exitCode == 0, "\(pulled.errors)")
    #expect(Self.numbers(try JSONValue.parse(Array(pulled.output.utf8))) == [3, 3])
    for name in ["prefetchConfig.json", "policy.json"] {
      let path = "\(site.scratch.path)/late/\(name)"
      #expect(try DurableFile.read(path) == DurableFile.read("\(www)/xcache/shop/\(name)"))
    }
  }
}
