import Synchronization
import System
import Testing
import TestSupport
import Values

/// The drill "A secret was published" of deploy/OPERATIONS.md.
@Suite("A secret was published") struct PurgeTests {
  /// On one line and incompressible, so that a delta of it is worth keeping.
  private static let secret = "AWS_SECRET=" + (0..<80).map { SHA256.of(Array("key \($0)".utf8)).hex }.joined()
  private static let before = secret.replacing("AWS_SECRET=", with: "AWS_KEY_OLD=")
  private static let url = "\(Site.base)/env.txt"

  /// Three versions: the first adds the secret, the second changes a small part of it, and the third keeps it.
  private static func publishSecret(_ site: Site) throws -> (sha256: String, path: String) {
    let page = (0..<3000).map { "a line of the page: \(SHA256.of(Array("\($0)".utf8)).hex)\n" }.joined()
    try site.publish(["index.html": page, "env.txt": before], "--wait-deltas")
    try site.publish(["index.html": page + "2", "env.txt": secret], "--wait-deltas")
    try site.publish(["index.html": page + "3", "env.txt": secret], "--wait-deltas")
    return (SHA256.of(Array(secret.utf8)).hex, Site.path(of: try site.entry("env.txt")))
  }

  private static func files(with text: String, below folder: String) throws -> [String] {
    let found = try Outcome(
      try Child(["grep", "-rlaF", text, folder], environment: ["PATH": "/usr/bin:/bin"], in: "/"))
    return found.output.split(separator: "\n").map(String.init)
  }

