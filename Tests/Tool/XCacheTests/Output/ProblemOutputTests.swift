import Manifests
import OriginAPI
import System
import Testing

@testable import xcache

/// Problems and finds, as commands print them.
@Suite struct ProblemOutputTests {
  private static let plain = CapturedTerminal().terminal()
  private static let at = Moment(milliseconds: 1_795_159_020_000)

  private static func problem() throws -> FleetOverview.Problem {
    .init("lagging", "warning", try AppName("shop"), .online, detail: "Only 20 % of polls report version 3.")
  }

  @Test func sinceAndWhoKnows() throws {
    var problem = try Self.problem()
    // From an older origin.
    #expect(
      StatusCommand.line(problem, Self.plain) == "LAGGING shop online: Only 20 % of polls report version 3.")
    problem.since = Self.at
    #expect(StatusCommand.line(problem, Self.plain).hasSuffix("version 3. (since 2026-11-20 07:17:00 UTC)"))
    problem.acknowledged = .init(
      by: "ana", at: Self.at, reason: "we\nknow",
      until: Moment(milliseconds: Self.at.milliseconds + 3_600_000))
    let line = StatusCommand.line(problem, Self.plain)
    #expect(line.contains("; acknowledged by ana until 2026-11-20 08:17:00 UTC: we"))
    #expect(!line.contains("\n"))
  }

  @Test func finds() throws {
    var found = SearchAnswer()
    #expect(SearchCommand.lines(found) == ["nothing has that in it"])
    let shop = try AppName("shop")
    found.releases = [
      .init(
        app: shop, channel: .online, version: ManifestVersion(7), at: Self.at, author: "ci",
        message: "fix\nlogin", kind: "publish")
    ]
    found.files = [
      .init(app: shop, channel: .online, version: ManifestVersion(7), url: "https://m.example.com/login.js")
    ]
    found.people = [.init(name: "login-bot", lastAt: Self.at, releases: 1)]
    let lines = SearchCommand.lines(found)
    #expect(lines.count == 4 && lines.allSatisfy { !$0.contains("\n") })
    #expect(lines[1].contains("publish") && lines[1].contains("2026-11-20 07:17:00 UTC"))
    #expect(lines[2].hasSuffix("https://m.example.com/login.js") && lines[3].contains("1 release"))
    found.isCut = true
    #expect(SearchCommand.lines(found).last?.hasPrefix("there is more") == true)
  }
}
