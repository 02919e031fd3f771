import Glibc
import System
import Testing
import Values

/// Scheduled acts.
@Suite("Schedules") struct ScheduleTests {
  private static func run(_ site: Site, _ words: String...) throws -> Outcome {
    try Outcome(try site.start(words + ["--app", "shop"]))
  }

  private static func publish(_ site: Site, _ text: String, _ more: String...) throws -> Outcome {
    let folder = try site.scratch.folder("build-\(SHA256.of(Array(text.utf8)).hex.prefix(8))", ["a.js": text])
    return try Outcome(
      try site.start(
        ["publish", folder, "--app", "shop", "--bundle", "main", "--base-url", "https://m.example.com/"]
          + more
      ))
  }

  /// A time that many milliseconds from now, in another time zone.
  private static func time(in milliseconds: Int64) -> String {
    String(Timestamp.text(Clock.unixMilliseconds() + 8 * 3_600_000 + milliseconds).dropLast() + "+08:00")
  }

  private static func version(_ site: Site) throws -> String? { try site.poll()["data"]?["version"]?.string }

  private static func states(_ site: Site) throws -> [String: String] {
    let list = try JSONValue.parse(Array(try run(site, "schedule", "list", "--json").output.utf8))
    return Dictionary(
      uniqueKeysWithValues: (list["schedules"]?.array ?? []).map {
        ("\($0["id"]?.integer ?? 0)", $0["state"]?.string ?? "")
      })
  }

