import System
import Testing
import TestSupport
import Values

@Suite("Static copies")
struct MirrorTests {
  static let one: Files = ["index.html": "<p>one", "app.js": "one()", "img/logo.svg": "<svg/>"]
  static let two: Files = ["index.html": "<p>two", "app.js": "one()", "img/new.svg": "<svg></svg>"]

  @Test("A copy from the data folder equals one from the running origin, and both equal the origin's answers")
  func bothSources() throws {
    try Site.with { site in
      try site.publish(Self.one)
      try site.publish(Self.two)
      let fromData = try site.mirror("--data", site.data, "--to", "www")
      #expect(fromData["written"]?.integer == 18)
      try site.mirror("--to", "www2")
      let files = try site.mirrored("www")
      #expect(try site.mirrored("www2") == files)
      func answer(_ path: String) throws -> [UInt8] { try site.web.ask(path).body }
      #expect(files["xcache/shop/configure.json"] == (try answer("/configure.json?app=shop")))
      #expect(files["xcache/shop/version.json"] == (try answer("/configure.json?app=shop&version=2")))
      #expect(
        files["xcache/shop/patch/1-2.json"] == (try answer("/configure.json?app=shop&version=1&patch=1")))
      #expect(
        files["xcache/shop/update/1-2.json"]
          == (try answer("/configure.json?app=shop&version=1&patch=1&pack=1")))
      let entry = try #require(try site.entry("index.html"))
      let path = Site.path(of: entry).dropFirst().replacing("%25", with: "%")
      #expect(files[String(path)] == Array("<p>two".utf8))
      let registered = try site.api("GET", "mirrors").json["mirrors"]?.array
      #expect(registered?.count == 2)
      // Both are listed by their location, and one is removed by it.
      let name = try #require(registered?.first?["name"]?.string)
      let list = try site.run("mirror", "list")
      #expect(list.exitCode == 0 && list.output.contains(name), "\(list.errors)")
      #expect(list.output.contains("shop online 1–2"), "\(list.output)")
      let forgotten = try site.run("mirror", "forget", name)
      #expect(forgotten.exitCode == 0 && forgotten.output.contains(name), "\(forgotten.errors)")
      #expect(try site.run("mirror", "forget", name).exitCode == 1)
      #expect(try site.api("GET", "mirrors").json["mirrors"]?.array?.count == 1)
    }
  }

  @Test("A run without changes writes only mirror.json; after a release, a run writes only new files")
  func onlyNewFiles() throws {
    try Site.with { site in
      try site.publish(Self.one)
      try site.mirror("--to", "www")
      #expect(try site.mirror("--to", "www")["written"]?.integer == 1)
      try site.publish(Self.two)
      // Two resources and a pack; release/2, configure/2, patch/1-2, update/1-2, configure, info, version and mirror.json.
      #expect(try site.mirror("--to", "www")["written"]?.integer == 11)
      try Kernel.remove(site.scratch.path + "/www/xcache/shop/configure/1.json")
      #expect(try site.mirror("--to", "www")["written"]?.integer == 2)
    }
  }

  @Test("Files of versions that aren't kept are removed after the grace period, and not before")
  func prune() throws {
    try Site.with { site in
      try site.publish(Self.one)
      try site.mirror("--to", "www", "--keep", "0")
      try site.publish(Self.two)
      let first = try site.mirror("--to", "www", "--keep", "0", "--prune")
      #expect(first["removed"]?.integer == 0 && first["leaving"]?.integer == 4)
      let later = try site.mirror("--to", "www", "--keep", "0", "--prune", "--grace", "0")
      #expect(later["removed"]?.integer == 4 && later["leaving"]?.integer == 0)
      try site.mirror("--to", "fresh", "--keep", "0")
      #expect(try site.mirrored("www") == site.mirrored("fresh"))
    }
  }

  @Test("A second run is refused, and so is another origin's copy")
  func refusals() throws {
    try Site.with { site in
      try site.publish(Self.one)
      try site.mirror("--to", "www")
      try Site.with { other in
        try other.publish(Self.two)
        let refused = try other.run("mirror", "--to", site.scratch.path + "/www")
        #expect(refused.exitCode == 1 && refused.errors.contains("mirror of another origin"))
      }
      if let lock = try FileLock.take(site.scratch.path + "/www/.xcache-mirror/lock") {
        let refused = try site.run("mirror", "--to", "www")
        #expect(refused.exitCode == 1 && refused.errors.contains("another run is using"))
        _ = consume lock
      }
      // A process being started by another test inherits the lock until it executes its program.
      #expect(try Wait.until(10) { try site.run("mirror", "--to", "www").exitCode == 0 })
    }
  }

  @Test("Zips of kept versions equal the origin's, from either source; they are listed, verified and pruned")
  func zips() throws {
    try Site.with { site in
      try site.publish(Self.one)
      try site.publish(Self.two)
      // Deltas and packs are made in the background: repeat until a run finds nothing new.
      let isThere = try Wait.until(60) {
        let run = try site.mirror("--to", "www", "--zips")
        return run["zipsToCome"]?.integer == 0 && run["written"]?.integer == 1
      }
      #expect(isThere)
      let files = try site.mirrored("www")
      let names = ["1.zip", "1-2.zip", "1-2.delta.zip", "2.zip"].map { "xcache/shop/bundle/\($0)" }
      #expect(Set(files.keys.filter { $0.hasSuffix(".zip") }) == Set(names))
      for name in names {
        let isSame = try Wait.until(60) { try site.web.ask("/" + name).body == files[name] }
        #expect(isSame, "\(name)")
      }
      #expect(try site.mirror("--data", site.data, "--to", "www2", "--zips")["zipsToCome"]?.integer == 0)
      #expect(try site.mirrored("www2") == files)
      #expect(try site.run("mirror", "verify", "www").exitCode == 0)
      #expect(try site.mirror("--to", "www", "--zips")["written"]?.integer == 1)
      try Kernel.remove(site.scratch.path + "/www/" + names[1])
      let broken = try site.run("mirror", "verify", "www")
      #expect(broken.exitCode == 1 && broken.output.contains("bundle/1-2.zip: it is missing"))
      #expect(try site.mirror("--to", "www", "--zips")["written"]?.integer == 2)
      try site.mirror("--to", "www", "--prune", "--grace", "0")
      #expect(try site.mirrored("www").keys.allSatisfy { !$0.hasSuffix(".zip") })
    }
  }

  @Test("Precompressed files are written where they are smaller, and removed when no longer wanted")
  func precompressed() throws {
    try Site.with { site in
      let script = String(repeating: "function f() { return 1 }\n", count: 100)
      try site.publish(["app.js": script, "tiny.js": "1"])
      try site.mirror("--to", "www", "--precompressed")
      let files = try site.mirrored("www")
      #expect(
        files.keys.filter { $0.hasSuffix(".gz") }.count == files.keys.filter { $0.hasSuffix(".zst") }.count)
      #expect(
        files.keys.contains { $0.hasSuffix("app.js.gz") }
          && !files.keys.contains { $0.hasSuffix("tiny.js.gz") })
      #expect(files["xcache/shop/configure.json.gz"] != nil)
      #expect(try site.mirror("--to", "www", "--precompressed")["written"]?.integer == 1)
      try site.mirror("--to", "www")
      #expect(try site.mirrored("www")["xcache/shop/configure.json.gz"] == nil)
    }
  }
}

extension Site {
  /// Runs `xcache mirror`, and returns its `--json` output.
  @discardableResult
  func mirror(_ words: String...) throws -> JSONValue {
    let outcome = try Outcome(try start(["mirror"] + words + ["--json"]))
    try #require(outcome.exitCode == 0, "\(outcome.errors)")
    return try JSONValue.parse(Array(outcome.output.utf8))
  }

  /// The files of a mirror by path, without mirror.json, which contains the time, and without working files of runs.
  func mirrored(_ name: String) throws -> [String: [UInt8]] {
    try Scratch.contents("\(scratch.path)/\(name)").filter {
      $0.key != "mirror.json" && !$0.key.hasPrefix(".xcache-mirror/")
    }
  }
}
