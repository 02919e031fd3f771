import Glibc
import Manifests
import System
import Testing
import TestSupport

@Suite("serve --cdn push")
struct CDNPushTests {
  @Test("A release becomes visible only after its files are on the CDN")
  func push() throws {
    let scratch = try Scratch()
    let cdn = scratch.path + "/cdn"
    try Site.with(["--public-url", "https://cdn.example.com/x", "--cdn", "push", cdn]) { site in
      try site.publish(["a.js": "one", "b.js": "b"])
      let path = Site.path(of: try site.entry("a.js")).dropFirst("/x/".count).replacing("%25", with: "%")
      #expect(try DurableFile.read("\(cdn)/\(path)") == Array("one".utf8))

      // A file has the name of the folder that the next release needs.
      _ = try scratch.write("cdn/xcache/1/2", "in the way")
      let refused = try site.tryToPublish(["a.js": "two", "b.js": "b"])
      #expect(refused.exitCode == 1)
      #expect(refused.errors.contains("could not be pushed to"), "\(refused.errors)")
      #expect(try site.poll("version=1")["data"]?["update"]?.bool == false)

      // The origin retries without being asked.
      try Kernel.remove(cdn + "/xcache/1/2")
      #expect(try Wait.until(60) { try site.poll("version=1")["data"]?["version"]?.string == "2" })
      #expect(try site.publish(["a.js": "two", "b.js": "b"])["changed"]?.bool == false)
    }
  }

  @Test(
    "A release waits while the CDN's disk is full, and becomes visible once there is room",
    .enabled(if: Privileges.canMount, "needs root, or leave to mount"))
  func fullDisk() throws {
    let scratch = try Scratch()
    let cdn = scratch.path + "/cdn"
    let options = ["--public-url", "https://cdn.example.com/x", "--cdn", "push", cdn]
    try Site.with(options, launcher: { _ in Privileges.mounting("2m", on: cdn) }) { site in
      try site.publish(["a.js": "one"])
      let disk = "/proc/\(site.server.id)/root\(cdn)"
      try DurableFile.write(Secrets.random(1 << 20), to: disk + "/filler")
      let folder = try site.scratch.folder("large", ["a.js": "two"])
      // Incompressible bytes.
      try site.scratch.write("large/large.bin", Secrets.random(3 << 19))
      let words = [
        "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base, "--now",
      ]
      let refused = try Outcome(try site.start(words), seconds: 120)
      #expect(refused.exitCode == 1 && refused.errors.contains("the release is staged"), "\(refused.errors)")
      #expect(try site.poll("version=1")["data"]?["update"]?.bool == false)
      // Other apps aren't delayed.
      #expect(try site.publish(["b.js": "b"], as: "other")["version"]?.string == "2")
      try Kernel.remove(disk + "/filler")
      #expect(try Wait.until(60) { try site.poll("version=2")["data"]?["version"]?.string == "3" })
      let path = Site.path(of: try site.entry("large.bin")).dropFirst("/x/".count)
      #expect(try Kernel.status("\(disk)/\(path.replacing("%25", with: "%"))")?.size == 3 << 19)
    }
  }

  @Test("A staged release never overrides a newer one, and doesn't block other publishers")
  func replaced() throws {
    let scratch = try Scratch()
    let cdn = scratch.path + "/cdn"
    try Site.with(["--public-url", "https://cdn.example.com/x", "--cdn", "push", cdn]) { site in
      try site.publish(["a.js": "one"])
      _ = try scratch.write("cdn/xcache/1/2", "in the way")
      #expect(try site.tryToPublish(["a.js": "staged"]).exitCode == 1)
      // Nothing to push: the bytes of version 1 are there already.
      #expect(try site.publish(["a.js": "one"])["changed"]?.bool == false)
      try Kernel.remove(cdn + "/xcache/1/2")
      #expect(try site.publish(["a.js": "three"])["version"]?.string == "2")
      let isVisible = try Wait.until(8) { try site.poll("version=2")["data"]?["update"]?.bool == true }
      #expect(!isVisible, "the staged release came after the one that replaced it")
    }
  }