  @Test("A scheduled publish is made at its time, and listed before and after") func publish() throws {
    try Site.with { (site: Site) throws in
      #expect(try Self.publish(site, "one", "--create").exitCode == 0)
      let scheduled = try Self.publish(site, "second", "--schedule", Self.time(in: 4000))
      #expect(scheduled.exitCode == 0, "\(scheduled)")
      #expect(
        scheduled.output.contains("publish of main; `xcache schedule cancel 1 --app shop` takes it back"),
        "\(scheduled)")
      #expect(try Self.version(site) == "1")
      #expect(try Self.run(site, "status").output.contains("SCHEDULED"))
      let list = try Self.run(site, "schedule", "list").output
      #expect(list.contains("waiting") && list.contains("publish of main"), "\(list)")
      // The next publish doesn't take the scheduled files for live ones.
      #expect(try Self.publish(site, "meanwhile").output.contains("version 2"))
      #expect(try Wait.until(15) { try Self.version(site) == "3" })
      #expect(try site.poll()["data"]?["resourcemap"]?["https://m.example.com/a.js"]?["size"]?.integer == 6)
      let show = try Self.run(site, "schedule", "show", "1").output
      #expect(show.contains("done") && show.contains("made version 3"), "\(show)")
      let audit = try site.run("audit", "log").output
      #expect(audit.contains("schedule.add") && audit.contains("schedule.run"), "\(audit)")
      #expect(try Self.run(site, "status").output.contains("SCHEDULED") == false)

      let later = try Self.publish(site, "never", "--schedule", Self.time(in: 3_600_000), "--json")
      #expect(try JSONValue.parse(Array(later.output.utf8))["scheduled"]?["id"]?.integer == 2, "\(later)")
      #expect(try Self.run(site, "schedule", "cancel", "2").output.contains("cancelled: publish of main"))
      let twice = try Self.run(site, "schedule", "cancel", "2")
      #expect(twice.exitCode == 3 && twice.errors.contains("cancelled since"), "\(twice)")
    }
  }

  @Test("Scheduled rollout steps, promotion and rollback") func others() throws {
    try Site.with { (site: Site) throws in
      #expect(try Self.publish(site, "one", "--create").exitCode == 0)
      #expect(try Self.publish(site, "second", "--rollout", "5%").exitCode == 0)
      for words in [["rollout", "set", "25%"], ["rollout", "complete"]] {
        let step = try Outcome(
          try site.start(words + ["--schedule", Self.time(in: 2000), "--app", "shop"]))
        #expect(step.exitCode == 0 && step.output.contains("of version 2"), "\(step)")
      }
      #expect(try Wait.until(15) { try Self.version(site) == "2" })
      #expect(try Self.run(site, "log").output.contains("2"))
      let back = try Self.run(site, "rollback", "1", "--all-bundles", "--schedule", Self.time(in: 2000))
      #expect(back.output.contains("rollback of all bundles to version 1"), "\(back)")
      #expect(try Wait.until(15) { try Self.version(site) == "3" })
      let frozen = try Self.publish(site, "third", "--schedule", Self.time(in: 2000))
      #expect(frozen.exitCode == 0)
      #expect(try Self.run(site, "channel", "freeze", "-m", "sale").exitCode == 0)
      #expect(try Wait.until(15) { try Self.states(site)["4"] == "failed" })
      let status = try Self.run(site, "status").output
      #expect(status.contains("FAILED") && status.contains("is frozen"), "\(status)")
    }
  }

  @Test("Each scheduled act is done once, whenever the process is killed around its time") func killed()
    throws
  {
    let site = try Site()
    #expect(try Self.publish(site, "one", "--create").exitCode == 0)
    var expected: Int64 = 1
    for (round, delay) in [0, 500, 900, 1100].enumerated() {
      let due = Clock.unixMilliseconds() + 9000
      for number in 0..<2 {
        let scheduled = try Self.publish(
          site, "round \(round) \(number)", "--schedule", Self.time(in: due - Clock.unixMilliseconds()),
          "--now")
        #expect(scheduled.exitCode == 0, "\(scheduled)")
      }
      expected += 2
      let left = due - Clock.unixMilliseconds() + Int64(delay)
      if left > 0 { Clock.sleep(for: .milliseconds(left)) }
      try site.crash()
      #expect(try Wait.until(15) { try Self.states(site).values.allSatisfy { $0 == "done" } })
      #expect(try Self.version(site) == "\(expected)")
    }
    let rows = try site.run("audit", "verify")
    #expect(rows.exitCode == 0, "\(rows)")
    try site.stop()
  }

  @Test("A restored origin doesn't carry out acts scheduled in the backup, unless asked to") func restored()
    throws
  {
    try Site.with { (site: Site) throws in
      #expect(try Self.publish(site, "one", "--create").exitCode == 0)
      #expect(try Self.publish(site, "second", "--schedule", Self.time(in: 3_600_000)).exitCode == 0)
      let backup = site.scratch.path + "/backup"
      #expect(try site.run("backup", "--data", site.data, "--to", backup).exitCode == 0)
      let doctor = try site.run("doctor", "--data", backup)
      #expect(doctor.output.contains("1 scheduled act waits, due "), "\(doctor)")
      #expect(doctor.output.contains("publish of main (shop online)"), "\(doctor)")
      let words = ["restore", "--from-backup", backup, "--data"]
      let restore = try Outcome(try site.start(words + [site.scratch.path + "/restored"]))
      #expect(restore.exitCode == 0, "\(restore)")
      #expect(
        restore.output.contains("cancelled: publish of main (shop online), by admin, due "), "\(restore)")
      #expect(restore.errors.contains("--keep-scheduled"), "\(restore)")
      let json = try Outcome(try site.start(words + [site.scratch.path + "/json", "--json"]))
      let pending = try JSONValue.parse(Array(json.output.utf8))["scheduled"]?.array?.first
      #expect(pending?["id"]?.integer == 1 && pending?["state"]?.string == "cancelled", "\(json)")
      #expect(
        pending?["summary"]?.string == "publish of main" && pending?["app"]?.string == "shop", "\(json)")
      let kept = try Outcome(
        try site.start(words + [site.scratch.path + "/kept", "--keep-scheduled"]))
      #expect(kept.output.contains("waits: publish of main (shop online), by admin, due "), "\(kept)")
      let wrong = try Outcome(
        try site.start(["restore", "--from", "x", "--data", "y", "--keep-scheduled"]))
      #expect(wrong.exitCode == 2 && wrong.errors.contains("--from-backup"), "\(wrong)")
    }
  }

  @Test("Overdue acts are done right after the start, and gc keeps what they need") func late() throws {
    try Site.with { (site: Site) throws in
      #expect(try Self.publish(site, "one", "--create").exitCode == 0)
      #expect(try Self.publish(site, "second", "--schedule", Self.time(in: 2500)).exitCode == 0)
      #expect(try Outcome(try site.start(["gc", "--keep-versions", "1", "--keep-days", "0"])).exitCode == 0)
      site.server.signal(SIGTERM)
      #expect(try site.server.wait() == 0)
      Clock.sleep(for: .milliseconds(3000))
      try site.start()
      #expect(try Wait.until(10) { try Self.version(site) == "2" })
      #expect(try site.poll()["data"]?["resourcemap"]?["https://m.example.com/a.js"]?["size"]?.integer == 6)
    }
  }
}
