import Glibc
import System
import Testing
import TestSupport
import Values

/// Two people steer one rollout concurrently, Anna at the command line and Ben in the console: nothing is lost, and the second one is told
/// what the first one did.
@Suite("Concurrent changes of a rollout") struct TwoPeopleTests {
  enum Act: String, CaseIterable {
    case set, pause, halt, complete, publish, other

    /// Anna's command line.
    var words: [String] {
      switch self {
      case .set: ["rollout", "set", "25%"]
      case .halt: ["rollout", "halt", "-m", "no good"]
      case .publish: ["publish", "anna-main", "--bundle", "main", "--base-url", "\(Site.base)/main", "--now"]
      case .other:
        [
          "publish", "anna-other", "--bundle", "other", "--base-url", "\(Site.base)/other", "--now",
          "--create",
        ]
      default: ["rollout", rawValue]
      }
    }

    var isRelease: Bool { self == .publish || self == .other }

    /// Its name in the audit trail.
    var name: String { isRelease ? "publish" : "rollout.\(rawValue)" }
  }

  private static func token(_ site: Site, _ name: String) throws -> String {
    let made = try site.api(
      "POST", "tokens", ["name": .string(name), "scope": "admin"])
    return try #require(made.json["token"]?.string, "\(made.json)")
  }

  /// The acts on the channel after a row of the audit trail, oldest first.
  private static func acts(_ site: Site, after row: Int) throws -> [String] {
    let rows = try site.api("GET", "audit?limit=1000").json["rows"]?.array ?? []
    return rows.reversed().dropFirst(row).compactMap { row in
      row["author"]?.string.flatMap { who in row["act"]?.string.map { "\(who) \($0)" } }
    }
  }

  @Test("No act is lost, and the second person is told what the first one did", arguments: Act.allCases)
  func atOnce(_ mine: Act) throws {
    try Site.with { site in
      let (anna, ben) = (try Self.token(site, "anna"), try Self.token(site, "ben"))
      var random = SplitMix(seed: 7)
      var wins: [String: Int] = [:]
      for (round, yours) in (Act.allCases + Act.allCases).enumerated() where !yours.isRelease {
        try site.publish(["a.js": "full \(round)"], as: "main", base: "\(Site.base)/main")
        try site.publish(
          ["a.js": "candidate \(round)"], as: "main", base: "\(Site.base)/main", "--rollout", "5%")
        let open = try site.api("GET", "apps/shop/channels/online/rollout").json
        let candidate = try #require(open["open"]?["version"]?.string)
        let full = try #require(open["full"]?.string)
        try site.scratch.folder("anna-main", ["a.js": "anna \(round)"])
        try site.scratch.folder("anna-other", ["b.js": "anna \(round)"])
        let rows = try site.api("GET", "audit?limit=1000").json["rows"]?.array?.count ?? 0

        let named = mine.isRelease ? [] : ["--candidate", candidate]
        let child = try site.start(mine.words + ["--app", "shop"] + named, token: anna)
        usleep(UInt32(random.below(80_000)))
        var body = JSONObject()
        body["candidate"] = .string(candidate)
        if yours == .set { body["share"] = 5000 }
        if yours == .halt { body["message"] = "ben has seen it" }
        let answer = try site.api(
          "POST", "apps/shop/channels/online/rollout/\(yours.rawValue)", .object(body), token: ben)
        let outcome = try Outcome(child)

        let note: Comment = "\(mine) and \(yours): \(outcome.errors) \(outcome.output) \(answer.json)"
        let acts = try Self.acts(site, after: rows)
        #expect(
          acts.contains("anna \(mine.name)")
            == (outcome.exitCode == 0 && !outcome.output.contains("nothing changed")), note)
        #expect(
          acts.contains("ben rollout.\(yours.rawValue)")
            == (answer.status < 300 && answer.json["changed"]?.bool == true), note)
        #expect(outcome.exitCode == 0 || outcome.exitCode == 3, note)
        #expect(answer.status < 300 || answer.status == 409, note)
        if outcome.exitCode != 0 {
          #expect(outcome.errors.contains("by ben"), note)
          #expect(["halted", "completed"].contains { outcome.errors.contains($0) }, note)
        }
        if answer.status >= 300 {
          let words = answer.json["detail"]?.string ?? ""
          #expect(words.contains("by anna"), note)
          #expect(["halted", "completed", "superseded", "made again"].contains { words.contains($0) }, note)
        }
        #expect(outcome.exitCode == 0 || answer.status < 300, note)
        wins[outcome.exitCode != 0 ? "ben" : answer.status >= 300 ? "anna" : "both", default: 0] += 1

        // The final state is the result of the acts in order.
        let after = try site.api("GET", "apps/shop/channels/online/rollout").json
        var isOpen = true
        var share: Int64 = 500
        for act in acts {
          switch act {
          case "anna rollout.set": share = 2500
          case "ben rollout.set": share = 5000
          case "anna publish" where mine == .publish: isOpen = false
          case _ where act.hasSuffix("rollout.halt") || act.hasSuffix("rollout.complete"): isOpen = false
          default: break
          }
        }
        #expect((after["open"]?.isNull == false) == isOpen, note)
        if isOpen { #expect(after["open"]?["share"]?.integer == share, note) }
        if acts.contains(where: { $0.hasSuffix("rollout.complete") }), !acts.contains("anna publish") {
          #expect(after["full"]?.string == candidate, note)
        } else if acts.allSatisfy({ !$0.hasSuffix("halt") && !$0.hasSuffix("publish") }) {
          #expect(after["full"]?.string == full, note)
        }
        if acts.contains("anna publish") {
          let path = mine == .publish ? "main/a.js" : "other/b.js"
          let held = SHA256.of(Array("anna \(round)".utf8)).hex
          #expect(try site.entry(path)?["sha256"]?.string == held, note)
        }
        if isOpen { _ = try site.run("rollout", "halt", "-m", "the next round", "--app", "shop") }
      }
      #expect(wins.values.reduce(0, +) == 8)
      #expect(try site.run("audit", "verify").exitCode == 0)
    }
  }
}