  @Test("A rollback to pushed files works while the store is down, also after a restart")
  func storeIsDown() throws {
    let scratch = try Scratch()
    let cdn = scratch.path + "/cdn"
    let site = try Site(["--public-url", "https://cdn.example.com/x", "--cdn", "push", cdn])
    for text in ["one", "two"] { try site.publish(["a.js": text]) }
    site.server.signal(SIGTERM)
    #expect(try site.server.wait(seconds: 15) == 0)
    try site.start()
    // The folder can't be written to.
    #expect(rename(cdn, cdn + ".away") == 0)
    _ = try scratch.write("cdn", "in the way")
    let back = try site.run("rollback", "--all-bundles", "--to", "1", "--app", "shop", "-m", "back")
    #expect(back.exitCode == 0, "\(back.errors)")
    #expect(try site.poll("version=2")["data"]?["version"]?.string == "3")
    // A release with new bytes waits, and status shows why.
    #expect(try site.tryToPublish(["a.js": "three"]).exitCode == 1)
    let status = try site.run("status", "--app", "shop")
    #expect(status.output.contains("STAGED     a release of main by admin"), "\(status.output)")
    #expect(status.output.contains("could not be pushed to"), "\(status.output)")
    try Kernel.remove(cdn)
    #expect(rename(cdn + ".away", cdn) == 0)
    #expect(try Wait.until(60) { try site.poll("version=3")["data"]?["version"]?.string == "4" })
    try site.stop()
  }

  @Test("Releases wait while the folder isn't the one that files were pushed to")
  func otherFolder() throws {
    let scratch = try Scratch()
    let cdn = scratch.path + "/cdn"
    let site = try Site(["--public-url", "https://cdn.example.com/x", "--cdn", "push", cdn])
    func isThere(_ path: String) throws -> Bool {
      let file = Site.path(of: try site.entry(path)).dropFirst("/x/".count).replacing("%25", with: "%")
      return try Kernel.status("\(cdn)/\(file)") != nil
    }
    try site.publish(["a.js": "one"])
    // The mount is gone, leaving no folder or an empty one.
    #expect(rename(cdn, cdn + ".away") == 0)
    let refused = try site.tryToPublish(["a.js": "two"])
    #expect(refused.exitCode == 1 && refused.errors.contains("isn't the folder"), "\(refused.errors)")
    #expect(try Kernel.status(cdn) == nil)
    try Kernel.makeFolder(cdn)
    #expect(try site.tryToPublish(["a.js": "two"]).exitCode == 1)
    // Files that are known to be there can still be published.
    #expect(try site.poll("version=1")["data"]?["update"]?.bool == false)
    try Kernel.removeFolder(cdn)
    #expect(rename(cdn + ".away", cdn) == 0)
    #expect(try Wait.until(60) { try site.poll("version=1")["data"]?["version"]?.string == "2" })
    #expect(try isThere("a.js"))
    try site.publish(["a.js": "three"])
    #expect(try site.run("rollback", "--all-bundles", "--to", "2", "--app", "shop").exitCode == 0)
    #expect(try isThere("a.js"))
    #expect(try site.run("doctor", "--data", site.data, "--pushed").exitCode == 0)

    // A restart with another folder accepts it, and pushes the files of later releases to it.
    site.server.signal(SIGTERM)
    #expect(try site.server.wait(seconds: 15) == 0)
    #expect(rename(cdn, cdn + ".away") == 0)
    try site.start()
    #expect(try site.run("rollback", "--all-bundles", "--to", "1", "--app", "shop").exitCode == 0)
    #expect(try isThere("a.js"))
    try site.stop()
  }

