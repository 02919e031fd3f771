import Glibc
import Manifests
import System
import Testing

/// A device of a version without rollouts, against the current origin and its static copy.
///
/// The device is the program at XCACHE_OLD_BINARY, from before rollouts. Without it, only the requests of such a device are tested.
@Suite("Devices of versions before rollouts") struct OldDeviceTests {
  private static let old = getenv("XCACHE_OLD_BINARY").map { String(cString: $0) }

  private static func old(_ site: Site, _ words: [String], server: String) throws -> Outcome {
    try Outcome(
      try Child(
        [try #require(old)] + words,
        environment: [
          "PATH": "/usr/bin:/bin", "HOME": site.scratch.path, "SWIFT_BACKTRACE": "enable=no",
          "XCACHE_SERVER": server, "XCACHE_TOKEN": site.token,
        ], in: site.scratch.path))
  }

  private static func publish(_ site: Site, _ text: String, _ more: String...) throws {
    let folder = try site.scratch.folder("build", ["index.html": "<p>\(text)", "same.js": "same"])
    let outcome = try Outcome(
      try site.start(
        [
          "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base,
          "--now",
        ] + more))
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
  }

  @Test("Polls are answered with full versions, whatever version the device has") func polls() throws {
    try Site.with { site in
      try Self.publish(site, "one")
      try Self.publish(site, "two")
      try Self.publish(site, "three", "--rollout", "100%")
      for query in [
        "", "version=1", "version=2", "version=3", "version=1&patch=1", "version=1&patch=1&pack=1",
      ] {
        #expect(try site.poll(query)["data"]?["version"]?.string == "2", "\(query)")
      }
      try site.mirror("--to", "www")
      let files = try site.mirrored("www")
      for name in ["configure.json", "version.json", "info.json"] {
        let text = String(decoding: files["xcache/shop/\(name)"] ?? [], as: UTF8.self)
        #expect(!text.isEmpty && !text.contains(SHA256.of(Array("<p>three".utf8)).hex), "\(name)")
      }
      #expect(files["xcache/shop/update/1-2.json"] != nil)
    }
  }

  @Test(
    "The device gets only full versions, from the origin and from the copy",
    .enabled(if: old != nil, "XCACHE_OLD_BINARY names no program from before rollouts"))
  func pull() throws {
    try Site.with { site in
      try Self.publish(site, "one")
      let words = ["pull", "--to", "device", "--app", "shop", "--tree", Site.base, "--force"]
      func pulled(from server: String) throws -> String {
        let outcome = try Self.old(site, words, server: server)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        return try site.tree(of: "device").texts["index.html"] ?? ""
      }
      let empty = try Self.old(site, ["rollout", "show", "--app", "shop"], server: site.url)
      #expect(empty.exitCode == 2, "XCACHE_OLD_BINARY has rollouts: it is too new")
      #expect(try pulled(from: site.url) == "<p>one")
      try Self.publish(site, "candidate", "--rollout", "100%")
      #expect(try pulled(from: site.url) == "<p>one")
      try Self.publish(site, "two")
      #expect(try pulled(from: site.url) == "<p>two")
      try Self.publish(site, "candidate again", "--rollout", "100%")
      #expect(try pulled(from: site.url) == "<p>two")
      let folder = try site.scratch.folder("checked", ["index.html": "<p>new", "same.js": "same"])
      let checked = try Self.old(site, ["check", folder], server: site.url)
      #expect(checked.exitCode == 0, "\(checked.errors)")

      // From the copy, with a new device and with the one that used the origin.
      try site.mirror("--to", "www")
      let copy = try Site.with { other in other.port }
      let web = try Child(
        ["python3", "-m", "http.server", "\(copy)", "--bind", "127.0.0.1", "--directory", "www"],
        environment: ["PATH": "/usr/bin:/bin"], in: site.scratch.path)
      defer { web.signal(SIGTERM) }
      #expect(Wait.until(10) { (try? WebSocket(copy)) != nil })
      for device in ["device", "fresh"] {
        // No server listens there; the copy is used after five failed polls in a row.
        let lost = words.map { $0 == "device" ? device : $0 } + ["--fallback", "http://127.0.0.1:\(copy)"]
        var outcome = try Self.old(site, lost, server: "http://127.0.0.1:1")
        for _ in 0..<6 where outcome.exitCode != 0 {
          outcome = try Self.old(site, lost, server: "http://127.0.0.1:1")
        }
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        #expect(try site.tree(of: device).texts["index.html"] == "<p>two")
      }
      #expect(try site.run("rollout", "complete", "--app", "shop").exitCode == 0)
      #expect(try pulled(from: site.url) == "<p>candidate again")
      try Self.publish(site, "bad", "--rollout", "100%")
      #expect(try site.run("rollout", "halt", "-m", "bad", "--app", "shop").exitCode == 0)
      #expect(try pulled(from: site.url) == "<p>candidate again")
    }
  }
}
