import System
import TestSupport
import Testing
import Trust
import Values

/// Releases that wait for signatures: `xcache publish` with one of two keys, `xcache sign` with the other.
@Suite("Releases that wait for signatures")
struct WaitingTests {
  private static let passphrase = "correct horse"
  private static let base = "https://m.example.com/shop/"

  /// An app whose releases two of two keys sign, `release.key` and `second.key`, at version 2.
  private static func with(_ body: (Site) throws -> Void) throws {
    try Site.with { site in
      try site.publish(["a.js": "one", "old.js": "old"])
      let steps = [
        ["init"], ["push", "-y", "--sign-key", "release.key"], ["add-key", "--new", "second.key"],
        ["set-threshold", "releases", "2"], ["sign", "root-2.draft.json", "--key", "root.key"],
        ["push", "-y", "--sign-key", "release.key", "--sign-key", "second.key"],
      ]
      for words in steps {
        let outcome = try run(site, ["trust"] + words)
        try #require(outcome.exitCode == 0, "\(words): \(outcome.errors)")
      }
      try body(site)
    }
  }

  private static func run(_ site: Site, _ words: [String], token: String? = nil) throws -> Outcome {
    let launcher = ["env", "XCACHE_SIGN_PASSPHRASE=\(passphrase)", "XCACHE_APP=shop"]
    return try Outcome(try site.start(words, token: token, launcher: launcher))
  }

  private static func build(_ site: Site, _ files: Files) throws -> String {
    try site.scratch.folder("build", files)
  }

  private static func publish(
    _ site: Site, _ files: Files = ["a.js": "two", "b.js": "b"], key: String = "release.key",
    _ more: String...
  ) throws -> Outcome {
    let folder = try build(site, files)
    return try run(
      site,
      ["publish", folder, "--bundle", "main", "--base-url", base, "--now", "--sign-key", key] + more)
  }

  private static func sign(
    _ site: Site, _ id: Int = 1, key: String = "second.key", _ more: String..., token: String? = nil
  ) throws -> Outcome {
    let build = more.contains("--bundle") ? [] : ["--no-build"]
    return try run(site, ["sign", "\(id)", "--sign-key", key, "-y"] + build + more, token: token)
  }

  private static func version(_ site: Site) throws -> String? { try site.poll()["data"]?["version"]?.string }

  private static func key(_ site: Site, _ name: String) throws -> String {
    let pem = try DurableFile.read("\(site.scratch.path)/\(name)") ?? []
    return try P256PrivateKey(pem: pem, passphrase: Array(passphrase.utf8)).trustKey.id.text
  }

