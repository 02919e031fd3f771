import System
import Testing
import TestSupport
import Values

/// `serve --edge-ttl`: what shared caches are told, and channels whose devices report nothing.
@Suite("Shared caches between an origin and its devices") struct EdgeTests {
  @Test("Caches are told how long they keep answers, devices that there is one")
  func fields() throws {
    try Site.with(["--edge-ttl", "7", "--edge-header", "surrogate"]) { site in
      try site.publish(["a.js": "one"])
      for query in ["", "&version=1"] {
        let answer = try site.web.ask("/configure.json?app=shop\(query)")
        #expect(answer["cache-control"] == "no-cache" && answer["cdn-cache-control"] == nil)
        #expect(answer["surrogate-control"] == "max-age=7, stale-while-revalidate=14, stale-if-error=73")
        #expect(
          answer["surrogate-key"] == "xcache:shop:online" && answer["cache-tag"] == "xcache:shop:online")
        #expect(try JSONValue.parse(answer.body)["data"]?["edge"]?.integer == 7)
        let again = try site.web.ask(
          "/configure.json?app=shop\(query)", "GET", ["If-None-Match": answer["etag"] ?? ""])
        #expect(again.status == 304 && again["surrogate-control"] == answer["surrogate-control"])
      }
      let unknown = try site.web.ask("/configure.json?app=shop&version=2")
      #expect(unknown["surrogate-control"] == nil && unknown["surrogate-key"] == nil)
      #expect(try site.poll("version=2")["data"]?["edge"]?.integer == 7)
      // A device takes it as any other answer, and a copy doesn't have it.
      try site.pull("phone", "--tree", Site.base)
      #expect(try site.tree(of: "phone").count == 1)
      #expect(try site.run("mirror", "--to", "www").exitCode == 0)
      let copies = try Scratch.contents(site.scratch.path + "/www").filter { $0.key.hasSuffix(".json") }
      #expect(
        !copies.isEmpty
          && copies.values.allSatisfy { !String(decoding: $0, as: UTF8.self).contains("\"edge\"") })
    }
  }

  @Test("Devices that report nothing, and a cache that takes the polls, exclude each other")
  func reports() throws {
    try Site.with(["--edge-ttl", "10"]) { site in
      try site.publish(["a.js": "one"])
      let refused = try site.run("channel", "set", "--reports", "0", "--app", "shop")
      #expect(refused.exitCode == 3, "\(refused.errors)")
      #expect(refused.errors.contains("--edge-ttl") && refused.errors.contains("1 %"), "\(refused.errors)")
      #expect(try site.run("channel", "set", "--reports", "1", "--app", "shop").exitCode == 0)
      #expect(try site.run("channel", "set", "--reports", "none", "--app", "shop").exitCode == 0)
      try site.stop()
      site.options = []
      try site.start()
      #expect(try site.web.ask("/configure.json?app=shop")["cdn-cache-control"] == nil)
      #expect(try site.poll()["data"]?["edge"] == nil)
      #expect(try site.run("channel", "set", "--reports", "0", "--app", "shop").exitCode == 0)
      try site.stop()
      let child = try Child(
        [Binary.path, "serve", "--data", site.data, "--listen", "127.0.0.1:0", "--edge-ttl", "10"],
        environment: [:], in: site.scratch.path)
      #expect(try child.wait(seconds: 30) == 1)
      let errors = child.standardError
      #expect(errors.contains("channel online of shop") && !errors.contains("listens on"), "\(errors)")
      #expect(errors.contains("xcache channel set --reports 1 --app shop --channel online"), "\(errors)")
      try site.start()
      #expect(try site.run("channel", "set", "--reports", "1", "--app", "shop").exitCode == 0)
      try site.stop()
      site.options = ["--edge-ttl", "10", "--edge-header", "s-maxage"]
      try site.start()
      let answer = try site.web.ask("/configure.json?app=shop&version=1")
      #expect(answer["cache-control"] == "max-age=0, s-maxage=10" && answer["cdn-cache-control"] == nil)
    }
  }

  @Test("Polls are not counted where a cache takes them") func counting() throws {
    try Site.with(["--edge-ttl", "10"]) { site in
      try site.publish(["a.js": "one"])
      for _ in 0..<5 { _ = try site.poll("version=1") }
      // Counts are written some seconds later, at the latest when the server ends.
      try site.stop()
      try site.start()
      let adoption = try site.api("GET", "apps/shop/channels/online/adoption").json
      #expect(adoption["day"]?["versions"]?.array?.isEmpty == true, "\(adoption)")
    }
  }
}
