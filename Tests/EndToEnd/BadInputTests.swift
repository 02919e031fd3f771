import Glibc
import Manifests
import System
import Testing
import TestSupport

@Suite("Bad input: a clear message, and nothing changed")
struct BadInputTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Breaks the folder `site`.
    var prepare: @Sendable (Scratch) throws -> Void = { try $0.folder("site", ["a.js": "2"]) }
    var words = ["publish", "--create", "site", "--app", "shop", "--bundle", "main", "--base-url", Site.base]
    var exitCode: Int32 = 1
    let says: [String]
  }

  static func publish(_ words: String...) -> [String] { ["publish"] + words }

  @Test("Output that can't be written is a failure; a closed pipe isn't")
  func fullDisk() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1"])
      for words in [
        ["log", "--app", "shop"], ["audit", "export"],
        ["token", "create", "--name", "ci", "--scope", "publish", "--all-apps", "--no-expiry"], ["--help"],
      ] {
        // The shell opens /dev/full, so every write fails.
        let full = try Outcome(
          try site.start(words, launcher: ["/bin/sh", "-c", "exec \"$@\" > /dev/full", "sh"]))
        #expect(full.exitCode == 1, "\(words)")
        #expect(
          full.errors.contains("could not be written completely: standard output: No space left"),
          "\(full.errors)"
        )
      }
      let closed = try Outcome(
        try site.start(["audit", "export"], launcher: ["/bin/sh", "-c", "\"$@\" | :; echo done", "sh"]))
      #expect(closed.exitCode == 0 && closed.errors.isEmpty, "\(closed.errors)")
    }
  }

  @Test(
    "Input that can't be published",
    arguments: [
      Case(
        testDescription: "an empty folder", prepare: { try $0.folder("site", [:]) },
        says: ["site contains no files to publish", "unpublish"]),
      Case(testDescription: "no folder", prepare: { _ in }, says: ["no such folder: site"]),
      Case(
        testDescription: "a file for a folder", prepare: { try $0.write("site", "x") },
        says: ["site is neither a folder nor a zip"]),
      Case(
        testDescription: "a link that leaves the folder",
        prepare: {
          try $0.write("secret", "x")
          try $0.folder("site", ["a.js": "2"])
          symlink("../secret", $0.path + "/site/b.js")
        }, says: ["site/b.js points outside the folder", "secret"]),
      Case(
        testDescription: "a link to a folder outside",
        prepare: {
          try $0.folder("site", ["a.js": "2"])
          symlink("/etc", $0.path + "/site/etc")
        }, says: ["site/etc points outside the folder", "/etc"]),
      Case(
        testDescription: "a link to nothing",
        prepare: {
          try $0.folder("site", ["a.js": "2"])
          symlink("nothing", $0.path + "/site/b.js")
        }, says: ["site/b.js leads to nothing"]),
      Case(
        testDescription: "links in a circle",
        prepare: {
          try $0.folder("site", ["a.js": "2", "deep/b.js": "2"])
          symlink("..", $0.path + "/site/deep/up")
        }, says: ["site/deep/up", "leads back to itself"]),
      Case(
        testDescription: "a pipe",
        prepare: {
          try $0.folder("site", ["a.js": "2"])
          mkfifo($0.path + "/site/pipe", 0o644)
        }, says: ["site/pipe is neither a file nor a folder"]),
      Case(
        testDescription: "a name that isn't UTF-8",
        prepare: {
          try $0.folder("site", ["a.js": "2"])
          let name = Array(($0.path + "/site/").utf8) + [0xff, 0xfe, 0]
          close(
            name.withUnsafeBufferPointer {
              creat(UnsafeRawPointer($0.baseAddress!).assumingMemoryBound(to: CChar.self), 0o644)
            })
        }, says: ["isn't UTF-8"]),
      Case(
        testDescription: "two folders that give one URL",
        prepare: {
          try $0.folder("site", ["a.js": "2"])
          try $0.folder("more", ["a.js": "3"])
        },
        words: [
          "publish", "--create", "site", "more", "--app", "shop", "--bundle", "main", "--base-url", Site.base,
        ],
        says: ["same URL", "\(Site.base)/a.js", "site/a.js", "more/a.js"]),
      Case(
        testDescription: "duplicates by --index",
        prepare: {
          try $0.folder("site", ["x/index.html": "2"])
          try $0.folder("more", ["index.html": "3"])
          try $0.write(
            "xcache.json",
            """
            {"app": "shop", "bundles": {"main": {"index": true, "dirs": [
              {"dir": "site", "baseURL": "\(Site.base)"}, {"dir": "more", "baseURL": "\(Site.base)/x"}]}}}
            """)
        }, words: ["publish"], says: ["same URL", "\(Site.base)/x/"]),
      Case(
        testDescription: "a base URL without scheme",
        words: [
          "publish", "--create", "site", "--app", "shop", "--bundle", "main", "--base-url",
          "m.example.com/shop",
        ],
        exitCode: 2, says: ["--base-url", "m.example.com/shop", "https://"]),
      Case(
        testDescription: "a base URL with another scheme",
        words: [
          "publish", "--create", "site", "--app", "shop", "--bundle", "main", "--base-url",
          "ftp://m.example.com/",
        ],
        exitCode: 2, says: ["--base-url", "ftp://m.example.com/", "http"]),
      Case(
        testDescription: "a base URL with a query",
        words: [
          "publish", "--create", "site", "--app", "shop", "--bundle", "main", "--base-url",
          "https://m.example.com/?a",
        ],
        exitCode: 2, says: ["--base-url", "https://m.example.com/?… has a query"]),
      Case(
        testDescription: "no base URL",
        words: ["publish", "--create", "site", "--app", "shop", "--bundle", "main"],
        exitCode: 2,
        says: ["main has no base URL", "--base-url"]),
      Case(
        testDescription: "no bundle",
        words: ["publish", "--create", "site", "--app", "shop", "--base-url", Site.base],
        exitCode: 2, says: ["--bundle"]),
      Case(
        testDescription: "no app",
        words: ["publish", "--create", "site", "--bundle", "main", "--base-url", Site.base],
        exitCode: 2, says: ["--app"]),
      Case(
        testDescription: "an app's name that is none",
        words: [
          "publish", "--create", "site", "--app", "1shop", "--bundle", "main", "--base-url", Site.base,
        ],
        exitCode: 2,
        says: ["--app", "1shop"]),
      Case(
        testDescription: "a reserved app",
        words: [
          "publish", "--create", "site", "--app", "delta", "--bundle", "main", "--base-url", Site.base,
        ],
        exitCode: 2,
        says: ["delta"]),
      Case(
        testDescription: "an app that differs in case alone",
        // The origin already has these bytes, so it is asked about them before it sees the name.
        prepare: { try $0.folder("site", ["a.js": "<p>old"]) },
        words: ["publish", "--create", "site", "--app", "Shop", "--bundle", "main", "--base-url", Site.base],
        exitCode: 3,
        says: ["Shop", "shop", "case"]),
      Case(
        testDescription: "a channel's name that is none",
        words: [
          "publish", "--create", "site", "--app", "shop", "--channel", "Test", "--bundle", "main",
          "--base-url",
          Site.base,
        ], exitCode: 2, says: ["--channel", "Test"]),
      Case(
        testDescription: "a misspelt option",
        words: ["publish", "--create", "site", "--app", "shop", "--bundel", "main", "--base-url", Site.base],
        exitCode: 2,
        says: ["--bundel", "did you mean --bundle"]),
      Case(
        testDescription: "a misspelt command", words: ["publsh"], exitCode: 2, says: ["did you mean publish"]),
      Case(
        testDescription: "settings that aren't JSON",
        prepare: {
          try $0.folder("site", ["a.js": "2"])
          try $0.write("xcache.json", "{\"app\": }")
        }, exitCode: 2, says: ["xcache.json", "isn't JSON"]),
      Case(
        testDescription: "a token in shared settings",
        prepare: {
          try $0.folder("site", ["a.js": "2"])
          try $0.write("xcache.json", "{\"token\": \"xcache_1_2\"}")
        }, exitCode: 2, says: ["xcache.json", "XCACHE_TOKEN"]),
      Case(
        testDescription: "an unknown bundle's end",
        words: ["unpublish", "--app", "shop", "--bundle", "nobody"],
        says: ["nobody"]),
      Case(
        testDescription: "an unknown app's end", words: ["unpublish", "--app", "nobody", "--bundle", "main"],
        says: ["nobody"]),
      Case(testDescription: "the status of nothing", words: ["status", "--app", "nobody"], says: ["nobody"]),
      Case(
        testDescription: "a diff with a version that isn't", words: ["diff", "1", "99", "--app", "shop"],
        says: ["99"]),
      Case(
        testDescription: "a pull of nothing", words: ["pull", "--to", "device", "--app", "nobody"],
        says: ["nobody"]),
      Case(
        testDescription: "a server that isn't there",
        words: [
          "publish", "--create", "site", "--app", "shop", "--bundle", "main", "--base-url", Site.base,
          "--server",
          "http://127.0.0.1:1",
        ],
        says: ["127.0.0.1:1", "can't be reached"]),
      Case(
        testDescription: "a server that nobody knows",
        words: ["status", "--app", "shop", "--server", "http://nobody.invalid"], says: ["nobody.invalid"]),
      Case(
        testDescription: "a device whose server isn't there",
        words: ["pull", "--to", "device", "--app", "shop", "--server", "http://127.0.0.1:1"],
        says: ["127.0.0.1:1"]),
    ])
  func refused(_ test: Case) throws {
    try Shared.site { site throws in
      let before = try site.poll()
      let scratch = try Scratch()
      try test.prepare(scratch)
      let outcome = try Outcome(try site.site.start(test.words, in: scratch))
      #expect(outcome.exitCode == test.exitCode, "\(outcome.errors)")
      #expect(outcome.output.isEmpty)
      for words in test.says { #expect(outcome.errors.contains(words), "\(outcome.errors)") }
      #expect(try site.poll() == before)
      // Nothing was uploaded either.
      #expect(try Folder.names(site.site.data + "/tmp/whole").isEmpty)
    }
  }

  @Test("A file without read permission", .enabled(if: Privileges.canBeNobody, "needs root and setpriv"))
  func unreadable() throws {
    try Site.with { site throws in
      let folder = try site.scratch.folder("site", ["a.js": "1", "b.js": "2"])
      chmod(folder + "/b.js", 0)
      let words = [
        "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base,
      ]
      let outcome = try Outcome(try site.start(words, launcher: Privileges.nobody))
      #expect(outcome.exitCode == 1)
      #expect(outcome.errors.contains("b.js can't be read: Permission denied"))
      #expect(try site.web.ask("/configure.json?app=shop").status == 404)
    }
  }

  @Test(
    "Release requests that our own client never sends",
    arguments: [
      ("[]", 400), ("{", 400), ("{\"bundles\":[]}", 400), ("{\"bundles\":[{\"bundle\":\"a b\"}]}", 400),
      ("{\"bundles\":[{\"bundle\":\"main\",\"set\":{\"nothing\":{}}}]}", 400),
      (
        """
        {"bundles":[{"bundle":"main","set":{"HTTPS://m.example.com/a":{"ctype":"text/html","md5":\
        "0cc175b9c0f1b6a831c399e269772661","sha256":\
        "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","size":1}}}]}
        """, 400
      ),
      (
        """
        {"bundles":[{"bundle":"main","set":{"https://m.example.com/a":{"ctype":"text/html","md5":\
        "0cc175b9c0f1b6a831c399e269772661","sha256":\
        "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb","size":1}}}]}
        """, 422
      ),
      ("{\"bundles\":[{\"base\":\"9\",\"bundle\":\"main\"}]}", 409),
    ])
  func badReleases(_ body: String, _ status: Int) throws {
    try Shared.site { site throws in
      let answer = try site.web.ask(
        "/api/v1/apps/shop/channels/online/releases", "POST", ["Authorization": "Bearer \(site.site.token)"],
        body: Array(body.utf8))
      #expect(answer.status == status, "\(answer.text)")
      #expect(answer["content-type"] == "application/problem+json")
      #expect(try site.site.poll()["data"]?["version"]?.string == "3")
    }
  }

  struct Upload: Sendable {
    let bytes: String
    let sha256: String
    let md5: String
    let status: Int
  }

  private static let good = "hello"
  private static let base64 = "XUFAKrxLKna5cZ2REBfFkg=="

  @Test(
    "Uploads that don't match their digests leave no file behind",
    arguments: [
      Upload(bytes: "hello", sha256: SHA256.of(Array(good.utf8)).hex, md5: base64, status: 200),
      Upload(bytes: "hallo", sha256: SHA256.of(Array(good.utf8)).hex, md5: base64, status: 422),
      Upload(bytes: "hello", sha256: SHA256.of(Array("other".utf8)).hex, md5: base64, status: 422),
      Upload(
        bytes: "hello", sha256: SHA256.of(Array(good.utf8)).hex, md5: "AAAAAAAAAAAAAAAAAAAAAA==", status: 422),
      Upload(bytes: "hello", sha256: SHA256.of(Array(good.utf8)).hex, md5: "?", status: 400),
      Upload(bytes: "hello", sha256: "short", md5: base64, status: 400),
    ])
  func uploads(_ upload: Upload) throws {
    try Site.with { site throws in
      let answer = try site.web.ask(
        "/api/v1/blobs/\(upload.sha256)", "PUT",
        ["Authorization": "Bearer \(site.token)", "Content-MD5": upload.md5], body: Array(upload.bytes.utf8))
      #expect(
        answer.status == upload.status || (upload.status == 200 && answer.status == 201), "\(answer.text)")
      if upload.status == 422 {
        let sha256 = SHA256.of(Array(upload.bytes.utf8)).hex
        #expect(answer.text.contains(sha256) && answer.text.contains(upload.sha256), "names both hashes")
      }
      let kept = try Folder.textNames(site.data + "/tmp/whole")
      #expect(kept == (upload.status == 200 ? [upload.sha256] : []))
    }
  }

  @Test("A partially received file is deleted")
  func halfReceived() throws {
    try Site.with { site throws in
      let bytes = [UInt8](repeating: 7, count: 300_000)
      do {
        let socket = try WebSocket(site.port)
        let head = """
          PUT /api/v1/blobs/\(SHA256.of(bytes).hex) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(site.token)\r
          Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==\r\nContent-Length: \(bytes.count)\r\n\r\n
          """
        socket.send(Array(head.utf8) + bytes.prefix(200_000))
        #expect(Wait.until(10) { (try? Folder.textNames(site.data + "/tmp").count) == 2 })
      }
      #expect(Wait.until(10) { (try? Folder.textNames(site.data + "/tmp")) == ["whole"] })
      #expect(try Folder.names(site.data + "/tmp/whole").isEmpty)
    }
  }
}
