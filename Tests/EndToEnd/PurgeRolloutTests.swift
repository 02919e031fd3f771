import Manifests
import System
import Testing

/// Purges while a rollout is open, of files of the candidate and of the full version: no device gets the candidate because of it.
@Suite("Purges during a rollout") struct PurgeRolloutTests {
  private static let secret = "the key " + SHA256.of(Array("key".utf8)).hex
  private static let (good, risky): (Files, Files) = (["index.html": "good"], ["index.html": "risky"])

  /// Where the secret is; every release has the page, too.
  enum Place: String, CaseIterable, CustomTestStringConvertible {
    case both = "in the full version and in the candidate"
    case candidate = "in the candidate alone"
    case full = "in the full version alone"
    case otherBundle = "in another bundle"
    case otherBundleAndCandidate = "in another bundle, and in the candidate alone"

    var testDescription: String { rawValue }
    var isInFull: Bool { self == .both || self == .full }
    var isInCandidate: Bool { [.both, .candidate, .otherBundleAndCandidate].contains(self) }
    var isInOther: Bool { self == .otherBundle || self == .otherBundleAndCandidate }
  }

  private static func publish(_ site: Site, _ files: Files, bundle: String, _ more: String...) throws {
    let folder = "build-\(bundle)"
    try site.scratch.folder(folder, files)
    let outcome = try Outcome(
      try site.start(
        [
          "publish", folder, "--app", "shop", "--bundle", bundle, "--base-url",
          "https://m.example.com/\(bundle)/", "--create",
          "--now",
        ] + more))
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
  }

  private static func content(_ site: Site, _ query: String = "") throws -> (
    version: String?, urls: [String], page: String
  ) {
    let data = try site.poll(query)["data"]
    let entries = data?["resourcemap"]?.object?.members ?? []
    let page = entries.first { $0.key == "https://m.example.com/main/index.html" }?.value
    let text = try page.map { try site.web.ask(Site.path(of: $0)).text } ?? ""
    return (data?["version"]?.string, entries.map(\.key).sorted(), text)
  }

  @Test(
    "No copy of the bytes is left, and every device has the content of the full version",
    arguments: Place.allCases)
  func purge(_ place: Place) throws {
    try Site.with { site in
      let file: Files = ["s.txt": Self.secret]
      if place.isInOther { try Self.publish(site, file.merging(["b.js": "b"]) { $1 }, bundle: "other") }
      try Self.publish(site, Self.good.merging(place.isInFull ? file : [:]) { $1 }, bundle: "main")
      try Self.publish(
        site, Self.risky.merging(place.isInCandidate ? file : [:]) { $1 }, bundle: "main", "--rollout", "5%")
      let candidate = try Self.content(site, "candidate=1")
      #expect(candidate.page == "risky", "\(candidate)")
      let sha256 = SHA256.of(Array(Self.secret.utf8)).hex

      let dry = try site.run("purge", sha256, "--dry-run")
      #expect(dry.exitCode == 0)
      #expect(dry.output.contains("would end") == (place != .otherBundle), "\(dry.output)")
      let purged = try site.run("purge", sha256, "--reason", "a key was published", "--yes")
      #expect(purged.exitCode == 0, "\(purged.errors) \(purged.output)")
      #expect(purged.output.contains("has ended") == (place != .otherBundle), "\(purged.output)")

      let full = try Self.content(site)
      #expect(full.page == "good" && !full.urls.contains { $0.hasSuffix("s.txt") }, "\(full)")
      #expect(full.urls.contains { $0.hasSuffix("b.js") } == place.isInOther)
      let forCandidate = try Self.content(site, "candidate=1")
      if place == .otherBundle {
        #expect(
          forCandidate.page == "risky" && forCandidate.version != full.version
            && !forCandidate.urls.contains { $0.hasSuffix("s.txt") }, "\(forCandidate)")
      } else {
        #expect(forCandidate.page == "good" && forCandidate.version == full.version, "\(forCandidate)")
        // Devices with the candidate update to a higher version.
        #expect(Int(full.version ?? "") ?? 0 > Int(candidate.version ?? "") ?? .max)
      }
      let left = try Outcome(
        try Child(["grep", "-rlaF", Self.secret, site.data], environment: ["PATH": "/usr/bin:/bin"], in: "/"))
      #expect(left.output.isEmpty, "\(left.output)")
      try site.crash()
      #expect(try Self.content(site).page == "good")
      let doctor = try site.run("doctor", "--deep", "--data", site.data)
      #expect(doctor.exitCode == 0, "\(doctor.output) \(doctor.errors)")
      let audit = try site.run("audit", "verify")
      #expect(audit.exitCode == 0)
      // The channel works as before.
      try Self.publish(site, ["index.html": "better"], bundle: "main", "--rollout", "100%")
      #expect(try Self.run(site, "rollout", "complete").exitCode == 0)
      #expect(try Self.content(site).page == "better")
    }
  }

  private static func run(_ site: Site, _ words: String...) throws -> Outcome {
    try Outcome(try site.start(words + ["--app", "shop"]))
  }
}

