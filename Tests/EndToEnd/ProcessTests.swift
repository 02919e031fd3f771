import Glibc
import System
import Testing
import TestSupport
import Values

@Suite("The server as a process")
struct ProcessTests {
  @Test("A crash loses no acknowledged release")
  func crash() throws {
    try Site.with { site throws in
      try site.publish(LifeCycleTests.first)
      try site.pull("device")
      try site.publish(LifeCycleTests.second)
      let before = try site.web.ask("/configure.json?app=shop")
      try site.crash()
      let after = try site.web.ask("/configure.json?app=shop")
      #expect(after.body == before.body && after["etag"] == before["etag"])
      // The pack is made again where the crash took it.
      let kind = try site.pull("device", "--tree", Site.base)["update"]?["kind"]?.string
      #expect(kind == "pack" || kind == "patch")
      #expect(try site.tree(of: "device").texts == LifeCycleTests.second)
      #expect(try site.publish(LifeCycleTests.second)["changed"]?.bool == false)
      #expect(try site.publish(LifeCycleTests.first)["version"]?.string == "3")
    }
  }

  @Test(
    "After repeated kill -9 during publishes, every acknowledged release and its files are there")
  func crashesWhilePublishing() throws {
    try Site.with { site throws in
      var newest: Int64 = 0
      var acknowledged: [Int64: Files] = [:]
      for round in 0..<(Privileges.wantsLong ? 60 : 12) {
        let name = "round-\(round)"
        // Files that are new in each round, small ones and one that is sent by itself.
        let files: Files = [
          "\(name).js": "js \(round)", "shared.css": "css \(round / 2)", "same.txt": "same",
          "large.bin": String(repeating: "\(round) ", count: 60_000),
        ]
        let folder = try site.scratch.folder(name, files)
        let publisher = try site.start([
          "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base,
          "--json",
        ])
        // At a different moment in each round, spread over the whole publish.
        Clock.sleep(for: .microseconds(UInt32(8_000 + round * 53_777 % 120_000)))
        site.server.signal(SIGKILL)
        _ = try site.server.wait()
        try site.start()
        let outcome = try Outcome(publisher)
        let version = try site.site()?.version ?? 0
        #expect(version >= newest, "versions only rise")
        if outcome.exitCode == 0,
          let answer = try JSONValue.parse(Array(outcome.output.utf8))["version"]?.string
        {
          acknowledged[Int64(answer) ?? 0] = files
          #expect(version >= Int64(answer) ?? 0)
        }
        newest = version
        try site.checkEveryDownload()
      }
      #expect(!acknowledged.isEmpty)
      for (version, files) in acknowledged {
        #expect(try site.files(inLogAt: version) == files.count, "version \(version) in the log")
      }
      let last = try site.publish(["end.js": "end"])
      #expect(last["version"]?.string == "\(newest + 1)")
      #expect(try Folder.textNames(site.data + "/tmp").filter { $0 != "whole" }.isEmpty)
    }
  }

  @Test("Files sent before the server crashed aren't sent again")
  func resumed() throws {
    try Site.with { site throws in
      let bytes = [UInt8]((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
      let answer = try site.web.ask(
        "/api/v1/blobs/\(SHA256.of(bytes).hex)", "PUT",
        ["Authorization": "Bearer \(site.token)", "Content-MD5": Self.base64(MD5.of(bytes).bytes)],
        body: bytes)
      #expect(answer.status < 300)
      // A partial upload.
      let socket = try WebSocket(site.port)
      let head = """
        PUT /api/v1/blobs/\(SHA256.of(Array("x".utf8)).hex) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(site.token)\r
        Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==\r\nContent-Length: 1000000\r\n\r\n
        """
      socket.send(Array(head.utf8) + bytes)
      #expect(Wait.until(10) { (try? Folder.textNames(site.data + "/tmp").count) == 2 })
      try site.crash()
      #expect(
        try Folder.textNames(site.data + "/tmp") == ["whole"], "partial uploads are removed at the start")
      try site.scratch.write("site/large.bin", bytes)
      let outcome = try site.run(
        "publish", "--create", "site", "--app", "shop", "--bundle", "main", "--base-url", Site.base, "--json")
      #expect(outcome.exitCode == 0, "\(outcome.errors)")
      #expect(try JSONValue.parse(Array(outcome.output.utf8))["uploaded"]?.integer == 0)
      try site.checkEveryDownload()
    }
  }

  private static func base64(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for place in 0..<4 {
        text += place <= group.count ? String(Unicode.Scalar(digits[bits >> (18 - 6 * place) & 63])) : "="
      }
    }
    return text
  }

