import System
import Testing
import Values

@Suite("Conflicting releases")
struct ConflictTests {
  @Test("Two bundles with different bytes for one URL are refused, and every such URL is named")
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

  @Test("Bundles of one release with different bytes for one URL are refused, and nothing is created")
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

  @Test("Two bundles may share a URL with equal bytes; it stays until neither has it")
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

  @Test("An app name that differs only in case from an existing one is refused before anything is sent")
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

  struct ConditionalRelease: Sendable {
    /// The value of `--if-version`.
    let limit: String
    let command: [String]
    let exitCode: Int32
  }

  // The bundle last changed in version 2; version 3 changed another bundle.
  @Test(
    "--if-version refuses if the bundle changed after that version",
    arguments: [
      ConditionalRelease(limit: "1", command: ["publish"], exitCode: 3),
      ConditionalRelease(limit: "2", command: ["publish"], exitCode: 0),
      ConditionalRelease(limit: "3", command: ["publish"], exitCode: 0),
      ConditionalRelease(limit: "1", command: ["unpublish"], exitCode: 3),
      ConditionalRelease(limit: "3", command: ["unpublish"], exitCode: 0),
    ])
  func ifVersion(_ conditional: ConditionalRelease) throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "2"])
      try site.publish(["b.js": "2"], as: "other")
      let folder = try site.scratch.folder("three", ["a.js": "3"])
      let more = conditional.command == ["publish"] ? [folder, "--base-url", Site.base] : []
      let outcome = try Outcome(
        try site.start(
          conditional.command + more + [
            "--app", "shop", "--bundle", "main", "--if-version", conditional.limit,
          ]))
      #expect(outcome.exitCode == conditional.exitCode, "\(outcome.errors)")
      if conditional.exitCode == 3 {
        #expect(outcome.errors.contains("version 2") && outcome.errors.contains("admin"))
      }
      let version = try site.poll()["data"]?["version"]?.string
      #expect(version == (conditional.exitCode == 0 ? "4" : "3"))
    }
  }

  @Test("A plan against an older version is planned again, and the answer names what it replaced")
  func staleBase() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1", "b.js": "1"])
      let old = try site.entry("a.js")
      try site.publish(["a.js": "2", "c.js": "2"])
      // A plan against version 1 that keeps a.js and b.js of that version.
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

  @Test("Concurrent publishes to different bundles all succeed")
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
    "After concurrent publishes to one bundle, the last one's files are complete, and the log has every release"
  )
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
      // A publisher that replaced a release newer than its plan was told so: each version is either the base of a plan or named as
      // replaced.
      for answer in answers {
        guard let replaced = answer["bundles"]?.array?.first?["replaced"]?["version"]?.string else {
          continue
        }
        #expect(replaced == answer["previous"]?.string)
      }
    }
  }
}
