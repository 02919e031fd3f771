import System
import Testing
import TestSupport
import Values

@Suite("Zips: published, made of a channel, used as a preset")
struct ZipTests {
  static let first: Files = [
    "index.html": "<p>one", "app.js": String(repeating: "one()\n", count: 5000), "img/a b.svg": "<svg/>",
  ]
  static let second: Files = ["index.html": "<p>two", "app.js": first["app.js"] ?? "", "new.js": "new()"]
  static let publicURL = ["--public-url", "https://cdn.example.com/hxm"]

  /// A zip once it exists: that of an update waits for its deltas, and the answer says so.
  private func fetch(_ site: Site, _ name: String) throws -> [UInt8] {
    var answer = try site.web.ask("/xcache/shop/bundle/\(name)")
    _ = try Wait.until(60) {
      guard answer["retry-after"] != nil else { return true }
      Clock.sleep(for: .milliseconds(100))
      answer = try site.web.ask("/xcache/shop/bundle/\(name)")
      return answer.status == 200
    }
    try #require(answer.status == 200, "\(answer.text)")
    return answer.body
  }

  @Test("Two servers with two data folders make the same bytes, and so does a restarted one")
  func sameBytes() throws {
    let zips = try (0..<2).map { _ in
      try Site.with(Self.publicURL) { site throws in
        try site.publish(Self.first)
        try site.publish(Self.second)
        let zip = try fetch(site, "2.zip")
        Scratch.remove(site.data + "/derived")
        try site.crash()
        #expect(try fetch(site, "2.zip") == zip)
        return zip
      }
    }
    #expect(zips[0] == zips[1])
    #expect(!zips[0].isEmpty)
  }

  @Test("A device starts from a preset without downloading, and updates from an update's zip")
  func preset() throws {
    try Site.with(Self.publicURL) { site throws in
      try site.publish(Self.first)
      let whole = try site.scratch.write("1.zip", fetch(site, "1.zip"))
      // No server listens at the public URL, so a file missing in the zip would fail.
      let started = try site.pull("device", "--preset", whole, "--tree", Site.base)
      #expect(started["preset"]?["taken"]?.bool == true)
      #expect(started["preset"]?["files"]?.integer == 3)
      #expect(started["update"]?["kind"]?.string == "nothing")
      #expect(try site.tree(of: "device").texts == Self.first)

      try site.publish(Self.second)
      let update = try site.scratch.write("1-2.zip", fetch(site, "1-2.zip"))
      let moved = try site.pull("device", "--preset", update, "--tree", Site.base)
      #expect(moved["preset"]?["files"]?.integer == 2)
      #expect(moved["version"]?.string == "2")
      #expect(try site.tree(of: "device").texts == Self.second)

      let old = try site.pull("device", "--preset", whole)
      #expect(old["preset"]?["taken"]?.bool == false)
    }
  }

  @Test("A zip is published like the folder of its files, and a damaged one is refused")
  func published() throws {
    try Site.with { site throws in
      try site.publish(Self.first)
      let zip = try fetch(site, "1.zip")
      let path = try site.scratch.write("b.zip", zip)
      let base = ["--app", "shop", "--bundle", "zip", "--base-url", "https://m.example.com/zip"]
      let done = try Outcome(site.start(["publish", "--create", path, "--now", "--json"] + base))
      #expect(done.exitCode == 0, "\(done.errors)")
      #expect(try JSONValue.parse(Array(done.output.utf8))["added"]?.integer == 4)
      let entry = try site.entry("manifest.json", base: "https://m.example.com/zip")
      #expect(entry?["ctype"]?.string == "application/json;charset=UTF-8")

      try site.scratch.write("b.zip", zip.dropLast(30))
      let refused = try Outcome(site.start(["publish", "--create", path, "--now"] + base))
      #expect(refused.exitCode == 1)
      #expect(
        refused.errors.contains("b.zip can't be published: it is not a zip file, or it is truncated"))
      #expect(try site.poll()["data"]?["version"]?.string == "2")
    }
  }

  @Test("info.json corresponds to the manifest")
  func info() throws {
    try Site.with { site throws in
      try site.publish(["b.js": "b", "a.js": "a"])
      let info = try site.web.ask("/xcache/shop/info.json")
      #expect(info.status == 200)
      let digest = try site.poll()["data"]?["digest"]?.string ?? ""
      #expect(
        info.text
          == "{\"files\":[\"\(Site.base)/a.js\",\"\(Site.base)/b.js\"],\"version\":\"\(digest.prefix(20))\"}")
    }
  }
}