  @Test("A second server on a data folder is refused, and the first one continues")
  func folderInUse() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1"])
      let second = try site.run("serve", "--data", site.data, "--listen", "127.0.0.1:0")
      #expect(second.exitCode == 1)
      #expect(second.errors.contains("\(site.data) is in use by process \(site.server.id)"))
      #expect(second.errors.contains("--data"))
      #expect(try site.entry("a.js") != nil)
    }
  }

  @Test("A renamed lock file doesn't let a second server in, and is created again")
  func renamedLockFile() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1"])
      try Kernel.rename(site.data + "/lock", to: site.data + "/lock.old")
      let second = try site.run("serve", "--data", site.data, "--listen", "127.0.0.1:0")
      #expect(second.exitCode == 1 && second.errors.contains("is in use by"), "\(second.errors)")
      try site.publish(["a.js": "2"])
      #expect(FileLock.holder(site.data + "/lock") == site.server.id)
    }
  }

  @Test("A stray folder among the uploads doesn't prevent a start, and the log says where it was moved")
  func strayFolder() throws {
    try Site.with { site throws in
      let stray = site.data + "/tmp/whole/notes"
      try Kernel.makeFolder(stray)
      try site.crash()
      let line = site.server.standardError.split(separator: "\n").first { $0.contains(stray) } ?? ""
      #expect(line.contains("is a folder") && line.contains(site.data + "/quarantine/tmp-notes-"), "\(line)")
      try site.publish(["a.js": "1"])
    }
  }

  @Test("A port in use is refused, and no data folder is created")
  func portInUse() throws {
    try Site.with { site throws in
      let data = site.scratch.path + "/second"
      let second = try site.run("serve", "--data", data, "--listen", "127.0.0.1:\(site.port)")
      #expect(second.exitCode == 1)
      #expect(second.errors.contains("can't listen on 127.0.0.1:\(site.port)"))
      #expect(try Kernel.status(data) == nil, "the folder was created before the failure")
      #expect(second.errors.contains("--listen"))
      #expect(try site.web.ask("/healthz").status == 200)
    }
  }

  @Test(
    "Invalid options of serve",
    arguments: [
      ["--listen", "nowhere"], ["--listen", "127.0.0.1:99999"], ["--threads", "0"],
      ["--public-url", "cdn.example.com"],
      ["--trust-proxy", "10.0.0.0/99"], ["--max-connections", "many"], ["operand"],
    ])
  func options(_ words: [String]) throws {
    let scratch = try Scratch()
    let child = try Child(
      [Binary.path, "serve", "--data", scratch.path + "/data"] + words, environment: [:], in: scratch.path)
    #expect(try child.wait(seconds: 20) == 2, "\(child.standardError)")
    #expect(child.standardError.contains(words.last ?? ""))
    #expect(try Kernel.status(scratch.path + "/data") == nil, "the folder was created")
  }

  @Test("A data folder that can't be created")
  func invalidDataFolder() throws {
    let scratch = try Scratch()
    try scratch.write("file", "x")
    let child = try Child(
      [Binary.path, "serve", "--data", scratch.path + "/file/data", "--listen", "127.0.0.1:0"],
      environment: [:],
      in: scratch.path)
    #expect(try child.wait(seconds: 20) == 1)
    #expect(child.standardError.contains(scratch.path + "/file"))
  }

  @Test(
    "The database of another program is left unchanged",
    .enabled(if: Privileges.hasSQLite, "needs the program sqlite3"),
    arguments: [
      "CREATE TABLE t (x); PRAGMA application_id = 77", "CREATE TABLE t (x)",
      "PRAGMA application_id = 77; CREATE TABLE migration (position INTEGER PRIMARY KEY, name, sha256)",
    ])
  func otherDatabases(_ sql: String) throws {
    let scratch = try Scratch()
    try Kernel.makeFolder(scratch.path + "/data")
    let path = scratch.path + "/data/xcache.db"
    let make = try Child(["sqlite3", path, sql], environment: ["PATH": "/usr/bin:/bin"], in: scratch.path)
    try #require(try make.wait() == 0, "\(make.standardError)")
    let tables = try DurableFile.read(path)
    let child = try Child(
      [Binary.path, "serve", "--data", scratch.path + "/data", "--listen", "127.0.0.1:0"], environment: [:],
      in: scratch.path)
    #expect(try child.wait(seconds: 20) == 1)
    #expect(child.standardError.contains("another program"), "\(child.standardError)")
    #expect(try DurableFile.read(path) == tables, "the file was changed")
  }

  @Test(
    "The database of a newer xcache is refused, and the message names its version",
    .enabled(if: Privileges.hasSQLite, "needs the program sqlite3"))
  func newerDatabase() throws {
    let site = try Site()
    site.server.signal(SIGTERM)
    #expect(try site.server.wait() == 0)
    let row =
      "INSERT INTO migration SELECT max(position) + 1, '9999_later.sql', zeroblob(32), 0 FROM migration"
    let make = try Child(
      ["sqlite3", site.data + "/xcache.db", row], environment: ["PATH": "/usr/bin:/bin"],
      in: site.scratch.path)
    #expect(try make.wait() == 0, "\(make.standardError)")
    let outcome = try site.run("serve", "--data", site.data, "--listen", "127.0.0.1:0")
    #expect(outcome.exitCode == 1)
    #expect(outcome.errors.contains("newer xcache") && outcome.errors.contains("9999_later.sql"))
  }

  @Test(
    "A signal ends the server after answers in flight are complete", arguments: [SIGTERM, SIGINT])
  func slowDownload(_ signal: Int32) throws {
    let site = try Site()
    // More than the kernel's buffers on both sides hold.
    let text = String(repeating: "0123456789abcdef", count: 3 << 20)
    try site.publish(["large.bin": text])
    let path = Site.path(of: try site.entry("large.bin"))
    let socket = try WebSocket(site.port)
    socket.send(Array("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
    var received = try socket.receive(1000)
    site.server.signal(signal)
    #expect(Wait.until(5) { site.server.standardError.contains("stopping on SIG") })
    #expect(Wait.until(5) { (try? site.web.ask("/healthz")) == nil }, "a new connection was accepted")
    #expect(!site.server.hasEnded)
    received += try socket.receiveAll()
    let answer = try Web.answer(received, to: "GET")
    #expect(answer.status == 200 && answer.text == text)
    #expect(try site.server.wait(seconds: 15) == 0)
    #expect(site.server.standardError.hasSuffix("stopped\n"))
  }

  @Test(
    "A client that doesn't read delays a stop by ten seconds at most",
    .enabled(if: Privileges.wantsLong, "takes 10 s"))
  func stuckDownload() throws {
    let site = try Site()
    try site.publish(["large.bin": String(repeating: "0123456789abcdef", count: 1 << 21)])
    let path = Site.path(of: try site.entry("large.bin"))
    let socket = try WebSocket(site.port)
    socket.limitReceiving(to: 4096)
    socket.send(Array("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
    _ = try socket.receive(1000)
    site.server.signal(SIGTERM)
    let start = Clock.monotonicNanoseconds()
    #expect(try site.server.wait(seconds: 20) == 0)
    let seconds = Double(Clock.monotonicNanoseconds() - start) / 1e9
    #expect((9...13).contains(seconds))
  }

  @Test("No descriptors are leaked, whatever clients do")
  func descriptors() throws {
    try Site.with { site throws in
      try site.publish([
        "a.js": String(repeating: "a", count: 100_000), "b.bin": String(repeating: "b", count: 3 << 20),
      ])
      let paths = [Site.path(of: try site.entry("a.js")), Site.path(of: try site.entry("b.bin"))]
      func round(_ number: Int) throws {
        for path in paths {
          for method in ["GET", "HEAD"] {
            _ = try site.web.ask(path, method, ["Accept-Encoding": "gzip", "Range": "bytes=5-9"])
          }
        }
        _ = try site.web.ask("/configure.json?app=shop&version=1&patch=1")
        _ = try site.web.ask("/none")
        // Disconnects in the middle of an answer, an upload and a head, and before sending anything.
        let sent = [
          "GET \(paths[1]) HTTP/1.1\r\nHost: x\r\n\r\n",
          "PUT /api/v1/blobs/\(SHA256.of([1]).hex) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(site.token)\r\n"
            + "Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==\r\nContent-Length: 100000\r\n\r\n"
            + String(repeating: "x", count: 50_000),
          "GET / HT", "",
        ]
        for text in sent { try WebSocket(site.port).send(Array(text.utf8)) }
        _ = try site.run("status", "--app", "shop")
      }
      try round(0)
      let before = site.openCount
      for number in 1...8 { try round(number) }
      #expect(
        Wait.until(10) { site.openCount <= before },
        "before \(before), after: \(site.server.descriptors.sorted())")
      // Kept open on purpose: per event loop each file and its coded forms, what threads wait on, and some connections to SQLite. A leak in
      // each of the eight rounds would exceed this.
      #expect(site.server.descriptors.count - site.openCount <= 80)
    }
  }
}

extension Site {
  /// The newest manifest, or nil if there is no app yet.
  fileprivate func site() throws -> (version: Int64, map: JSONObject)? {
    let answer = try web.ask("/configure.json?app=shop")
    if answer.status == 404 { return nil }
    let data = try JSONValue.parse(answer.body)["data"]
    guard let version = data?["version"]?.string.flatMap({ Int64($0) }) else { return nil }
    return (version, data?["resourcemap"]?.object ?? JSONObject())
  }

  /// The number of resources of a version according to the log, or nil if the log doesn't have it.
  fileprivate func files(inLogAt version: Int64) throws -> Int? {
    let log = try api("GET", "apps/shop/channels/online/log?limit=1000").json
    let release = log["releases"]?.array?.first { $0["version"]?.string == "\(version)" }
    return release?["resources"]?.integer.map { Int($0) }
  }

  /// Downloads everything in the newest manifest, and verifies the digests.
  func checkEveryDownload() throws {
    for member in try site()?.map.members ?? [] {
      let answer = try web.ask(Site.path(of: member.value))
      #expect(answer.status == 200, "\(member.key): \(answer.text.prefix(200))")
      #expect(SHA256.of(answer.body).hex == member.value["sha256"]?.string, "\(member.key)")
      #expect(MD5.of(answer.body).hex == member.value["md5"]?.string, "\(member.key)")
    }
  }
}
