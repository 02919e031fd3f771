import Glibc
import System
import Testing
import TestSupport
import Values

@Suite("Devices without an origin", .enabled(if: Nginx.isInstalled))
struct FallbackTests {
  static let versions: [Files] = (1...3).map { version in
    [
      "index.html": "<p>version \(version)", "same.css": "p { margin: 0 }",
      "app.\(version).js": "run(\(version))",
      "img/a b \(version).svg": "<svg id='\(version)'/>",
    ]
  }

  @Test("From each version, a device updates to the newest from the static copy, byte for byte")
  func fallback() throws {
    let port = Nginx.freePort()
    let site = try Site(["--public-url", "http://127.0.0.1:\(port)"])
    let www = site.scratch.path + "/www"
    try Kernel.makeFolder(www)
    let nginx = try Nginx(root: www, port: port, origin: site.port)
    for (index, files) in Self.versions.enumerated() {
      try site.publish(files)
      try site.pull("device\(index + 1)", "--tree", Site.base)
    }
    try site.mirror("--data", site.data, "--to", "www")
    let verified = try site.run("mirror", "verify", nginx.url, "--strict")
    #expect(verified.exitCode == 0, "\(verified.output)")
    site.server.signal(SIGKILL)
    _ = try site.server.wait()

    for version in 1...3 {
      let words = ["pull", "--to", "device\(version)", "--app", "shop", "--force", "--tree", Site.base]
      for _ in 1...5 {
        #expect(try Outcome(try site.start(words + ["--fallback", nginx.url])).exitCode == 1)
      }
      let pulled = try Outcome(try site.start(words + ["--fallback", nginx.url, "--json"]))
      #expect(pulled.exitCode == 0, "\(pulled.errors)")
      let update = try JSONValue.parse(Array(pulled.output.utf8))["update"]
      #expect(update?["source"]?.string == "fallback" && update?["to"]?.string == "3")
      // Where a busy machine made the pack too late for this run, a patch is as good.
      #expect((version == 3 ? ["nothing"] : ["pack", "patch"]).contains(update?["kind"]?.string ?? ""))
      #expect(try site.tree(of: "device\(version)").texts == Self.versions[2])
    }
    // A new device has only the copy.
    let words = [
      "pull", "--to", "new", "--app", "shop", "--force", "--tree", Site.base, "--fallback", nginx.url,
    ]
    for _ in 1...5 { _ = try Outcome(try site.start(words)) }
    #expect(try Outcome(try site.start(words)).exitCode == 0)
    #expect(try site.tree(of: "new").texts == Self.versions[2])
  }

  @Test("An origin restored from the static copy answers with the same bytes and accepts releases")
  func restored() throws {
    let port = Nginx.freePort()
    let site = try Site(["--public-url", "http://127.0.0.1:\(port)"])
    let www = site.scratch.path + "/www"
    try Kernel.makeFolder(www)
    let nginx = try Nginx(root: www, port: port, origin: site.port)
    for files in Self.versions { try site.publish(files) }
    try site.publish(["help.html": "<p>help"], as: "help")
    try site.mirror("--to", "www")
    let before = try site.web.ask("/configure.json?app=shop").body
    site.server.signal(SIGKILL)
    _ = try site.server.wait()
    Scratch.remove(site.data)
    let restored = try site.run("restore", "--from", nginx.url, "--data", site.data)
    #expect(restored.exitCode == 0, "\(restored.errors)")
    try site.start()
    #expect(try site.web.ask("/configure.json?app=shop").body == before)
    let file = try DurableFile.read(site.data + "/admin.token")
    let token = String(decoding: file ?? [], as: UTF8.self).filter { !$0.isWhitespace }
    #expect(try site.publish(["help.html": "<p>help"], as: "help", token: token)["changed"]?.bool == false)
    let changed = try site.publish(["help.html": "<p>more"], as: "help", token: token)
    #expect(changed["version"]?.string == "1004")
    #expect(try site.poll()["data"]?["resourcemap"]?.object?.count == 5)
  }

  @Test("A mirror run killed at any moment leaves a consistent copy")
  func killed() throws {
    let script = Repository.root + "/Tests/Mirror/kill.py"
    try #require(access("/usr/bin/env", X_OK) == 0)
    let child = try Child(
      ["python3", script, Binary.path, "4"],
      environment: ["PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], in: "/")
    let outcome = try Outcome(child, seconds: 120)
    #expect(outcome.exitCode == 0, "\(outcome.output)\(outcome.errors)")
  }
}
