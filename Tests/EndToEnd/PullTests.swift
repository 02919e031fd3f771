import Glibc
import SocketServer
import System
import Testing
import TestSupport
import Values

@Suite("xcache pull")
struct PullTests {
  @Test("Polls are 30 s apart unless forced")
  func notDue() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1", "b.js": "1", "c.js": "1"])
      try site.pull("device")
      try site.publish(["a.js": "2", "b.js": "1", "c.js": "1"])
      let early = try site.run("pull", "--to", "device", "--app", "shop", "--json")
      #expect(early.exitCode == 0)
      let update = try JSONValue.parse(Array(early.output.utf8))["update"]
      #expect(update?["kind"]?.string == "notDue")
      #expect((1...30_000).contains(update?["waitMilliseconds"]?.integer ?? 0))
      #expect(try site.pull("device")["update"]?["kind"]?.string == "pack")
    }
  }

  @Test("An update fetches only changed files; --complete fetches missing and damaged ones")
  func complete() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1", "b.js": "2", "c.js": "3"])
      try site.pull("device")
      let files = site.scratch.path + "/device/files"
      let names = try Folder.textNames(files).sorted()
      #expect(names.count == 3)
      unlink("\(files)/\(names[0])")
      try site.scratch.write("device/files/\(names[1])", "damaged")
      try site.publish(["a.js": "1", "b.js": "2", "c.js": "4"])
      let update = try site.pull("device")["update"]
      #expect(update?["fetched"]?.integer == 1 && update?["missing"]?.integer == 1)
      let completion = try site.pull("device", "--complete", "--tree", Site.base)["completion"]
      #expect(completion?["wrong"]?.integer == 1)
      #expect((completion?["fetched"]?.integer ?? 0) + (completion?["copied"]?.integer ?? 0) == 2)
      #expect(try site.tree(of: "device").texts == ["a.js": "1", "b.js": "2", "c.js": "4"])
    }
  }

  @Test("Bytes that the device has under another URL are copied, not fetched")
  func copied() throws {
    try Site.with { site throws in
      try site.publish(["old-name.js": "the same bytes"])
      try site.pull("device")
      try site.publish(["new-name.js": "the same bytes"])
      let update = try site.pull("device", "--tree", Site.base)["update"]
      #expect(update?["fetched"]?.integer == 0 && update?["copied"]?.integer == 1)
      #expect(try site.tree(of: "device").texts == ["new-name.js": "the same bytes"])
    }
  }

  @Test("A static copy that is given as --server is said to be one")
  func copyAsServer() throws {
    let hasCopy = Locked(true)
    let server = SocketServer { request in
      let isCopy = request.path == "/xcache/shop/version.json" && hasCopy.withLock { $0 }
      return isCopy ? .answer(body: Array("{}".utf8)) : .answer(404)
    }
    let scratch = try Scratch()
    func pull() throws -> Outcome {
      let words = [Binary.path, "pull", "--server", server.url, "--to", "device", "--app", "shop", "--force"]
      return try Outcome(Child(words, environment: ["HOME": scratch.path], in: scratch.path))
    }
    let refused = try pull()
    #expect(refused.exitCode == 1)
    #expect(
      refused.errors.contains(
        "Or is this a static copy? Give it as --fallback, and the origin as --server."),
      "\(refused.errors)")
    hasCopy.withLock { $0 = false }
    let lost = try pull()
    #expect(lost.exitCode == 1 && !lost.errors.contains("static copy"), "\(lost.errors)")
  }

  @Test("--tree removes files that aren't in the manifest, and restores changed ones")
  func tree() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1", "d/b.js": "2"])
      try site.pull("device", "--tree", Site.base)
      try site.scratch.write("device/tree/a.js", "changed")
      try site.scratch.write("device/tree/extra/file.js", "extra")
      symlink("/etc", site.scratch.path + "/device/tree/link")
      let tree = try site.pull("device", "--tree", Site.base)["tree"]
      #expect(tree?["written"]?.integer == 1 && tree?["unchanged"]?.integer == 1)
      #expect(tree?["removed"]?.integer == 2)
      #expect(try site.tree(of: "device").texts == ["a.js": "1", "d/b.js": "2"])
      #expect(try Kernel.status("/etc/passwd") != nil)
    }
  }

  @Test("A misspelt base URL is refused with a suggestion, and leaves the tree unchanged") func misspeltTree()
    throws
  {
    try Site.with { site throws in
      try site.publish(["a.js": "1", "d/b.js": "2"])
      try site.pull("device", "--tree", Site.base)
      let files = ["a.js": "1", "d/b.js": "2"]
      for (base, says) in [
        (
          "https://m.example.com/shpo", "no file below https://m.example.com/shpo; did you mean \(Site.base)?"
        ),
        ("https://m.example.com/shop/", ""), ("https://m.example.com/", ""), ("\(Site.base)/d", ""),
        ("https://other.example.org/nothing/here", "its files are below https://m.example.com."),
      ] {
        let outcome = try site.run("pull", "--to", "device", "--app", "shop", "--force", "--tree", base)
        #expect(
          outcome.exitCode == (says.isEmpty ? 0 : 3) && (says.isEmpty || outcome.errors.contains(says)),
          "\(outcome.errors)")
        if !says.isEmpty {
          #expect(try site.tree(of: "device").texts == files)
          let json = try site.run(
            "pull", "--to", "device", "--app", "shop", "--force", "--tree", base, "--json")
          let problem = try JSONValue.parse(Array(json.output.utf8))
          #expect(json.exitCode == 3 && problem["code"]?.string == "nothing-mapped", "\(json.output)")
          #expect(problem["version"]?.string == "1")
        }
        try site.pull("device", "--tree", Site.base)
      }
    }
  }

  @Test("A file and a folder of the same name can't both be in a tree: a message, and exit code 1")
  func clash() throws {
    try Site.with { site throws in
      try site.publish(["x": "file"], as: "one")
      try site.publish(["x/y.js": "below"], as: "two")
      let outcome = try site.run(
        "pull", "--to", "device", "--app", "shop", "--tree", Site.base)
      #expect(outcome.exitCode == 1)
      #expect(outcome.output.contains("\(Site.base)/x, ") || outcome.output.contains(", \(Site.base)/x\n"))
      #expect(try site.tree(of: "device").texts == ["x/y.js": "below"])
    }
  }

  @Test("A device with a damaged index starts without a manifest, and uses its files as bases of deltas")
  func damagedIndex() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1", "b.js": "2"])
      try site.pull("device")
      try site.scratch.write("device/index.json", "{\"half")
      let outcome = try site.run("pull", "--to", "device", "--app", "shop", "--force", "--tree", Site.base)
      #expect(outcome.exitCode == 0)
      #expect(outcome.errors.contains("index.json was damaged"))
      #expect(outcome.output.contains("0 fetched, 2 copied"), "\(outcome.output)")
      #expect(try site.tree(of: "device").texts == ["a.js": "1", "b.js": "2"])
    }
  }

  @Test("A device folder of one app is refused for another")
  func otherApp() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "1"], app: "another")
      try site.pull("device")
      let outcome = try site.run("pull", "--to", "device", "--app", "another")
      #expect(outcome.exitCode == 1)
      #expect(outcome.errors.contains("shop") && outcome.errors.contains("another"))
    }
  }

  @Test("A device killed during an update continues it")
  func killed() throws {
    try Site.with { site throws in
      let large = Files(
        uniqueKeysWithValues: (0..<30).map { ("\($0).bin", String(repeating: "\($0) ", count: 40_000)) })
      try site.publish(["0.bin": "first"])
      try site.pull("device", "--tree", Site.base)
      try site.publish(large)
      for round in 0..<6 {
        let child = try site.start(["pull", "--to", "device", "--app", "shop", "--force"])
        Clock.sleep(for: .microseconds(UInt32(15_000 + round * 12_000)))
        child.signal(SIGKILL)
        _ = try child.wait()
        // Never a mixture: either the old manifest or the new one.
        let index = try DurableFile.read(site.scratch.path + "/device/index.json") ?? []
        #expect((try? JSONValue.parse(index)) != nil)
      }
      try site.pull("device", "--tree", Site.base)
      #expect(try site.tree(of: "device").texts == large)
    }
  }

  @Test("Two channels have manifests and downloads of their own")
  func channels() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "live"])
      try site.publish(["a.js": "test"], as: "main", app: "shop", base: Site.base, "--channel", "test")
      try site.pull("live", "--tree", Site.base)
      try site.pull("test", app: "shop", "--channel", "test", "--tree", Site.base)
      #expect(try site.tree(of: "live").texts == ["a.js": "live"])
      #expect(try site.tree(of: "test").texts == ["a.js": "test"])
      let document = try site.web.ask("/xcache_test/shop/configure.json")
      #expect(document.text.contains("/xcache_test/1/1/1/"))
      #expect(try document.body == site.web.ask("/configure.json?app=shop&channel=test").body)
      #expect(try site.web.ask("/xcache_online/shop/configure.json").status == 404)
    }
  }

  @Test("Settings of xcache.json: several folders, patterns, types, index")
  func settingsFile() throws {
    try Site.with { site throws in
      try site.scratch.folder(
        "dist", ["index.html": "root", "d/index.html": "below", "app.js.map": "map", "data.x": "x"])
      try site.scratch.folder("more", ["extra.js": "extra", "node_modules/big.js": "big"])
      try site.scratch.write(
        "xcache.json",
        """
        {"app": "shop", "bundles": {"main": {"index": true, "baseURL": "\(Site.base)",
          "dirs": ["dist", {"dir": "more", "baseURL": "https://static.example.com/"}],
          "exclude": ["*.map", "node_modules"], "ctypes": {"*.x": "text/x-special"}}}}
        """)
      let outcome = try site.run("publish", "--create")
      #expect(outcome.exitCode == 0, "\(outcome.errors)")
      let map = try #require(try site.poll()["data"]?["resourcemap"]?.object)
      #expect(
        map.members.map(\.key) == [
          "\(Site.base)/", "\(Site.base)/d/", "\(Site.base)/d/index.html", "\(Site.base)/data.x",
          "\(Site.base)/index.html", "https://static.example.com/extra.js",
        ])
      #expect(map["\(Site.base)/data.x"]?["ctype"]?.string == "text/x-special")
      #expect(map["\(Site.base)/d/"]?["sha256"] == map["\(Site.base)/d/index.html"]?["sha256"])
    }
  }
}
