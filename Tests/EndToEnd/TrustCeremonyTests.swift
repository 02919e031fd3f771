import System
import TestSupport
import Testing
import Trust
import Values

/// `xcache trust`, from no root to one that is off.
@Suite("The ceremony")
struct TrustCeremonyTests {
  private static let passphrase = "correct horse"

  /// An origin with an app in two channels.
  private static func with(_ body: (Site) throws -> Void) throws {
    try Site.with { site in
      try site.publish(["a.js": "1"], as: "home")
      try site.publish(["b.js": "2"], as: "cart", base: "https://m.example.com/cart")
      #expect(
        try site.run("promote", "--app", "shop", "--from", "online", "--to", "test", "--create").exitCode == 0
      )
      try body(site)
    }
  }

  private static func trust(
    _ site: Site, _ words: String..., environment: [String] = [], token: String? = nil
  ) throws -> Outcome {
    let launcher = ["env", "XCACHE_SIGN_PASSPHRASE=\(passphrase)"] + environment
    // There is no terminal to ask on.
    let yes = words.first == "push" ? ["-y"] : []
    return try Outcome(try site.start(["trust"] + words + yes, token: token, launcher: launcher))
  }

  private static func json(_ outcome: Outcome) throws -> JSONValue {
    try JSONValue.parse(Array(outcome.output.utf8))
  }

  private static func root(_ site: Site, _ name: String = "root.json") throws -> Signed<TrustRoot> {
    try Signed(parsing: try DurableFile.read("\(site.scratch.path)/\(name)") ?? [])
  }

  /// Makes root 1 and puts it in force.
  private static func begin(_ site: Site) throws {
    let made = try trust(site, "init", "--app", "shop")
    try #require(made.exitCode == 0, "\(made.errors)")
    let pushed = try trust(site, "push", "--sign-key", "release.key")
    try #require(pushed.exitCode == 0, "\(pushed.errors)")
  }

  /// The ids of the keys that have signed the statements of a channel's newest answer, by bundle.
  private static func signers(_ site: Site) throws -> [String: [String]] {
    var signers: [String: [String]] = [:]
    for json in try site.poll()["data"]?["trust"]?["releases"]?.array ?? [] {
      let signed = try Signed<ReleaseStatement>(json: json)
      signers[signed.document.bundle.text] = signed.envelope.signatures.map(\.key.text)
    }
    return signers
  }

  private static func id(_ site: Site, _ role: String) throws -> String {
    let outcome = try trust(site, "status", "--json")
    let roots = try json(outcome)["roots"]?.array ?? []
    let root = try Signed<TrustRoot>(json: try #require(roots.last?["envelope"])).document
    return switch role {
    case "head": root.heads[0].text
    case "release": root.grants[0].signers.keys[0].text
    default: root.roots.keys[0].text
    }
  }

  // MARK: - init

  @Test("init makes three keys and a root, says what belongs where, and overwrites nothing")
  func initialize() throws {
    try Self.with { site in
      let made = try Self.trust(site, "init", "--app", "shop")
      #expect(made.exitCode == 0, "\(made.errors)")
      for name in ["root.key", "root-spare.key", "release.key"] {
        let path = "\(site.scratch.path)/\(name)"
        #expect(try Kernel.status(path)?.mode == 0o600)
        let text = String(decoding: try DurableFile.read(path) ?? [], as: UTF8.self)
        #expect(text.hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----"))
        #expect(made.output.contains(name))
      }
      for words in ["XCACHE_SIGN_KEY", "offline", "sealed", "web init --root", "stays on the origin"] {
        #expect(made.output.contains(words), "\(made.output)")
      }
      #expect(!made.output.contains(Self.passphrase) && !made.errors.contains(Self.passphrase))
      let root = try Self.root(site)
      #expect(root.document.roots.threshold == 1 && root.document.roots.keys.count == 2)
      #expect(root.envelope.signatures.count == 2)
      let before = try Scratch.contents(site.scratch.path).filter {
        $0.key.hasSuffix(".key") || $0.key == "root.json"
      }
      let again = try Self.trust(site, "init", "--app", "shop")
      #expect(again.exitCode == 3 && again.errors.contains("root.json exists already"), "\(again.errors)")
      #expect(
        try Scratch.contents(site.scratch.path).filter { $0.key.hasSuffix(".key") || $0.key == "root.json" }
          == before)
      // A run that was interrupted before root.json goes on with the keys that are there.
      try Kernel.remove("\(site.scratch.path)/root.json")
      let third = try Self.trust(site, "init", "--app", "shop")
      #expect(third.exitCode == 0, "\(third.errors)")
      #expect(try Self.root(site).document == root.document)
    }
  }

  @Test("init makes nothing if the origin is down, the app unknown, or no passphrase given")
  func nothingMade() throws {
    try Self.with { site in
      let cases: [(words: [String], launcher: [String], code: Int32)] = [
        (["--app", "nobody"], ["env", "XCACHE_SIGN_PASSPHRASE=a"], 1),
        (["--app", "shop"], [], 2),
        (["--app", "shop", "--server", "http://127.0.0.1:9"], ["env", "XCACHE_SIGN_PASSPHRASE=a"], 1),
        (["--app", "shop", "--environment", "Staging"], ["env", "XCACHE_SIGN_PASSPHRASE=a"], 2),
        (["--app", "shop", "--prefix", "https://m.example.com"], ["env", "XCACHE_SIGN_PASSPHRASE=a"], 2),
        (
          ["--app", "shop", "--root-key", "a.key", "--spare-key", "a.key"],
          ["env", "XCACHE_SIGN_PASSPHRASE=a"], 2
        ),
      ]
      for (words, launcher, code) in cases {
        let outcome = try Outcome(
          try site.start(["trust", "init", "--out", "keys"] + words, launcher: launcher))
        #expect(outcome.exitCode == code, "\(words): \(outcome.errors)")
        #expect(try Kernel.status("\(site.scratch.path)/keys") == nil)
      }
    }
  }

  // MARK: - push

  @Test("push signs what all channels hold, by one statement for each content, and changes nothing twice")
  func push() throws {
    try Self.with { site in
      let short = try Self.trust(
        site, "init", "--app", "shop", environment: ["XCACHE_SIGN_PASSPHRASE=short"])
      #expect(short.exitCode == 2 && short.errors.contains("8 characters"), "\(short.errors)")
      #expect(try Self.trust(site, "init", "--app", "shop").exitCode == 0)
      let early = try Self.trust(site, "status")
      #expect(early.errors.contains("xcache trust push ./root.json"), "\(early.errors)")
      let without = try Self.trust(site, "push")
      #expect(without.exitCode == 2 && without.errors.contains("home in online"), "\(without.errors)")
      let dry = try Self.trust(site, "push", "--sign-key", "release.key", "--dry-run")
      #expect(dry.exitCode == 0 && dry.output.contains("dry run"), "\(dry.errors)")
      #expect(try site.poll()["data"]?["trust"] == nil)
      let before = try site.poll()["data"]?["resourcemap"]?["\(Site.base)/a.js"]
      let pushed = try Self.trust(site, "push", "root.json", "--sign-key", "release.key", "--json")
      #expect(pushed.exitCode == 0, "\(pushed.errors)")
      let signed = try Self.json(pushed)["signed"]?.array ?? []
      #expect(signed.count == 2)
      #expect(signed.allSatisfy { $0["channels"] == ["online", "test"] })
      let release = try Self.id(site, "release")
      #expect(try Self.signers(site) == ["cart": [release], "home": [release]])
      let entry = try site.poll()["data"]?["resourcemap"]?["\(Site.base)/a.js"]
      #expect(entry?["bundle"] == "home" && entry?["download"] == before?["download"])
      let again = try Self.trust(site, "push", "root.json", "--sign-key", "release.key")
      #expect(again.exitCode == 0 && again.output.contains("nothing to push"), "\(again.errors)")
      let status = try Self.trust(site, "status")
      #expect(status.exitCode == 0 && status.output.contains("1 root key may be lost"), "\(status.output)")
    }
  }

  @Test("push with a key that the root doesn't name, an unsigned root, or one of another app is refused")
  func badPush() throws {
    try Self.with { site in
      #expect(try Self.trust(site, "init", "--app", "shop").exitCode == 0)
      let stranger = try Self.trust(site, "push", "--sign-key", "root.key")
      #expect(stranger.exitCode == 1 && stranger.errors.contains("names the key"), "\(stranger.errors)")
      let root = try Self.root(site)
      try site.scratch.write("unsigned.json", Signed(root.document).envelope.bytes)
      let unsigned = try Self.trust(site, "push", "unsigned.json", "--sign-key", "release.key")
      #expect(unsigned.exitCode == 3 && unsigned.errors.contains("root-new-keys"), "\(unsigned.errors)")
      try site.publish(["a.js": "1"], app: "other")
      let other = try Self.trust(site, "push", "root.json", "--app", "other", "--sign-key", "release.key")
      #expect(other.exitCode == 2, "\(other.errors)")
      #expect(try Self.trust(site, "push", "none.json").exitCode == 1)
      #expect(try site.poll()["data"]?["trust"] == nil)
    }
  }

  @Test("the first push says that an open rollout has to end before")
  func pushBesideARollout() throws {
    try Self.with { site in
      #expect(try Self.trust(site, "init", "--app", "shop").exitCode == 0)
      try site.publish(["a.js": "3"], as: "home", "--rollout", "5%")
      let open = try Self.trust(site, "push", "--sign-key", "release.key")
      #expect(
        open.exitCode == 3 && open.errors.contains("a rollout is open in online")
          && open.errors.contains("xcache rollout halt"), "\(open.errors)")
      #expect(try site.run("rollout", "complete", "--app", "shop").exitCode == 0)
      let pushed = try Self.trust(site, "push", "--sign-key", "release.key")
      #expect(pushed.exitCode == 0, "\(pushed.errors)")
    }
  }

  // MARK: - Drafts

  @Test("a CI key is replaced: what the old one signed is signed anew, and nothing else changes")
  func replaceKey() throws {
    try Self.with { site in
      try Self.begin(site)
      let old = try Self.id(site, "release")
      let version = try site.poll()["data"]?["version"]
      #expect(try Self.trust(site, "add-key", "--new", "ci2.key").exitCode == 0)
      let removed = try Self.trust(site, "remove-key", String(old.prefix(12)))
      #expect(
        removed.exitCode == 0 && removed.output.contains("- release key \(old.prefix(16))"),
        "\(removed.errors)")
      let same = try Self.trust(site, "add-key", "--new", "ci2.key")
      #expect(same.exitCode == 0 && same.output.contains("unchanged"), "\(same.output)")
      let early = try Self.trust(site, "push", "root-2.draft.json", "--sign-key", "ci2.key")
      #expect(early.exitCode == 3 && early.errors.contains("root-old-keys"), "\(early.errors)")
      let wrong = try Self.trust(site, "sign", "root-2.draft.json", "--key", "release.key")
      #expect(wrong.exitCode == 1, "\(wrong.errors)")
      let signed = try Self.trust(
        site, "sign", "root-2.draft.json", "--key", "root-spare.key", "--server", "http://127.0.0.1:9")
      #expect(signed.exitCode == 0, "\(signed.errors)")
      let once = try Self.trust(site, "sign", "root-2.draft.json", "--key", "root-spare.key")
      #expect(once.exitCode == 0 && once.output.contains("unchanged"), "\(once.output)")
      let oldKey = try Self.trust(site, "push", "root-2.draft.json", "--sign-key", "release.key")
      #expect(oldKey.exitCode == 1, "\(oldKey.errors)")
      let pushed = try Self.trust(site, "push", "--sign-key", "ci2.key")
      #expect(pushed.exitCode == 0, "\(pushed.errors)")
      let new = try Self.id(site, "release")
      #expect(new != old)
      #expect(try Self.signers(site) == ["cart": [new], "home": [new]])
      #expect(try site.poll()["data"]?["root"] == "2" && site.poll()["data"]?["version"] == version)
      #expect(try Kernel.status("\(site.scratch.path)/root-2.draft.json") == nil)
      #expect(try Self.root(site, "root-2.json").document.number.number == 2)
      let twice = try Self.trust(site, "push", "root-2.draft.json", "--sign-key", "ci2.key")
      #expect(twice.exitCode == 0 && twice.output.contains("root 2 is in force"), "\(twice.errors)")
      let nothing = try Self.trust(site, "resign")
      #expect(nothing.exitCode == 0 && nothing.output.contains("nothing to sign"), "\(nothing.errors)")
    }
  }

  @Test("resign --every makes room for a key to go later")
  func resign() throws {
    try Self.with { site in
      try Self.begin(site)
      #expect(try Self.trust(site, "add-key", "--new", "ci2.key").exitCode == 0)
      #expect(try Self.trust(site, "sign", "root-2.draft.json", "--key", "root.key").exitCode == 0)
      #expect(try Self.trust(site, "push").exitCode == 0)
      let resigned = try Self.trust(site, "resign", "--every", "--sign-key", "ci2.key", "--json")
      #expect(resigned.exitCode == 0, "\(resigned.errors)")
      #expect(try Self.json(resigned)["kept"]?.integer == 2)
      let again = try Self.trust(site, "resign", "--every", "--sign-key", "ci2.key")
      #expect(again.exitCode == 0 && again.output.contains("nothing to sign"), "\(again.output)")
      // Until the first key goes, both have signed.
      #expect(try Set(Self.signers(site).values.joined()).count == 2)
      let none = try Self.trust(site, "resign", "--every")
      #expect(none.exitCode == 2 && none.errors.contains("--sign-key"), "\(none.errors)")
      // The first one has signed all of it, too, and a key that signs something else doesn't change that.
      for keys in [["release.key"], ["release.key", "ci2.key"]] {
        let words = keys.flatMap { ["--sign-key", $0] }
        let outcome = try Outcome(
          try site.start(
            ["trust", "resign", "--every"] + words,
            launcher: ["env", "XCACHE_SIGN_PASSPHRASE=\(Self.passphrase)"]))
        #expect(outcome.exitCode == 0 && outcome.output.contains("nothing to sign"), "\(outcome.output)")
      }
      #expect(try Self.trust(site, "remove-key", "release.key").exitCode == 0)
      #expect(try Self.trust(site, "sign", "root-3.draft.json", "--key", "root.key").exitCode == 0)
      let pushed = try Self.trust(site, "push")
      #expect(pushed.exitCode == 0, "nothing has to be signed: \(pushed.errors)")
    }
  }

  @Test("a stolen key's floors are lowered again, and the head key is another one")
  func stolen() throws {
    try Self.with { site in
      try site.publish(["c.js": "3"], as: "gone", base: "https://m.example.com/gone")
      #expect(
        try site.run("unpublish", "--app", "shop", "--bundle", "gone", "-m", "over").exitCode == 0)
      try Self.begin(site)
      let (release, head) = (try Self.id(site, "release"), try Self.id(site, "head"))
      #expect(try Self.trust(site, "add-key", "--new", "ci2.key").exitCode == 0)
      #expect(try Self.trust(site, "remove-key", release, "--stolen").exitCode == 0)
      #expect(try Self.trust(site, "rotate-head").exitCode == 0)
      let once = try Self.trust(site, "rotate-head")
      #expect(once.exitCode == 0 && once.output.contains("unchanged"), "\(once.output)")
      let draft = try Self.root(site, "root-2.draft.json").document
      #expect(draft.floors.map(\.key.text).sorted() == ["cart", "gone", "home"])
      let again = try Self.trust(site, "remove-key", release, "--stolen")
      #expect(again.exitCode == 0 && again.output.contains("says that already"), "\(again.errors)")
      #expect(draft.heads.map(\.text) != [head])
      #expect(try Self.trust(site, "sign", "root-2.draft.json", "--key", "root.key").exitCode == 0)
      let pushed = try Self.trust(site, "push", "--sign-key", "ci2.key")
      #expect(pushed.exitCode == 0, "\(pushed.errors)")
      #expect(try Self.id(site, "head") != head)
      let signed = try Signed<TrustHead>(json: try #require(try site.poll()["data"]?["trust"]?["head"]))
      #expect(signed.envelope.signatures.map(\.key.text) == [try Self.id(site, "head")])
    }
  }

  @Test("root keys, thresholds and scopes change, and a root without a spare is said")
  func roots() throws {
    try Self.with { site in
      try Self.begin(site)
      let root = try Self.root(site).document
      let none = try Self.trust(site, "remove-root", root.roots.keys[1].text)
      #expect(none.exitCode == 0 && none.errors.contains("without a spare"), "\(none.errors)")
      #expect(try Self.trust(site, "set-threshold", "roots", "2").exitCode == 3)
      #expect(try Self.trust(site, "add-root", "--new", "third.key").exitCode == 0)
      #expect(try Self.trust(site, "set-threshold", "roots", "2").exitCode == 0)
      #expect(try Self.trust(site, "set-threshold", "releases", "2").exitCode == 3)
      #expect(
        try Self.trust(site, "set-scope", root.grants[0].signers.keys[0].text, "--bundles", "home,cart")
          .exitCode == 0)
      let draft = try Self.root(site, "root-2.draft.json").document
      #expect(draft.roots.threshold == 2 && draft.roots.keys.count == 2)
      // Two of the new root must sign, one of them the only one of the old that stays.
      let kept = try #require(draft.roots.keys.first { root.roots.keys.contains($0) })
      let status = try Self.trust(site, "status")
      #expect(status.output.contains("root-2.draft.json"), "\(status.output)")
      #expect(kept == root.roots.keys[0])
    }
  }

  @Test(
    "a KEY is the beginning of an id, a key's file, or that of its public key; what is so already is said")
  func keys() throws {
    try Self.with { site in
      try Self.begin(site)
      let text = "openssl pkey -in root-spare.key -passin env:P -pubout -out spare.pem"
      let outcome = try Outcome(
        try Child(
          ["sh", "-c", text], environment: ["PATH": "/usr/bin:/bin", "P": Self.passphrase],
          in: site.scratch.path))
      try #require(outcome.exitCode == 0, "\(outcome.errors)")
      let id = try Self.id(site, "release")
      for words in [
        ["set-threshold", "releases", "1"], ["set-threshold", "roots", "1"], ["on"],
        ["set-scope", "release.key", "--bundles", "*"],
        ["set-scope", String(id.prefix(8)), "--threshold", "1"],
        ["set-floor", "home", "--to", "none"],
      ] {
        let outcome = try Outcome(
          try site.start(["trust"] + words, launcher: ["env", "XCACHE_SIGN_PASSPHRASE=\(Self.passphrase)"]))
        #expect(
          outcome.exitCode == 0 && outcome.output == "nothing to change: root 1 says that already\n",
          "\(words): \(outcome.output)\(outcome.errors)")
      }
      #expect(try Kernel.status("\(site.scratch.path)/root-2.draft.json") == nil)
      #expect(try Self.trust(site, "remove-root", "spare.pem").exitCode == 0)
      let twice = try Self.trust(site, "remove-root", "spare.pem")
      #expect(twice.exitCode == 0 && twice.output.contains("says that already"), "\(twice.errors)")
      let wrong = try Self.trust(site, "remove-key", "root.key")
      #expect(wrong.exitCode == 1 && wrong.errors.contains("remove-root"), "\(wrong.errors)")
      let none = try Self.trust(site, "remove-key", "none.key")
      #expect(none.exitCode == 1 && none.errors.contains("no such file"), "\(none.errors)")
    }
  }

  @Test("a root that lowers a floor has what is live signed anew, if the command names a key, or warns")
  func lowering() throws {
    try Self.with { site in
      #expect(try Self.trust(site, "init", "--app", "shop", "--no-passphrase").exitCode == 0)
      #expect(try Self.trust(site, "push", "--sign-key", "release.key").exitCode == 0)
      try site.publish(["a.js": "2"], as: "home", "--raise-floor", "--sign-key", "release.key")
      func statement() throws -> ReleaseStatement {
        let all = try site.poll()["data"]?["trust"]?["releases"]?.array ?? []
        return try #require(
          try all.map { try Signed<ReleaseStatement>(json: $0).document }.first { $0.bundle.text == "home" })
      }
      let before = try statement()
      #expect(before.floor == before.serial)
      #expect(try Self.trust(site, "set-floor", "home", "--to", "0").exitCode == 0)
      #expect(try Self.trust(site, "sign", "root-2.draft.json", "--key", "root.key").exitCode == 0)
      let dry = try Self.trust(site, "push", "--dry-run", environment: ["XCACHE_SIGN_KEY=release.key"])
      #expect(dry.exitCode == 0 && dry.errors.contains("raise it again"), "\(dry.errors)")
      let pushed = try Self.trust(site, "push", "--sign-key", "release.key")
      #expect(pushed.exitCode == 0 && !pushed.errors.contains("raise it again"), "\(pushed.errors)")
      let after = try statement()
      #expect(after.serial == before.serial && after.floor == .zero && after.content == before.content)
    }
  }

  @Test("a floor that a root lowered without the key is left out by resign, once")
  func resignBelowAFloor() throws {
    try Self.with { site in
      #expect(try Self.trust(site, "init", "--app", "shop", "--no-passphrase").exitCode == 0)
      #expect(try Self.trust(site, "push", "--sign-key", "release.key").exitCode == 0)
      try site.publish(["a.js": "2"], as: "home", "--raise-floor", "--sign-key", "release.key")
      #expect(try Self.trust(site, "set-floor", "home", "--to", "0").exitCode == 0)
      #expect(try Self.trust(site, "sign", "root-2.draft.json", "--key", "root.key").exitCode == 0)
      #expect(try Self.trust(site, "push").exitCode == 0)
      func home() throws -> JSONValue? {
        let status = try Self.json(Self.trust(site, "status", "--json"))
        let online = status["channels"]?.array?.first { $0["channel"] == "online" }
        return online?["bundles"]?.array?.first { $0["bundle"] == "home" }
      }
      let before = try home()
      #expect(before?["floorInForce"]?.integer == 0 && before?["floor"] == before?["serial"])
      let again = try Self.trust(site, "push", "root-2.json", "--sign-key", "release.key")
      #expect(again.exitCode == 0 && again.errors.contains("trust resign --sign-key"), "\(again.errors)")
      // It may be a thief's: a key that happens to be there doesn't sign it.
      let without = try Self.trust(site, "resign", environment: ["XCACHE_SIGN_KEY=release.key"])
      #expect(without.exitCode == 2 && without.errors.contains("home in online"), "\(without.errors)")
      let resigned = try Self.trust(site, "resign", "--sign-key", "release.key")
      #expect(resigned.exitCode == 0, "\(resigned.errors)")
      let after = try home()
      #expect(after?["floor"]?.integer == 0 && after?["serial"] == before?["serial"])
      let twice = try Self.trust(site, "resign", "--sign-key", "release.key")
      #expect(twice.exitCode == 0 && twice.output.contains("nothing to sign"), "\(twice.output)")
      // What is raised after the root is meant.
      try site.publish(["a.js": "3"], as: "home", "--raise-floor", "--sign-key", "release.key")
      let meant = try Self.trust(site, "resign", "--sign-key", "release.key")
      #expect(meant.exitCode == 0 && meant.output.contains("nothing to sign"), "\(meant.output)")
      // A root that names the floor again takes that back, and says so.
      for words in [
        ["set-floor", "home", "--to", "0"], ["sign", "root-3.draft.json", "--key", "root.key"],
        ["push", "root-3.draft.json", "--dry-run"],
      ] {
        let outcome = try Outcome(try site.start(["trust"] + words))
        #expect(
          outcome.exitCode == 0 && (outcome.output + outcome.errors).contains("home: 0 (named again"),
          "\(words): \(outcome.errors)")
      }
    }
  }

  @Test("two people on two machines come to a threshold of 2, each with their own key")
  func twoPeople() throws {
    try Self.with { site in
      #expect(try Self.trust(site, "init", "--app", "shop", "--no-passphrase").exitCode == 0)
      #expect(try Self.trust(site, "push", "--sign-key", "release.key").exitCode == 0)
      let (first, second) = (try Self.id(site, "release"), P256PrivateKey())
      try Kernel.makeFolder("\(site.scratch.path)/manager", mode: 0o700)
      try DurableFile.write(
        second.pem(passphrase: nil), to: "\(site.scratch.path)/manager/own.key", mode: 0o600, replaces: false)
      let text = "openssl pkey -in manager/own.key -pubout -out own.pem"
      let made = try Outcome(
        try Child(["sh", "-c", text], environment: ["PATH": "/usr/bin:/bin"], in: site.scratch.path))
      try #require(made.exitCode == 0, "\(made.errors)")
      #expect(try Self.trust(site, "add-key", "--public-key", "own.pem").exitCode == 0)
      #expect(try Self.trust(site, "set-threshold", "releases", "2").exitCode == 0)
      #expect(try Self.trust(site, "sign", "root-2.draft.json", "--key", "root.key").exitCode == 0)
      let early = try Self.trust(site, "push", "--sign-key", "release.key")
      #expect(early.exitCode == 3 && early.errors.contains("home in online: 2 of "), "\(early.errors)")
      #expect(early.errors.contains("must sign; \(first.prefix(16)) has"), "\(early.errors)")
      #expect(early.errors.contains("resign --every --sign-key FILE"), "\(early.errors)")
      // As docs/trust.md says: first the key, then its signatures, then the threshold.
      try Kernel.remove("\(site.scratch.path)/root-2.draft.json")
      #expect(try Self.trust(site, "add-key", "--public-key", "own.pem").exitCode == 0)
      #expect(try Self.trust(site, "sign", "root-2.draft.json", "--key", "root.key").exitCode == 0)
      #expect(try Self.trust(site, "push").exitCode == 0)
      try site.scratch.write(
        "manager/root.json", try DurableFile.read("\(site.scratch.path)/root.json") ?? [])
      let added = try Self.trust(
        site, "resign", "--every", "--out", "manager", "--sign-key", "manager/own.key")
      #expect(added.exitCode == 0, "\(added.errors)")
      #expect(try Self.trust(site, "set-threshold", "releases", "2").exitCode == 0)
      #expect(try Self.trust(site, "sign", "root-3.draft.json", "--key", "root.key").exitCode == 0)
      let pushed = try Self.trust(site, "push")
      #expect(pushed.exitCode == 0, "\(pushed.errors)")
      #expect(try Self.signers(site)["home"]?.sorted() == [first, second.trustKey.id.text].sorted())
      let which = try Self.trust(
        site, "status", "--key", "own.pem", "--key", "root.key", "--key", "release.key")
      #expect(
        which.output.contains("own.pem: release key, prefetch key \(second.trustKey.id.text.prefix(16))")
          && which.output.contains("root.key: root key "), "\(which.output)\(which.errors)")
    }
  }

  @Test("push asks, and where nobody can be asked, it has to be told")
  func asks() throws {
    try Self.with { site in
      #expect(try Self.trust(site, "init", "--app", "shop", "--no-passphrase").exitCode == 0)
      for words in [[], ["--json"]] {
        let outcome = try Outcome(try site.start(["trust", "push", "--sign-key", "release.key"] + words))
        #expect(outcome.exitCode == 2 && outcome.errors.contains("-y does it"), "\(words): \(outcome.errors)")
      }
      #expect(try site.poll()["data"]?["trust"] == nil)
    }
  }

  @Test(
    "names that the origin doesn't know, a public key that is to sign, and a root that is in force are said")
  func mistaken() throws {
    try Self.with { site in
      #expect(try Self.trust(site, "init", "--app", "shop", "--no-passphrase").exitCode == 0)
      #expect(try Self.trust(site, "push", "--sign-key", "release.key").exitCode == 0)
      let scope = try Self.trust(
        site, "set-scope", "release.key", "--channels", "onlin,test", "--bundles", "hmoe,ca*")
      #expect(
        scope.exitCode == 0 && scope.errors.contains("no channel onlin, but online, test")
          && scope.errors.contains("a bundle hmoe") && !scope.errors.contains("ca*;"), "\(scope.errors)")
      try Kernel.remove("\(site.scratch.path)/root-2.draft.json")
      let outcome = try Outcome(
        try Child(
          ["sh", "-c", "openssl pkey -in release.key -pubout -out rel.pub"],
          environment: ["PATH": "/usr/bin:/bin"], in: site.scratch.path))
      try #require(outcome.exitCode == 0, "\(outcome.errors)")
      let publicKey = try Self.trust(site, "resign", "--every", "--sign-key", "rel.pub")
      #expect(
        publicKey.exitCode == 1 && publicKey.errors.contains("rel.pub is a public key"), "\(publicKey.errors)"
      )
      #expect(try Self.trust(site, "add-key", "--new", "ci2.key", "--no-passphrase").exitCode == 0)
      #expect(try Self.trust(site, "sign", "root-2.draft.json", "--key", "root.key").exitCode == 0)
      #expect(try Self.trust(site, "push").exitCode == 0)
      for name in ["root-2.draft.json", "root-2.json"] {
        let signed = try Self.trust(site, "sign", name, "--key", "root.key")
        #expect(signed.exitCode == 0 && signed.output.contains("put in force"), "\(signed.output)")
      }
      let folder = try site.scratch.folder("site-shop-home", ["a.js": "9"])
      let other = try site.run(
        "publish", folder, "--app", "shop", "--bundle", "home", "--base-url", Site.base, "--sign-for",
        "onlin",
        "--sign-key", "release.key", "--now")
      #expect(
        other.exitCode == 0 && other.errors.contains("no channel onlin, but online, test"), "\(other.errors)")
    }
  }

  @Test("mirror verify says which root it checked against, and first if that is another one")
  func verifiedRoots() throws {
    try Self.with { site in
      #expect(try Self.trust(site, "init", "--app", "shop", "--no-passphrase").exitCode == 0)
      #expect(try Self.trust(site, "push", "--sign-key", "release.key").exitCode == 0)
      #expect(try site.run("mirror", "--to", "www").exitCode == 0)
      let own = try site.run("mirror", "verify", "www")
      #expect(own.exitCode == 0 && own.output.contains("root 1 as the copy has it"), "\(own.output)")
      let given = try site.run("mirror", "verify", "www", "--root", "root.json")
      #expect(given.exitCode == 0 && given.output.contains("root 1, of --root"), "\(given.output)")
      let real = try Self.root(site).document
      let (key, head) = (P256PrivateKey(), P256PrivateKey())
      let other = try Signed(
        TrustRoot(
          app: real.app, number: .first, keys: [key.trustKey, head.trustKey],
          roots: try #require(KeyGroup([key.trustKey.id])), heads: [head.trustKey.id])
      ).signed(by: key)
      try site.scratch.write("other.json", other.envelope.bytes)
      let wrong = try site.run("mirror", "verify", "www", "--root", "other.json")
      #expect(
        wrong.exitCode != 0 && wrong.output.hasPrefix("error: the copy's root 1 of app shop is another one"),
        "\(wrong.output)")
    }
  }

  @Test("a rollout of what was signed with a higher floor elsewhere is signed without it")
  func rolloutBelowAFloor() throws {
    try Self.with { site in
      #expect(try Self.trust(site, "init", "--app", "shop", "--no-passphrase").exitCode == 0)
      #expect(try Self.trust(site, "push", "--sign-key", "release.key").exitCode == 0)
      try site.publish(
        ["a.js": "2"], as: "home", "--channel", "test", "--sign-for", "online", "--raise-floor", "--sign-key",
        "release.key")
      let words = ["promote", "--app", "shop", "--from", "test", "--to", "online", "--rollout", "5%"]
      let without = try Outcome(try site.start(words))
      #expect(without.exitCode == 3 && without.errors.contains("floor of home"), "\(without.errors)")
      let outcome = try Outcome(try site.start(words + ["--sign-key", "release.key"]))
      #expect(outcome.exitCode == 0, "\(outcome.errors)")
      let status = try Self.json(Self.trust(site, "status", "--json"))
      let online = status["channels"]?.array?.first { $0["channel"] == "online" }
      let candidate = online?["candidate"]?.array ?? []
      #expect(candidate.count == 1 && candidate.first?["floor"]?.integer == 0, "\(candidate)")
    }
  }

  @Test("off is the way out, and on the way back")
  func off() throws {
    try Self.with { site in
      try Self.begin(site)
      #expect(try Self.trust(site, "off").exitCode == 0)
      #expect(try Self.trust(site, "sign", "root-2.draft.json", "--key", "root.key").exitCode == 0)
      let off = try Self.trust(site, "push")
      #expect(off.exitCode == 0 && off.output.contains("check nothing any more"), "\(off.errors)")
      try site.publish(["a.js": "unsigned"], as: "home")
      #expect(try Self.trust(site, "resign").exitCode == 3)
      #expect(try Self.trust(site, "on").exitCode == 0)
      #expect(try Self.trust(site, "sign", "root-3.draft.json", "--key", "root.key").exitCode == 0)
      let on = try Self.trust(site, "push", "--sign-key", "release.key")
      #expect(on.exitCode == 0, "\(on.errors)")
      #expect(try Self.signers(site).keys.sorted() == ["cart", "home"])
    }
  }

  // MARK: - Programs that sign, and origins that lie

  @Test("a program signs in place of each key file")
  func signWith() throws {
    try Self.with { site in
      for (name, text) in [
        (
          "hsm",
          "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out hsm.key && chmod 600 hsm.key"
        ), ("pub", "openssl pkey -in hsm.key -pubout -out hsm.pem"),
      ] {
        let outcome = try Outcome(
          try Child(["sh", "-c", text], environment: ["PATH": "/usr/bin:/bin"], in: site.scratch.path))
        try #require(outcome.exitCode == 0, "\(name): \(outcome.errors)")
      }
      let command = "openssl pkeyutl -sign -inkey hsm.key -rawin -digest sha256"
      #expect(try Self.trust(site, "init", "--app", "shop", "--release-key", "hsm.pem").exitCode == 0)
      let pushed = try Self.trust(site, "push", "--sign-with", command, "--public-key", "hsm.pem")
      #expect(pushed.exitCode == 0, "\(pushed.errors)")
      try site.scratch.write(
        "xcache.json", #"{"app":"shop","signWith":{"command":"\#(command)","publicKey":"hsm.pem"}}"#)
      #expect(try Self.trust(site, "add-key", "--new", "ci2.key").exitCode == 0)
      #expect(try Self.trust(site, "sign", "root-2.draft.json", "--key", "root.key").exitCode == 0)
      #expect(try Self.trust(site, "push").exitCode == 0)
      let resigned = try Self.trust(site, "resign", "--every", "--sign-key", "ci2.key")
      #expect(resigned.exitCode == 0, "\(resigned.errors)")
      let back = try Self.trust(site, "resign", "--every")
      #expect(back.exitCode == 0, "\(back.errors)")
      let broken = try Self.trust(
        site, "resign", "--every", "--sign-with", "echo no card >&2; exit 1", "--public-key", "hsm.pem")
      #expect(broken.exitCode == 0 || broken.errors.contains("no card"), "\(broken.errors)")
    }
  }

  @Test("an origin with other roots than the app's is told apart, whatever it says")
  func otherRoots() throws {
    try Self.with { site in
      try Self.begin(site)
      // The root of an app that was built elsewhere: another first root of the same name.
      let real = try Self.root(site).document
      let (root, release) = (P256PrivateKey(), P256PrivateKey())
      let other = try Signed(
        TrustRoot(
          app: real.app, number: .first, keys: [root.trustKey, release.trustKey],
          roots: try #require(KeyGroup([root.trustKey.id])), heads: [release.trustKey.id])
      ).signed(by: root)
      try site.scratch.write("app.json", other.envelope.bytes)
      for act in [["status"], ["off"], ["resign"]] {
        let outcome = try Outcome(try site.start(["trust"] + act + ["--app", "shop", "--root", "app.json"]))
        #expect(
          outcome.exitCode == 3 && outcome.errors.contains("another root 1"), "\(act): \(outcome.errors)")
      }
      let nowhere = try Outcome(try site.start(["trust", "off", "--app", "shop", "--out", "empty"]))
      #expect(nowhere.exitCode == 2 && nowhere.errors.contains("isn't believed"), "\(nowhere.errors)")
    }
  }

  @Test("a publish token gives statements, but puts no root in force")
  func rights() throws {
    try Self.with { site in
      try Self.begin(site)
      let made = try site.run("token", "create", "ci", "--scope", "publish", "--app", "shop", "--no-expiry")
      let token = made.output.filter { !$0.isWhitespace }
      #expect(try Self.trust(site, "status", "--app", "shop", token: token).exitCode == 0)
      #expect(try Self.trust(site, "rotate-head", "--app", "shop", token: token).exitCode == 1)
      #expect(try Self.trust(site, "off").exitCode == 0)
      #expect(try Self.trust(site, "sign", "root-2.draft.json", "--key", "root.key").exitCode == 0)
      #expect(try Self.trust(site, "push", token: token).exitCode == 1)
      #expect(try Kernel.status("\(site.scratch.path)/root-2.draft.json") != nil)
    }
  }

  @Test(
    "mistakes are said before anything is asked of the origin",
    arguments: [
      (["trust"], 2), (["trust", "pish"], 2), (["trust", "sign"], 2), (["trust", "sign", "none.json"], 1),
      (["trust", "add-key"], 2), (["trust", "add-key", "--new", "a", "--public-key", "b"], 2),
      (["trust", "remove-key"], 2), (["trust", "set-scope"], 2), (["trust", "set-scope", "60303f8b"], 2),
      (["trust", "set-threshold", "roots", "0"], 2),
      (["trust", "set-threshold", "all", "1"], 2), (["trust", "set-floor", "home"], 2),
      (["trust", "set-floor", "home", "--to", "-1"], 2), (["trust", "status", "--every"], 2),
      (["trust", "push", "a", "b"], 2), (["trust", "off", "x"], 2),
    ] as [([String], Int32)])
  func mistakes(words: [String], code: Int32) throws {
    let scratch = try Scratch()
    let environment = [
      "PATH": "/usr/bin:/bin", "HOME": scratch.path, "XCACHE_SERVER": "http://127.0.0.1:9",
      "XCACHE_APP": "shop",
    ]
    let outcome = try Outcome(try Child([Binary.path] + words, environment: environment, in: scratch.path))
    #expect(outcome.exitCode == code && outcome.output.isEmpty, "\(outcome.errors)")
    #expect(try Folder.textNames(scratch.path).isEmpty)
  }
}