  @Test(
    "purge removes the bytes from a loaded origin, its files, versions and the copy, and they can't be published again"
  ) func drill()
    throws
  {
    try Site.with { site in
      let (sha256, path) = try Self.publishSecret(site)
      let copy = site.scratch.path + "/www"
      let mirror = ["mirror", "--to", copy, "--name", "copy"]
      #expect(try Outcome(try site.start(mirror)).exitCode == 0)
      #expect(try site.run("pin", "2", "the app ships it", "--app", "shop").exitCode == 0)
      #expect(try site.web.ask("/xcache/shop/bundle/3.zip").status == 200)

      let several = try site.run("purge", Self.url, "--reason", "a key", "--yes")
      #expect(several.exitCode == 3 && several.errors.contains(sha256), "\(several.errors)")
      let dry = try site.run("purge", sha256, "--dry-run")
      #expect(dry.exitCode == 0 && dry.output.contains("live in bundle main"), "\(dry.output)")
      #expect(
        dry.output.contains("versions 2–3 would no longer be shown or rolled back to, although 2 was pinned"),
        "\(dry.output)")
      #expect(try site.web.ask(path).status == 200, "a dry run changes nothing")
      #expect(try site.run("purge", sha256, "--reason", "a key").exitCode == 2, "no terminal to ask on")

      // Readers on every event loop, all the time.
      let isOver = Atomic<Bool>(false)
      let lastGood = Locked<UInt64>(0)
      let readers = try (0..<4).map { _ in
        try OSThread(name: "reader") { [port = site.port] in
          while !isOver.load(ordering: .relaxed) {
            let begin = Clock.monotonicNanoseconds()
            guard let answer = try? Web(port: port).ask(path) else { continue }
            if answer.status == 200 { lastGood.withLock { $0 = max($0, begin) } }
          }
        }
      }
      let purged = try site.run("purge", sha256, "--reason", "a key was published", "--yes", "--json")
      let done = Clock.monotonicNanoseconds()
      Clock.sleep(for: .milliseconds(1200))
      isOver.store(true, ordering: .relaxed)
      for reader in readers { reader.join() }
      let late = Int64(bitPattern: lastGood.withLock { $0 } &- done)
      #expect(late < 0, "a request sent \(late) ns after purge was still answered with the secret")
      #expect(purged.exitCode == 0, "\(purged.errors)")
      let answer = try JSONValue.parse(Array(purged.output.utf8))
      let channel = answer["channels"]?.array?.first
      #expect(
        channel?["dropped"]?.array?.compactMap(\.string) == ["2", "3"] && channel?["release"]?.string == "4")
      #expect(channel?["pinned"]?.array?.compactMap(\.string) == ["2"])
      let urls = answer["urls"]?.array?.compactMap(\.string) ?? []
      #expect(
        urls.contains { $0.hasSuffix(path) } && urls.contains { $0.contains("/delta/\(sha256)/") }, "\(urls)")
      #expect(
        urls.contains { $0.hasSuffix(".xpk") } && urls.contains { $0.hasSuffix("/bundle/3.zip") }, "\(urls)")

      for coding in ["identity", "gzip", "zstd"] {
        #expect(try site.web.ask(path, "GET", ["Accept-Encoding": coding]).status == 404)
      }
      for url in urls where !url.contains(".zip") {
        #expect(try site.web.ask(Site.path(of: ["download": .string(url)])).status == 404, "\(url)")
      }
      #expect(try site.web.ask("/xcache/shop/bundle/3.zip").status == 404)
      let left = try Self.files(with: Self.secret, below: site.data)
      #expect(left == [], "\(left)")
      #expect(try Self.files(with: sha256.dropFirst(2).description, below: site.data + "/derived") == [])
      #expect(try site.entry("env.txt") == nil && site.entry("index.html") != nil)
      for words in [
        ["show", "3"], ["rollback", "--all-bundles", "--to", "2"], ["pull", "--to", "d", "--version", "3"],
      ] {
        let outcome = try Outcome(try site.start(words + ["--app", "shop"]))
        #expect(
          outcome.exitCode == 1 && outcome.errors.contains("kept"), "\(words): \(outcome.errors)")
      }
      #expect(
        try site.run("rollback", "--all-bundles", "--to", "1", "--app", "shop").exitCode == 0,
        "1 has other bytes")

      // The list of URLs can be printed again, by digest or URL.
      let once = try site.run("purge", sha256, "--dry-run", "--urls")
      #expect(Set(once.output.split(separator: "\n").map(String.init)) == Set(urls), "\(once.output)")
      #expect(
        urls.contains { $0.hasSuffix("/bundle/1-2.zip") } && urls.contains { $0.hasSuffix("/2-3.delta.zip") })
      let known = try site.run("purge", urls[0], "--dry-run")
      #expect(
        known.exitCode == 0 && known.output.contains("\(sha256) was purged by ")
          && known.output.contains("a key was published"), "\(known.output)\(known.errors)")

      // It can't be published again under any URL until an admin allows it.
      let folder = try site.scratch.folder("again", ["other.txt": Self.secret])
      let publish = [
        "publish", folder, "--create", "--app", "shop", "--bundle", "more", "--base-url", Site.base + "/more",
        "--now",
      ]
      let again = try Outcome(try site.start(publish))
      #expect(again.exitCode == 3 && again.errors.contains("a key was published"), "\(again.errors)")
      #expect(again.errors.contains("other.txt (\(Site.base)/more/other.txt) has bytes"), "\(again.errors)")
      #expect(Hint.all(in: again.errors).map(\.line) == ["purge lift \(sha256)"])

      // The copy: verify names the file, and the next run removes it, also without --prune.
      let found = try site.run("mirror", "verify", copy)
      #expect(
        found.exitCode == 1 && found.output.contains("purged these bytes"), "\(found.output)\(found.errors)")
      #expect(try !Self.files(with: Self.secret, below: copy).isEmpty)
      #expect(try Outcome(try site.start(mirror)).exitCode == 0)
      let copied = try Self.files(with: Self.secret, below: copy)
      #expect(copied == [], "\(copied)")
      let clean = try site.run("mirror", "verify", copy)
      #expect(clean.exitCode == 0, "\(clean.output)\(clean.errors)")

      // Purges survive a crash, and are in the audit trail.
      try site.crash()
      #expect(try site.web.ask(path).status == 404)
      #expect(try Outcome(try site.start(publish)).exitCode == 3)
      #expect(try site.run("audit", "log").output.contains("purge"))
      #expect(try site.run("purge", "list").output.contains("a key was published"))
      #expect(try site.run("doctor", "--deep", "--data", site.data).exitCode == 0)
      #expect(try site.run("purge", "lift", sha256, "--reason", "it was a test key").exitCode == 0)
      #expect(try Outcome(try site.start(publish)).exitCode == 0)
    }
  }

  @Test("A purge in a frozen channel is refused before anything is done; --break-glass overrides")
  func frozen() throws {
    try Site.with { site in
      let (sha256, path) = try Self.publishSecret(site)
      #expect(try site.run("channel", "freeze", "--app", "shop", "--reason", "sale").exitCode == 0)
      let refused = try site.run("purge", sha256, "--reason", "a key", "--yes")
      #expect(refused.exitCode == 3 && refused.errors.contains("frozen"), "\(refused.errors)")
      #expect(
        try site.web.ask(path).status == 200
          && site.run("purge", "list").output.contains("nothing was purged"))
      let words = ["purge", sha256, "--reason", "a key", "--yes", "--break-glass", "secret"]
      #expect(try Outcome(try site.start(words)).exitCode == 0)
      #expect(try site.web.ask(path).status == 404)
    }
  }

  @Test("A purge removes pushed files as well") func pushed() throws {
    let store = try Scratch()
    try Site.with(["--cdn", "push", store.path]) { site in
      let (sha256, _) = try Self.publishSecret(site)
      #expect(try !Self.files(with: Self.secret, below: store.path).isEmpty)
      #expect(try site.run("purge", sha256, "--reason", "a key", "--yes").exitCode == 0)
      let left = try Self.files(with: Self.secret, below: store.path)
      #expect(left == [], "\(left)")
      #expect(
        try !Self.files(with: Self.before, below: store.path).isEmpty, "the first version has other bytes")
    }
  }

  @Test("Bytes of a version that gc removed are purged from the store of pushed files and from a copy")
  func forgotten()
    throws
  {
    let store = try Scratch()
    try Site.with(["--cdn", "push", store.path]) { site in
      let (sha256, _) = try Self.publishSecret(site)
      let copy = site.scratch.path + "/www"
      let mirror = ["mirror", "--to", copy, "--name", "copy", "--keep", "1"]
      #expect(try Outcome(try site.start(mirror)).exitCode == 0)
      for page in ["4", "5", "6"] { try site.publish(["index.html": page]) }
      #expect(try Outcome(try site.start(mirror)).exitCode == 0)
      #expect(
        try site.run("gc", "--keep-versions", "1", "--keep-days", "0").exitCode == 0)
      #expect(try !Self.files(with: Self.secret, below: store.path).isEmpty)
      #expect(try !Self.files(with: Self.secret, below: copy).isEmpty)

      let refused = try site.run("purge", sha256, "--reason", "a key", "--yes")
      #expect(refused.exitCode == 1 && refused.errors.contains("--unknown"), "\(refused.errors)")
      #expect(try site.run("purge", "list").output.contains("nothing was purged"))
      let dry = try site.run("purge", sha256, "--unknown", "--dry-run")
      #expect(dry.exitCode == 0 && dry.output.contains("no kept version"), "\(dry.output)\(dry.errors)")
      let done = try site.run("purge", sha256, "--unknown", "--reason", "a key", "--yes", "--urls")
      #expect(done.exitCode == 0 && done.output.contains("/delta/\(sha256)/"), "\(done.output)\(done.errors)")
      #expect(done.output.contains("Fenv.txt\n"), "\(done.output)")
      #expect(done.output.contains(".xpk"), "\(done.output)")
      #expect(try Self.files(with: Self.secret, below: store.path) == [])
      #expect(try site.run("doctor", "--pushed", "--data", site.data).exitCode == 0)
      #expect(try site.run("mirror", "verify", copy).exitCode == 1)
      #expect(try Outcome(try site.start(mirror)).exitCode == 0)
      #expect(try Self.files(with: Self.secret, below: copy) == [])
      #expect(try site.run("mirror", "verify", copy).exitCode == 0)
      let again = try site.run("purge", sha256, "--unknown", "--reason", "a key", "--yes")
      #expect(again.exitCode == 0, "\(again.errors)")
    }
  }

  @Test("Files that a killed server pushed for a release it never made are removed at the next start")
  func orphans()
    throws
  {
    let store = try Scratch()
    try Site.with(["--cdn", "push", store.path]) { site in
      let (sha256, path) = try Self.publishSecret(site)
      #expect(try site.run("purge", sha256, "--reason", "a key", "--yes").exitCode == 0)
      // The state left by a process that ends between push and refusal.
      let file = store.path + path.replacing("/4/", with: "/9/")
      try Kernel.makeFolder(DurableFile.parent(of: file))
      try DurableFile.write(Array(Self.secret.utf8), to: file)
      let found = try site.run("doctor", "--pushed", "--data", site.data)
      #expect(found.exitCode != 0 && found.output.contains("were purged"), "\(found.output)")
      try site.crash()
      #expect(
        try Wait.until(30) { try Self.files(with: Self.secret, below: store.path).isEmpty },
        "\(site.server.standardError)")
      #expect(try site.run("purge", "list").exitCode == 0)
      #expect(try site.run("doctor", "--pushed", "--data", site.data).exitCode == 0)
    }
  }

  @Test("A publish that races with a purge of its bytes leaves no pushed file") func raced() throws {
    let store = try Scratch()
    try Site.with(["--cdn", "push", store.path]) { site in
      for round in 0..<6 {
        let secret = Self.secret + "\(round)"
        try site.publish(["index.html": "\(round)", "env.txt": secret])
        let digest = SHA256.of(Array(secret.utf8)).hex
        let folder = try site.scratch.folder("racing-\(round)", ["i.html": "x\(round)", "copy.txt": secret])
        let racing = try site.start([
          "publish", folder, "--create", "--app", "shop", "--bundle", "other", "--base-url", Site.base + "/o",
          "--now",
        ])
        Clock.sleep(for: .milliseconds(20 * round))
        let purged = try site.run("purge", digest, "--reason", "a key", "--yes")
        let published = try Outcome(racing)
        #expect(purged.exitCode == 0, "\(purged.errors)")
        #expect([0, 3].contains(published.exitCode), "\(published.errors)")
      }
      #expect(
        try Wait.until(30) { try Self.files(with: Self.secret, below: store.path).isEmpty },
        "\(site.server.standardError)")
      // The rest is removed by a background thread, which logs it.
      var logged = -1
      _ = Wait.until(10) {
        defer { logged = site.server.standardError.utf8.count }
        Clock.sleep(for: .milliseconds(1000))
        return logged == site.server.standardError.utf8.count
      }
    }
  }

  @Test("A backup from before the purge restores the bytes, and says so; one from after doesn't have them")
  func backups()
    throws
  {
    try Site.with { site in
      let (sha256, _) = try Self.publishSecret(site)
      let backup = site.scratch.path + "/backup"
      #expect(try site.run("backup", "--data", site.data, "--to", backup).exitCode == 0)
      #expect(try site.run("purge", sha256, "--reason", "a key", "--yes").exitCode == 0)
      let restored = try site.run("restore", "--from-backup", backup, "--data", "before")
      #expect(restored.errors.contains("purge it again"), "\(restored.errors)")
      #expect(try site.run("backup", "--data", site.data, "--to", backup).exitCode == 0)
      #expect(try Self.files(with: Self.secret, below: backup) == [], "the next backup removes it")
    }
  }
}
