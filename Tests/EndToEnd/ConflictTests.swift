import System
import Testing
import Values

@Suite("Releases that contradict each other")
struct ConflictTests {
  @Test("Two bundles that claim one URL with different bytes: refused, every URL named")
  func differentBytes() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1", "b.js": "2", "c.js": "3", "d.js": "4"], as: "one")
      let folder = try site.scratch.folder("two", ["a.js": "x", "b.js": "y", "c.js": "3", "e.js": "5"])
      let outcome = try site.run(
        "publish", "--create", folder, "--app", "shop", "--bundle", "two", "--base-url", Site.base)
      #expect(outcome.exitCode == 3)
      #expect(outcome.output.isEmpty)
      for name in ["a.js", "b.js"] { #expect(outcome.errors.contains("\(Site.base)/\(name)")) }
      for name in ["c.js", "d.js", "e.js"] { #expect(!outcome.errors.contains("\(Site.base)/\(name)")) }
      #expect(outcome.errors.contains("one"))
      #expect(try site.poll()["data"]?["version"]?.string == "1")
    }
  }

  @Test("Bundles of one release that contradict each other: refused, nothing made")
  func withinOneRelease() throws {
    try Site.with { site throws in
      let a = try site.scratch.folder("a", ["same.js": "1", "x.js": "1"])
      let b = try site.scratch.folder("b", ["same.js": "1", "x.js": "2"])
      let outcome = try site.run(
        "publish", "--create", "--app", "shop", "--bundle", "a=\(a)", "--bundle", "b=\(b)", "--base-url",
        Site.base)
      #expect(outcome.exitCode == 3)
      #expect(outcome.errors.contains("\(Site.base)/x.js") && !outcome.errors.contains("same.js"))
      #expect(try site.web.ask("/configure.json?app=shop").status == 404)
    }
  }

