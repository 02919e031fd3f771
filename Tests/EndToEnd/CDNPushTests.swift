import Glibc
import Manifests
import Platform
import Testing

@Suite("serve --cdn push")
struct CDNPushTests {
  @Test("A release is visible only after its files are where devices download them")
  func push() throws {
    let scratch = try Scratch()
    let cdn = scratch.path + "/cdn"
    try Site.with(["--public-url", "https://cdn.example.com/x", "--cdn", "push", cdn]) { site in
      try site.publish(["a.js": "one", "b.js": "b"])
      let path = Site.path(of: try site.entry("a.js")).dropFirst("/x/".count).replacing("%25", with: "%")
      #expect(try DurableFile.read("\(cdn)/\(path)") == Array("one".utf8))

      // A file stands where the folder of the next release has to be made.
      _ = try scratch.write("cdn/xcache/1/2", "in the way")
      let folder = try site.scratch.folder("next", ["a.js": "two", "b.js": "b"])
      let refused = try Outcome(
        try site.start([
          "publish", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base, "--now",
        ]), seconds: 120)
      #expect(refused.exitCode == 1)
      #expect(refused.errors.contains("could not be pushed to"), "\(refused.errors)")
      #expect(try site.poll("version=1")["data"]?["update"]?.bool == false)

      try Kernel.remove(cdn + "/xcache/1/2")
      let again = try site.publish(["a.js": "two", "b.js": "b"])
      #expect(again["version"]?.string == "2" && again["uploaded"]?.integer == 0)
    }
  }

  @Test("A static copy that is watched shows its age in /metrics", .enabled(if: Nginx.isInstalled))
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
    // Looks are a minute apart; the first of the next start finds what is there.
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