  @Test("An origin that starts without a usable CDN folder answers devices, and releases wait")
  func startWithout() throws {
    let scratch = try Scratch()
    let cdn = scratch.path + "/cdn"
    let site = try Site(["--public-url", "https://cdn.example.com/x", "--cdn", "push", cdn])
    try site.publish(["a.js": "one"])
    site.server.signal(SIGTERM)
    #expect(try site.server.wait(seconds: 15) == 0)
    #expect(rename(cdn, cdn + ".away") == 0)
    _ = try scratch.write("cdn", "in the way")
    try site.start()
    #expect(try site.poll("version=0")["data"]?["version"]?.string == "1")
    #expect(try site.run("policy", "kill", "--app", "shop", "-m", "test").exitCode == 0)
    #expect(try site.tryToPublish(["a.js": "two"]).exitCode == 1)
    try Kernel.remove(cdn)
    #expect(rename(cdn + ".away", cdn) == 0)
    #expect(try Wait.until(60) { try site.poll("version=1")["data"]?["version"]?.string == "2" })
    try site.stop()
  }

  @Test("doctor finds files that a store has lost, and they are pushed again after mirror forget")
  func lostFiles() throws {
    let scratch = try Scratch()
    let cdn = scratch.path + "/cdn"
    try Site.with(["--public-url", "https://cdn.example.com/x", "--cdn", "push", cdn]) { site in
      try site.publish(["a.js": "one"])
      let path = Site.path(of: try site.entry("a.js")).dropFirst("/x/".count).replacing("%25", with: "%")
      try site.publish(["a.js": "two"])
      let whole = try site.run("doctor", "--data", site.data, "--pushed")
      #expect(whole.exitCode == 0 && whole.output.contains("pushed file"), "\(whole.output) \(whole.errors)")
      try Kernel.remove("\(cdn)/\(path)")
      let found = try site.run("doctor", "--data", site.data, "--pushed")
      #expect(found.exitCode == 1 && found.output.contains("lacks \(path)"), "\(found.output)")
      #expect(found.output.contains("xcache mirror forget \(cdn)"))
      let place = try #require(try Kernel.realPath(cdn) as String?)
      let forgot = try site.run("mirror", "forget", place)
      #expect(forgot.exitCode == 0, "\(forgot.errors)")
      #expect(try site.run("rollback", "--all-bundles", "--to", "1", "--app", "shop").exitCode == 0)
      #expect(try DurableFile.read("\(cdn)/\(path)") == Array("one".utf8))
      #expect(try site.run("doctor", "--data", site.data, "--pushed").exitCode == 0)
    }
  }

  @Test("The age of a watched static copy is shown in /metrics", .enabled(if: Nginx.isInstalled))
  func watched() throws {
    let port = Nginx.freePort()
    let scratch = try Scratch()
    let www = scratch.path + "/www"
    try Kernel.makeFolder(www)
    let site = try Site(["--watch-mirror", "http://127.0.0.1:\(port)"])
    try site.publish(["a.js": "one"])
    try site.mirror("--to", www)
    try site.publish(["a.js": "two"])
    let nginx = try Nginx(root: www, port: port, origin: site.port)
    // Checks are a minute apart; the next start checks at once.
    site.server.signal(SIGTERM)
    _ = try site.server.wait(seconds: 15)
    try site.start()
    let isSeen = Wait.until(20) {
      let metrics = (try? site.web.ask("/metrics").text) ?? ""
      return metrics.contains("xcache_mirror_up 1\n") && metrics.contains("xcache_mirror_age_seconds ")
        && metrics.contains("xcache_mirror_versions_behind{app=\"shop\",channel=\"online\"} 1\n")
        && metrics.contains("xcache_mirror_divergences_total 0\n")
    }
    let metrics = try site.web.ask("/metrics").text
    #expect(isSeen, "\(nginx.url): \(metrics)")
    site.server.signal(SIGTERM)
    #expect(try site.server.wait(seconds: 15) == 0)
  }
}

extension Site {
  /// Publishes, and returns the outcome even if the origin refuses.
  func tryToPublish(_ files: Files) throws -> Outcome {
    let folder = try scratch.folder("next-\(Clock.monotonicNanoseconds())", files)
    let words = [
      "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base, "--now",
    ]
    return try Outcome(try start(words), seconds: 120)
  }
}
