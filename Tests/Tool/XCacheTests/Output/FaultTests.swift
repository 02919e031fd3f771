import BuildCheck
import HTTPClient
import Mirror
import OriginAPI
import OriginClient
import Store
import System
import Testing
import Values
import XCacheDevice

@testable import Publishing
@testable import xcache

/// Each kind of failure: its message, exit code and document.
@Suite struct FaultTests {
  private static func problem(_ status: Int, _ code: String) -> Problem {
    var members = JSONObject()
    members["limit"] = 7
    return Problem(status: status, title: "No", code: code, detail: "why", members: members)
  }

  @Test func jobWithoutATokenIsToldHowToGetOne() {
    var problem = Self.problem(401, "token")
    func message(_ environment: [String: String]) -> String {
      Fault(OriginError.refused(problem)).completed(for: environment).message
    }
    let plain = message([:])
    #expect(plain.hasSuffix("or run `xcache login`"))
    let github = message(["GITHUB_ACTIONS": "true"])
    #expect(github.hasPrefix(plain) && github.contains("`permissions: id-token: write`"), "\(github)")
    #expect(message(["GITLAB_CI": "true"]).contains("`id_tokens: XCACHE_ID_TOKEN: aud:`"))
    // One that had a token needs another one, not this.
    problem.tokenSource = "XCACHE_TOKEN"
    #expect(!message(["GITHUB_ACTIONS": "true"]).contains("id-token: write"))
  }

  private static let unreachable = OriginError.unreachable(
    server: "https://o", .couldNotResolve(host: "o"))

  private static let cases: [(error: any Error, message: String, code: ExitCode, name: String)] = [
    (UsageError("which app?"), "which app?", .usage, "usage"),
    (
      SettingsError(.value(wanted: "a list"), in: "/x/xcache.json", at: ["bundles", "a\u{1B}[2J"]),
      "/x/xcache.json: bundles / a\u{FFFD}[2J should be a list", .usage, "settings"
    ),
    (Failure("it failed"), "it failed", .failed, "failed"),
    (Failure("no", code: .refused), "no", .refused, "refused"),
    (Failure("gone", name: "no-files"), "gone", .failed, "no-files"),
    (unreachable, "https://o can't be reached: no host named o", .failed, "unreachable"),
    (PublishError.origin(unreachable), "https://o can't be reached: no host named o", .failed, "unreachable"),
    (
      OriginError.notAnOrigin(server: "https://o", found: "a page"),
      "https://o doesn't answer like an xcache origin: a page", .failed, "not-an-origin"
    ),
    (OriginError.refused(problem(409, "version")), "why", .refused, "version"),
    (OriginError.refused(problem(404, "unknown-app")), "why", .failed, "unknown-app"),
    (PublishError.noFolder("dist"), "no such folder: dist", .failed, "no-files"),
    (
      PublishError.overBudget(bytes: 2_000, limit: 1_500),
      "devices on the current version would download 2.0 KB, and --max-update allows 1.5 KB: nothing was released",
      .refused, "budget"
    ),
    (
      PublishError.overBudget(bytes: 1_001, limit: 1_000),
      "devices on the current version would download 1.0 KB, and --max-update allows 1.0 KB (1 B less): nothing was "
        + "released", .refused, "budget"
    ),
    (
      PublishError.unreadable("a.js", SystemError("read", on: "a.js", code: .ioError)),
      "a.js can't be read: Input/output error", .failed, "unreadable"
    ),
    (
      SystemError("open", on: "x", code: .permissionDenied), "x: Permission denied (open)", .failed, "failed"
    ),
    (
      MirrorError.unreachable(url: "https://c/", .couldNotResolve(host: "c")),
      MirrorError.unreachable(url: "https://c/", .couldNotResolve(host: "c")).description, .failed,
      "unreachable"
    ),
    (StoreError.noDataFolder(path: "d"), StoreError.noDataFolder(path: "d").description, .failed, "failed"),
  ]

  @Test(arguments: cases.indices) func faults(index: Int) {
    let (error, message, code, name) = Self.cases[index]
    let fault = Fault(error)
    #expect(fault.message == message && fault.exitCode == code && fault.name == name)
  }

  /// A problem document with the members of the origin's.
  @Test func asJSON() {
    #expect(
      String(decoding: Fault(OriginError.refused(Self.problem(409, "version"))).json.canonical, as: UTF8.self)
        == #"{"code":"version","detail":"why","exitCode":3,"limit":7,"status":409,"title":"refused","type":"about:blank"}"#
    )
    #expect(
      String(decoding: Fault(UsageError("a\n\u{1B}b")).json.canonical, as: UTF8.self)
        == #"{"code":"usage","detail":"a\n\u001bb","exitCode":2,"title":"usage","type":"about:blank"}"#)
  }

  @Test func brokenBuilds() throws {
    func message(_ count: Int) -> String {
      var report = CheckReport()
      report.add(
        (0..<count).map { index in
          Finding(rule: .empty, severity: .error, place: "a\(index)", position: nil, problem: .empty)
        })
      return Fault(PublishError.broken(report)).message
    }
    #expect(
      message(1)
        == "the build has 1 error; nothing was released. Correct it, or publish with --no-check RULE:\n"
        + "  a0: error: the file is empty: build again, or exclude it [empty]")
    #expect(
      message(2).hasPrefix(
        "the build has 2 errors; nothing was released. Correct them, or publish with --no-check RULE:\n  a0: "
      ))
    #expect(message(60).hasSuffix("\n  … and 20 more; `xcache check --all` lists them all"))
  }

  /// With --json, a failure is a document of its own, or part of the result's document.
  @Test func commandsInJSON() throws {
    let outcome = CapturedTerminal.run(["status", "--server", "here", "--json"])
    #expect(
      outcome.code == .usage && outcome.error.hasPrefix("xcache: --server should be an http or https URL"))
    let captured = CapturedTerminal()
    captured.terminal().say(json: ["files": 3], Failure("no", code: .refused, name: "check"))
    #expect(
      captured.output
        == #"{"code":"check","detail":"no","exitCode":3,"files":3,"title":"refused","type":"about:blank"}"#
        + "\n")
  }
}
