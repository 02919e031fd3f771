import System
import Testing
import TestSupport
import Values

/// How much commands print, and what previews show.
@Suite("Lists, sums and previews") struct OutputTests {
  private static func files(_ count: Int, _ text: String) -> Files {
    Files(uniqueKeysWithValues: (0..<count).map { ("file-\($0).js", "\(text) \($0)") })
  }

  @Test("A list is cut after 40 lines and counts the rest; --all prints everything, --stat a summary")
  func lists() throws {
    try Site.with { site in
      try site.publish(["one.html": "<p>"])
      try site.publish(Self.files(60, "first").merging(["one.html": "<p>"]) { $1 })
      let diff = try site.run("diff", "1", "2", "--app", "shop").output
      #expect(diff.split(separator: "\n").count { $0.hasPrefix("+ ") } == 40)
      #expect(diff.contains("… and 20 more; --all lists them\n"))
      let all = try site.run("diff", "1", "2", "--app", "shop", "--all").output
      #expect(all.split(separator: "\n").count { $0.hasPrefix("+ ") } == 60)
      let sums = try site.run("diff", "1", "2", "--app", "shop", "--stat").output
      #expect(!sums.contains("+ http") && sums.contains("\njs       60        0        0"))
      let preview = ["rollback", "--bundle", "main", "--steps", "1", "--dry-run", "--app", "shop"]
      let back = try Outcome(try site.start(preview)).output
      #expect(back.split(separator: "\n").count { $0.hasPrefix("− ") } == 40)
      #expect(back.contains("… and 20 more; --all lists them\n"))
      let backSums = try Outcome(try site.start(preview + ["--stat"])).output
      let gone = backSums.split(separator: "\n").first { $0.hasPrefix("js ") } ?? ""
      #expect(gone.hasPrefix("js        0        0       60  0 B  ") && !backSums.contains("− http"))
      #expect(gone.split(separator: " ").suffix(2) == ["470", "B"], "\(backSums)")
      // 41 lines are printed in full: the line that counts the rest would be as long.
      try site.publish(Self.files(40, "next"), as: "other", app: "more")
      try site.publish(["a.css": "a"], as: "other", app: "more")
      #expect(
        try site.run("diff", "1", "2", "--app", "more").output.split(separator: "\n").count {
          $0.hasPrefix("− ")
        } == 40)
    }
  }

  @Test("An empty list prints a message") func nothing() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      #expect(try site.run("pin", "list", "--app", "shop").output == "no version is pinned\n")
      #expect(
        try site.run("mirror", "list").output
          == "no copy is registered; a run of `xcache mirror` registers its own\n")
      #expect(
        try site.run("audit", "log", "--since", "2100-01-01T00:00Z").output
          == "no act was recorded since then\n")
    }
  }

  @Test("-q leaves only the result of a rollback: the version and the receipt") func quietRollback() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "2"])
      let words = ["rollback", "--all-bundles", "--app", "shop", "--to"]
      let lines = try Outcome(try site.start(words + ["1", "-q"])).output.split(separator: "\n")
      #expect(
        lines.first == "+0 ~1 −0, version 3 with the content of version 1"
          && lines.count == 2 && lines[1].hasPrefix("receipt "), "\(lines)")
      let withoutQuiet = try Outcome(try site.start(words + ["2"])).output
      #expect(
        withoutQuiet.contains("\nundoes in main") && withoutQuiet.contains("\nlive "), "\(withoutQuiet)")
    }
  }

  @Test("A pull without --tree says that the tree isn't updated") func staleTree() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let pull = ["pull", "--to", "phone", "--app", "shop", "--force"]
      #expect(try Outcome(try site.start(pull + ["--tree", Site.base])).errors.isEmpty)
      try site.publish(["a.js": "2"])
      let stale = try Outcome(try site.start(pull))
      #expect(stale.errors.contains("phone/tree still has version 1 or older: --tree"), "\(stale.errors)")
      #expect(try Outcome(try site.start(pull)).errors.isEmpty)
    }
  }

  @Test("mirror verify groups files with the same fault") func verify() throws {
    try Site.with { site in
      try site.publish(Self.files(30, "a"))
      #expect(try site.run("mirror", "--to", "www").exitCode == 0)
      let www = site.scratch.path + "/www"
      let downloads = try Scratch.contents(www).keys.filter { $0.hasSuffix(".js") }
      #expect(downloads.count == 30)
      for name in downloads { try Kernel.remove("\(www)/\(name)") }
      let outcome = try site.run("mirror", "verify", "www")
      #expect(outcome.exitCode == 1)
      #expect(outcome.output.contains("error: 30 files: it is missing\n"))
      #expect(outcome.output.contains("  … and 27 more; --all lists them\n"))
      let all = try site.run("mirror", "verify", "www", "--all")
      #expect(all.output.split(separator: "\n").count { $0.hasSuffix(": it is missing") } == 30)
    }
  }

  /// The number of published files at the origin, released or not.
  private static func files(of site: Site) throws -> Int {
    let blobs = site.data + "/blobs"
    let released = try Folder.textNames(blobs).reduce(0) { try $0 + Folder.names("\(blobs)/\($1)").count }
    return try released + Folder.names(site.data + "/tmp/whole").count
  }

  @Test("--dry-run announces an upload before it starts; --no-upload sends nothing and prints the rest")
  func dryRun() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let folder = try site.scratch.folder("next", ["a.js": "2", "b.js": "3"])
      let words = [
        "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base,
        "--dry-run",
      ]
      let none = try Outcome(try site.start(words + ["--no-upload"]))
      #expect(none.exitCode == 0, "\(none.errors)")
      #expect(
        none.output.contains("dry run: +1 ~1 −0, would send 2 B of 2 B, would become version 2"),
        "\(none.output)")
      #expect(try Self.files(of: site) == 1)
      let sent = try Outcome(try site.start(words))
      #expect(sent.errors.contains("the origin lacks 2 files, 2 B: uploading them"), "\(sent.errors)")
      #expect(try Self.files(of: site) == 3)
      let quiet = try Outcome(try site.start(words + ["-q"]))
      #expect(quiet.exitCode == 0 && quiet.errors.isEmpty)
    }
  }

  @Test("A release that will be refused is refused before its files are sent") func refusedFirst() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      #expect(try site.run("channel", "freeze", "--reason", "sale", "--app", "shop").exitCode == 0)
      // Incompressible text, larger than what is sent without asking.
      let text = (0..<200_000).map { "\($0 &* 2_654_435_761)" }.joined(separator: "\n")
      let folder = try site.scratch.folder("next", ["a.js": text])
      let words = [
        "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base,
      ]
      let outcome = try Outcome(try site.start(words))
      #expect(outcome.exitCode == 3 && outcome.errors.contains("is frozen"), "\(outcome.errors)")
      #expect(try Self.files(of: site) == 1)
      #expect(try Outcome(try site.start(words + ["--break-glass", "fire", "--now"])).exitCode == 0)
    }
  }

  @Test("A second freeze names the one that it replaces") func freezes() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let first = try site.run("channel", "freeze", "--reason", "sale", "--app", "shop")
      #expect(first.exitCode == 0 && !first.output.contains("already"))
      let second = try site.run("channel", "freeze", "--reason", "audit", "--app", "shop")
      #expect(
        second.output.contains("it was already frozen by admin since ") && second.output.contains(": sale;"))
      let third = try site.run("channel", "freeze", "--reason", "x", "--app", "shop", "--json")
      #expect(try JSONValue.parse(Array(third.output.utf8))["replaced"]?["reason"]?.string == "audit")
    }
  }

  @Test(
    "A script-signing key is created for its owner only, and its signatures are accepted by origin and devices"
  )
  func scripts() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      try site.scratch.write("guard.js", "guard()")
      let made = try site.run("policy", "script", "key", "key.pem")
      #expect(made.exitCode == 0, "\(made.errors)")
      #expect(try Kernel.status(site.scratch.path + "/key.pem")?.mode == 0o600)
      let publicKey = try #require(Base64.decode(made.output.filter { !$0.isWhitespace }))
      let signed = try site.run("policy", "script", "sign", "guard.js", "--key", "key.pem")
      let signature = signed.output.filter { !$0.isWhitespace }
      #expect(
        Ed25519.verifies(try #require(Base64.decode(signature)), of: Array("guard()".utf8), by: publicKey))
      for more in [["--key", "key.pem"], ["--signature", signature]] {
        let added = try Outcome(
          try site.start(["policy", "script", "add", "guard.js", "--app", "shop"] + more))
        #expect(added.exitCode == 0, "\(added.errors)")
      }
      let policy = try site.run("policy", "show", "--app", "shop", "--json").output
      #expect(policy.contains(signature))
      // The key format that OpenSSL writes.
      let openssl = try Outcome(
        try Child(
          ["openssl", "pkey", "-in", "key.pem", "-pubout", "-outform", "DER"],
          environment: ["PATH": "/usr/bin:/bin"], in: site.scratch.path))
      #expect(openssl.exitCode == 0, "\(openssl.errors)")
    }
  }

  @Test("Relative times are accepted wherever a time is") func times() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      for words in [
        ["show", "--at", "now"], ["show", "now"], ["log", "--at", "0 ago"], ["log", "--since", "10m ago"],
        ["diff", "now"], ["audit", "log", "--since", "yesterday 14:05"],
        ["pull", "--to", "phone", "--at", "now"],
      ] {
        let outcome = try Outcome(try site.start(words + (words[0] == "audit" ? [] : ["--app", "shop"])))
        #expect(outcome.exitCode == (words.contains("0 ago") ? 2 : 0), "\(words): \(outcome.errors)")
      }
      let before = try site.run("show", "--app", "shop", "--at", "1h ago")
      #expect(before.exitCode == 1 && before.errors.contains("no release at that time"))
      #expect(
        try site.run("log", "--app", "shop", "--since", "now").output == "no releases since then\n")
    }
  }

  @Test("Colours and notes are printed only where they are wanted") func streams() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let loud = try site.run("status", "--app", "shop", "-v")
      #expect(
        loud.errors.contains("GET \(site.url)/api/v1/apps/shop/channels/online: 200, "), "\(loud.errors)")
      #expect(!loud.errors.contains(site.token))
      let plain = try site.run("--no-color", "-q", "status", "--app", "shop")
      #expect(plain.exitCode == 0 && plain.errors.isEmpty && !plain.output.contains("\u{1B}"))
    }
  }
}
