import System
import Testing
import Values

/// Scheduled freezes.
@Suite("Scheduled freezes") struct PlannedFreezeTests {
  private static func run(_ site: Site, _ words: String...) throws -> Outcome {
    try Outcome(try site.start(words + ["--app", "shop"]))
  }

  private static func publish(_ site: Site, _ text: String, _ more: String...) throws -> Outcome {
    try site.scratch.folder("build", ["a.js": text])
    return try Outcome(
      try site.start(
        [
          "publish", "build", "--app", "shop", "--bundle", "main", "--base-url", "https://m.example.com/",
          "--create",
        ] + more))
  }

  /// A time that many seconds from now, in another time zone.
  private static func time(in seconds: Int64) -> String {
    let moment = Clock.unixMilliseconds() + (seconds + 8 * 3600) * 1000
    return Timestamp.text(moment).dropLast() + "+08:00"
  }

  @Test("A freeze begins and ends by itself, is listed, and can be cancelled") func beginsAndEnds() throws {
    try Site.with { (site: Site) throws in
      #expect(try Self.publish(site, "one").exitCode == 0)
      let (from, to) = (Self.time(in: 3), Self.time(in: 7))
      let planned = try Self.run(site, "channel", "freeze", "--from", from, "--to", to, "-m", "the sale")
      #expect(planned.exitCode == 0 && planned.output.contains("thaw --planned 1 --app shop`"), "\(planned)")
      let holidays = try Self.run(
        site, "channel", "freeze", "--from", Self.time(in: 100_000), "--reason", "holidays")
      #expect(holidays.output.contains("until it is thawed"), "\(holidays)")

      var status = try Self.run(site, "status").output
      #expect(status.contains("the sale; planned") && status.contains("holidays"), "\(status)")
      #expect(try Self.publish(site, "before").exitCode == 0)
      let json = try JSONValue.parse(Array(try Self.run(site, "status", "--json").output.utf8))
      #expect(json["plannedFreezes"]?.array?.count == 2 && json["freeze"]?.isNull == true)

      #expect(
        try Wait.until(10) { try Self.publish(site, "in it \(Clock.unixMilliseconds())").exitCode == 3 })
      let refused = try Self.publish(site, "refused")
      #expect(
        refused.exitCode == 3 && refused.errors.contains(" until ") && refused.errors.contains("the sale"),
        "\(refused)")
      status = try Self.run(site, "status").output
      #expect(status.contains("FROZEN") && !status.contains("the sale; planned"), "\(status)")
      #expect(try Self.run(site, "channel", "list").output.contains("frozen by admin until"))
      #expect(try Self.publish(site, "emergency", "--break-glass", "it burns").exitCode == 0)
      #expect(try Wait.until(10) { try Self.publish(site, "after").exitCode == 0 })

      let back = try Self.run(site, "channel", "thaw", "--planned", "2")
      #expect(back.exitCode == 0 && back.output.contains("took back the freeze"), "\(back)")
      let twice = try Self.run(site, "channel", "thaw", "--planned", "2")
      #expect(twice.exitCode == 1 && twice.errors.contains("no planned freeze 2"), "\(twice)")
      let audit = try site.run("audit", "log", "--limit", "500", "--all").output
      #expect(audit.contains("channel.freeze") && audit.contains("channel.thaw"), "\(audit)")
    }
  }

  @Test("--to without --from freezes from now on, and thaw ends it") func fromNow() throws {
    try Site.with { (site: Site) throws in
      #expect(try Self.publish(site, "one").exitCode == 0)
      #expect(
        try Self.run(site, "channel", "freeze", "--to", Self.time(in: 3600), "-m", "sale").exitCode == 0)
      #expect(try Self.publish(site, "two").exitCode == 3)
      #expect(try Self.run(site, "channel", "thaw").output.contains("accepts releases again"))
      #expect(try Self.publish(site, "two").exitCode == 0)
      #expect(try Self.run(site, "channel", "thaw").output.contains("was not frozen"))
    }
  }
}