  @Test("Two bundles may share a URL with equal bytes; it stays until the last one lets go of it")
  func equalBytes() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1", "b.js": "2"], as: "one")
      try site.publish(["a.js": "1"], as: "two")
      #expect(try site.run("unpublish", "--app", "shop", "--bundle", "one").exitCode == 0)
      #expect(try site.entry("a.js") != nil)
      #expect(try site.entry("b.js") == nil)
      #expect(try site.run("unpublish", "--app", "shop", "--bundle", "two").exitCode == 0)
      #expect(try site.entry("a.js") == nil)
    }
  }

  @Test("An app's name that differs from another's in case alone is refused before anything is sent")
  func nameInAnotherCase() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1"])
      let folder = try site.scratch.folder("next", ["b.js": "sent to nobody"])
      let words = [
        "publish", "--create", folder, "--app", "Shop", "--bundle", "main", "--base-url", Site.base,
      ]
      let refused = try Outcome(try site.start(words))
      #expect(refused.exitCode == 3 && refused.errors.contains("did you mean \"shop\""), "\(refused.errors)")
      #expect(try Folder.names(site.data + "/tmp/whole").isEmpty)
    }
  }

  struct Guarded: Sendable {
    /// The version after which the bundle must not have changed.
    let limit: String
    let command: [String]
    let exitCode: Int32
  }

  // The bundle changed last in version 2; version 3 changed another.
  @Test(
    "--if-version refuses when the bundle changed after it",
    arguments: [
      Guarded(limit: "1", command: ["publish"], exitCode: 3),
      Guarded(limit: "2", command: ["publish"], exitCode: 0),
      Guarded(limit: "3", command: ["publish"], exitCode: 0),
      Guarded(limit: "1", command: ["unpublish"], exitCode: 3),
      Guarded(limit: "3", command: ["unpublish"], exitCode: 0),
    ])
  func ifVersion(_ guarded: Guarded) throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "2"])
      try site.publish(["b.js": "2"], as: "other")
      let folder = try site.scratch.folder("three", ["a.js": "3"])
      let more = guarded.command == ["publish"] ? [folder, "--base-url", Site.base] : []
      let outcome = try Outcome(
        try site.start(
          guarded.command + more + ["--app", "shop", "--bundle", "main", "--if-version", guarded.limit]))
      #expect(outcome.exitCode == guarded.exitCode, "\(outcome.errors)")
      if guarded.exitCode == 3 {
        #expect(outcome.errors.contains("version 2") && outcome.errors.contains("admin"))
      }
      let version = try site.poll()["data"]?["version"]?.string
      #expect(version == (guarded.exitCode == 0 ? "4" : "3"))
    }
  }

  @Test("A plan against an older version is planned again, and names what it replaces")
  func staleBase() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1", "b.js": "1"])
      let old = try site.entry("a.js")
      try site.publish(["a.js": "2", "c.js": "2"])
      // A plan that was made against version 1 and keeps a.js and b.js as they were there.
      let body: JSONValue = [
        "bundles": [["base": "1", "bundle": "main", "remove": [], "set": [:]]], "message": "late",
        "now": true,
      ]
      let answer = try site.api("POST", "apps/shop/channels/online/releases", body)
      #expect(answer.status == 201)
      #expect(answer.json["version"]?.string == "3")
      let replaced = answer.json["bundles"]?.array?.first?["replaced"]
      #expect(replaced?["version"]?.string == "2")
      #expect(replaced?["author"]?.string == "admin")
      #expect(try site.entry("a.js") == old)
      #expect(try site.entry("b.js") != nil)
      #expect(try site.entry("c.js") == nil)
    }
  }

  @Test("Publishes at once to different bundles all succeed")
  func differentBundlesAtOnce() throws {
    try Site.with { site throws in
      try site.publish(["start.js": "0"], as: "start")
      let publishers = try (1...6).map { number in
        let folder = try site.scratch.folder(
          "at-once-\(number)", ["\(number).js": "\(number)", "same.js": "same"])
        return try site.start([
          "publish", "--create", folder, "--app", "shop", "--bundle", "b\(number)", "--base-url", Site.base,
          "--json",
        ])
      }
      let outcomes = try publishers.map { try Outcome($0) }
      #expect(outcomes.allSatisfy { $0.exitCode == 0 }, "\(outcomes.map(\.errors))")
      let versions = try outcomes.compactMap { try JSONValue.parse(Array($0.output.utf8))["version"]?.string }
      #expect(versions.sorted() == (2...7).map(String.init))
      #expect(try site.poll()["data"]?["resourcemap"]?.object?.count == 8)
    }
  }

  @Test(
    "Of publishes at once to one bundle the last one's files are there, whole, and none is lost from the log")
  func oneBundleAtOnce() throws {
    try Site.with { site throws in
      try site.publish(["app.js": "start", "0.js": "start"])
      let publishers = try (1...6).map { number in
        let folder = try site.scratch.folder(
          "at-once-\(number)", ["app.js": "\(number)", "\(number).js": "\(number)"])
        return try site.start([
          "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base, "-m",
          "\(number)",
          "--json",
        ])
      }
      let outcomes = try publishers.map { try Outcome($0) }
      #expect(outcomes.allSatisfy { $0.exitCode == 0 }, "\(outcomes.map(\.errors))")
      let answers = try outcomes.map { try JSONValue.parse(Array($0.output.utf8)) }
      let last = answers.firstIndex { $0["version"]?.string == "7" }.map { $0 + 1 }
      let number = try #require(last)
      let map = try site.poll()["data"]?["resourcemap"]?.object
      #expect(map?.members.map(\.key) == ["\(Site.base)/\(number).js", "\(Site.base)/app.js"])
      let log = try JSONValue.parse(Array(try site.run("log", "--app", "shop", "--json").output.utf8))
      let messages = log["releases"]?.array?.compactMap { $0["message"]?.string }.filter { !$0.isEmpty }
      #expect(messages?.sorted() == (1...6).map(String.init))
      // Whoever replaced a release that came after its plan was told so: each version is either what a publisher
      // planned against or what one named as replaced.
      for answer in answers {
        guard let replaced = answer["bundles"]?.array?.first?["replaced"]?["version"]?.string else {
          continue
        }
        #expect(replaced == answer["previous"]?.string)
      }
    }
  }
}