  @Test(
    "publish with one of two keys waits, sign with the other makes the release, and a second time changes nothing"
  )
  func twoKeys() throws {
    try Self.with { site in
      let dry = try Self.publish(site, ["a.js": "two", "b.js": "b"], key: "release.key", "--dry-run")
      #expect(dry.exitCode == 0 && dry.errors.contains("the release would wait for 1 more signature (of 2)"))
      let published = try Self.publish(site)
      #expect(published.exitCode == 0, "\(published.errors)")
      let second = try Self.key(site, "second.key").prefix(16)
      let waits = "release 1 waits for 1 more signature (of 2), by \(second)…; nothing is live yet"
      #expect(published.output.contains(waits), "\(published.output)")
      #expect(published.output.contains("xcache sign 1"))
      #expect(try Self.version(site) == "2")
      for words in [["status"], ["schedule", "list"], ["schedule", "show", "1"]] {
        let shown = try Self.run(site, words)
        #expect(shown.output.lowercased().contains("unsigned") && shown.output.contains(second), "\(shown)")
      }
      #expect(try site.run("status").output.contains("1 release waits for signatures"))
      // The same again changes nothing, and says that one waits.
      let again = try Self.publish(site)
      #expect(again.exitCode == 0 && again.output.contains("nothing changed: release 1, by "), "\(again)")
      let list = try Self.run(site, ["schedule", "list", "--json"]).output
      #expect(try JSONValue.parse(Array(list.utf8))["schedules"]?.array?.count == 1)
      let twice = try Self.publish(site, ["a.js": "two", "b.js": "b"], key: "second.key", "--dry-run")
      #expect(twice.errors.contains("release 1, of the same files, waits"), "\(twice.errors)")

      let shown = try Self.run(site, ["sign", "1", "--dry-run"])
      #expect(shown.exitCode == 0 && shown.errors.contains("+1 ~1 −1"), "\(shown.errors)")
      #expect(shown.errors.contains("not compared with a build"), "\(shown.errors)")
      // Nobody is here to be asked.
      let silent = try Self.run(site, ["sign", "1", "--sign-key", "second.key", "--no-build"])
      #expect(silent.exitCode == 2 && silent.errors.contains("-y"), "\(silent.errors)")
      #expect(try Self.version(site) == "2")

      let folder = "\(site.scratch.path)/build"
      let signed = try Self.sign(
        site, 1, key: "second.key", folder, "--bundle", "main", "--base-url", Self.base)
      #expect(signed.exitCode == 0 && signed.output.contains("release 1 is done: version 3"), "\(signed)")
      #expect(signed.errors.contains("the build here has the same files"), "\(signed.errors)")
      #expect(try Self.version(site) == "3")
      let afterwards = try Self.sign(site)
      #expect(
        afterwards.exitCode == 0 && afterwards.output.contains("release 1 is done: version 3"),
        "\(afterwards)")
      #expect(try Self.run(site, ["show", "3"]).output.contains(second))
      let audit = try site.run("audit", "log").output
      #expect(audit.contains("signed by ") && audit.contains(second), "\(audit)")
    }
  }

  @Test("without a build, a script signs nothing, unless it says so")
  func noBuild() throws {
    try Self.with { site in
      let published = try Self.publish(site, ["a.js": "two"], key: "release.key", "--json")
      let document = try JSONValue.parse(Array(published.output.utf8))
      #expect(document["version"] == .null && document["scheduled"]?["id"]?.integer == 1, "\(published)")
      let unseen = try Self.run(site, ["sign", "1", "--sign-key", "second.key", "-y"])
      #expect(unseen.exitCode == 2 && unseen.errors.contains("no build of main here"), "\(unseen)")
      #expect(try Self.version(site) == "2")
      let signed = try Self.sign(site, 1, key: "second.key", "-q")
      #expect(signed.exitCode == 0 && signed.errors.contains("not compared with a build"), "\(signed)")
      #expect(try Self.version(site) == "3")
    }
  }

  @Test("in a frozen channel the last signature isn't given, and the release goes on waiting")
  func frozen() throws {
    try Self.with { site in
      #expect(try Self.publish(site).exitCode == 0)
      #expect(try Self.run(site, ["channel", "freeze", "--reason", "sale"]).exitCode == 0)
      let frozen = try Self.sign(site)
      #expect(frozen.exitCode == 3 && frozen.errors.contains("is frozen"), "\(frozen)")
      #expect(frozen.errors.contains("it still waits"), "\(frozen)")
      #expect(try Self.run(site, ["status"]).output.contains("UNSIGNED"))
      #expect(try Self.run(site, ["channel", "thaw"]).exitCode == 0)
      #expect(try Self.sign(site).output.contains("release 1 is done: version 3"))
    }
  }

  @Test("who publishes what is live is told what still waits; sign says what becomes of a rollout")
  func besides() throws {
    try Self.with { site in
      let part = try Self.publish(
        site, ["a.js": "part", "old.js": "old"], key: "release.key", "--sign-key", "second.key", "--rollout",
        "5%")
      #expect(part.exitCode == 0, "\(part)")
      #expect(try Self.publish(site).exitCode == 0)
      let shown = try Self.run(site, ["sign", "1", "--dry-run"])
      #expect(shown.exitCode == 0 && shown.errors.contains("the candidate, version 3"), "\(shown)")
      #expect(try Self.run(site, ["rollout", "halt", "-m", "no"]).exitCode == 0)
      let live = try Self.publish(site, ["a.js": "one", "old.js": "old"])
      #expect(live.exitCode == 0 && live.output.contains("nothing changed"), "\(live)")
      #expect(live.errors.contains("still waits for signatures"), "\(live)")
    }
  }

  @Test("a release that a later root asks no more for is made without a key")
  func fewer() throws {
    try Self.with { site in
      #expect(try Self.publish(site).exitCode == 0)
      for words in [
        ["set-threshold", "releases", "1"], ["sign", "root-3.draft.json", "--key", "root.key"],
        ["push", "-y", "--sign-key", "second.key"],
      ] {
        let outcome = try Self.run(site, ["trust"] + words)
        try #require(outcome.exitCode == 0, "\(words): \(outcome.errors)")
      }
      let status = try Self.run(site, ["status"]).output
      #expect(status.contains("has all signatures that the root asks for"), "\(status)")
      let made = try Self.run(site, ["sign", "1", "-y"])
      #expect(
        made.exitCode == 0 && made.output.contains("nothing to sign; release 1 is done: version 3"),
        "\(made)")
      #expect(try Self.version(site) == "3")
    }
  }

  @Test(
    "another build isn't signed, nor by a key that isn't asked for, twice by one, or with too small a token")
  func refused() throws {
    try Self.with { site in
      #expect(try Self.publish(site).exitCode == 0)
      let folder = try Self.build(site, ["a.js": "tampered", "b.js": "b", "c.js": "c"])
      let wrong = try Self.sign(
        site, 1, key: "second.key", folder, "--bundle", "main", "--base-url", Self.base)
      #expect(wrong.exitCode == 3 && wrong.errors.contains("2 files differ"), "\(wrong)")
      #expect(wrong.errors.contains("a.js: other bytes") && wrong.errors.contains("c.js: only here"))
      let twice = try Self.sign(site, key: "release.key")
      #expect(twice.exitCode == 0 && twice.output.contains("has signed this already"), "\(twice)")
      let stranger = try Self.sign(site, key: "root.key")
      #expect(stranger.exitCode == 3 && stranger.errors.contains("doesn't wait for the key"), "\(stranger)")
      let none = try Self.sign(site, 99)
      #expect(none.exitCode == 1, "\(none)")
      let created = try Self.run(
        site, ["token", "create", "reader", "--scope", "read", "--no-expiry", "--json"])
      let reader = try JSONValue.parse(Array(created.output.utf8))["token"]?.string
      let small = try Self.sign(site, token: reader ?? "")
      #expect(small.exitCode == 1, "\(small)")
      let state = try JSONValue.parse(
        Array(try Self.run(site, ["schedule", "show", "1", "--json"]).output.utf8))
      #expect(
        state["signatures"]?.array?.first?["keys"] == .array([.string(try Self.key(site, "release.key"))]))
      #expect(try Self.version(site) == "2")
      #expect(try Self.run(site, ["schedule", "cancel", "1"]).exitCode == 0)
      let over = try Self.sign(site)
      #expect(over.exitCode == 3 && over.errors.contains("cancelled"), "\(over)")
    }
  }

  @Test("a release with a time waits for that, too; one for a part of the devices is a rollout")
  func scheduledAndRolledOut() throws {
    try Self.with { site in
      let time = Timestamp.text(Clock.unixMilliseconds() + 3_600_000)
      let later = try Self.publish(
        site, ["a.js": "two"], key: "second.key", "--schedule", time, "--raise-floor")
      #expect(later.exitCode == 0 && later.output.contains("once it is signed"), "\(later)")
      let signed = try Self.sign(site, key: "release.key", "--json")
      let document = try JSONValue.parse(Array(signed.output.utf8))
      #expect(document["state"] == "waiting" && document["signatures"] == nil, "\(signed)")
      #expect(document["signed"]?.array?.count == 1 && document["compared"]?.bool == false)
      #expect(signed.errors.isEmpty || !signed.errors.contains("xcache:"), "\(signed.errors)")
      let again = try Self.sign(site, key: "release.key")
      #expect(again.exitCode == 0 && again.output.contains("is made at"), "\(again)")
      #expect(try Self.version(site) == "2")
      let part = try Self.publish(site, ["a.js": "three"], key: "release.key", "--rollout", "5%")
      #expect(part.exitCode == 0 && part.output.contains("release 2 waits"), "\(part)")
      let opened = try Self.sign(site, 2)
      #expect(opened.exitCode == 0 && opened.output.contains("release 2 is done: version 3"), "\(opened)")
      #expect(try Self.run(site, ["rollout", "show"]).output.contains("3"))
    }
  }

  @Test("what was signed with a key that a later root doesn't name isn't signed by others")
  func laterRoot() throws {
    try Self.with { site in
      #expect(try Self.publish(site).exitCode == 0)
      let old = try Self.key(site, "release.key")
      let steps = [
        ["add-key", "--new", "third.key"], ["remove-key", old],
        ["sign", "root-3.draft.json", "--key", "root.key"],
        ["push", "-y", "--sign-key", "second.key", "--sign-key", "third.key"],
      ]
      for words in steps {
        let outcome = try Self.run(site, ["trust"] + words)
        try #require(outcome.exitCode == 0, "\(words): \(outcome.errors)")
      }
      let signed = try Self.sign(site)
      #expect(
        signed.exitCode == 3 && signed.errors.contains("can't be completed any more (release-key)"),
        "\(signed)")
      let other = try Self.sign(site, 1, key: "second.key", "--root", "root-2.json")
      #expect(other.exitCode == 3, "\(other)")
      #expect(try Self.version(site) == "2")
    }
  }
}