extension PurgeRolloutTests {
  @Test(
    "Two purges of files that the candidate removed; the channel's allowed hosts don't prevent them; another release succeeds"
  )
  func two() throws {
    try Site.with { site in
      let secrets = ["a": "first " + Self.secret, "b": "second " + Self.secret]
      try Self.publish(
        site, Self.good.merging(["a.txt": secrets["a"] ?? "", "b.txt": secrets["b"] ?? ""]) { $1 },
        bundle: "main")
      try Self.publish(site, Self.risky, bundle: "main", "--rollout", "5%")
      #expect(try Self.run(site, "channel", "set", "--hosts", "other.example.com").exitCode == 0)
      let purges = try secrets.values.map { text in
        try site.start(["purge", SHA256.of(Array(text.utf8)).hex, "--reason", "keys", "--yes"])
      }
      for purge in purges {
        let outcome = try Outcome(purge)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
      }
      let left = try Outcome(
        try Child(["grep", "-rlaF", Self.secret, site.data], environment: ["PATH": "/usr/bin:/bin"], in: "/"))
      #expect(left.output.isEmpty, "\(left.output)")
      #expect(try Self.run(site, "channel", "set", "--hosts", "*").exitCode == 0)
      try Self.publish(site, ["b.js": "b"], bundle: "other")
      #expect(try site.run("doctor", "--deep", "--data", site.data).exitCode == 0)
    }
  }

  @Test(
    "A rollback by one step during a rollout, or of several bundles, is refused only if nothing would be left"
  )
  func steps() throws {
    try Site.with { site in
      try Self.publish(site, ["index.html": "1", "y.js": "y"], bundle: "main")
      try Self.publish(site, ["index.html": "1"], bundle: "main")
      try Self.publish(
        site, ["index.html": "1", "y.js": "y", "z.js": "z"], bundle: "main", "--rollout", "5%")
      let step = try Self.run(site, "rollback", "--yes")
      #expect(step.exitCode == 0, "\(step.errors)")
      #expect(try site.poll()["data"]?["resourcemap"]?.object?.members.count == 2)
    }
    try Site.with { site in
      try Self.publish(site, ["index.html": "1"], bundle: "main")
      #expect(try Self.run(site, "unpublish", "--bundle", "main").exitCode == 0)
      try Self.publish(site, ["index.html": "2"], bundle: "main")
      try Self.publish(site, ["index.html": "3", "n.js": "n"], bundle: "main", "--rollout", "5%")
      for words in [["--yes"], ["--all-bundles", "--yes"], ["--yes", "--rollout", "10%"]] {
        let step = try Outcome(try site.start(["rollback", "--app", "shop"] + words))
        #expect(
          step.exitCode == 3 && step.errors.contains("has no files"), "\(words) \(step.output) \(step.errors)"
        )
      }
    }
    try Site.with { site in
      try Self.publish(site, ["b.js": "b", "c.js": "c"], bundle: "other")
      try Self.publish(site, ["index.html": "1"], bundle: "main")
      let step = try Self.run(site, "rollback", "--all-bundles", "--yes")
      #expect(step.exitCode == 0, "\(step.errors)")
      #expect(try site.poll()["data"]?["resourcemap"]?.object?.members.count == 2)
    }
  }
}
