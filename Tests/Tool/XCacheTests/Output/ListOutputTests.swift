import BuildCheck
import Manifests
@testable import Mirror
import OriginAPI
import Publishing
import Store
import System
import Testing

@testable import xcache

/// Lists: their maximal length, and the wording for one, two and many items.
@Suite struct ListOutputTests {
  private static let plain = CapturedTerminal().terminal()

  private static func report(errors: Int, warnings: Int, files: Int) -> CheckReport {
    var report = CheckReport()
    report.files = files
    report.add(
      (0..<errors + warnings).map { index in
        Finding(
          rule: .empty, severity: index < errors ? .error : .warning, place: "f\(10 + index)", position: nil,
          problem: .empty)
      })
    return report
  }

  @Test(arguments: [
    (0, 0, 0, "0 errors, 0 warnings in 0 files"), (1, 1, 1, "1 error, 1 warning in 1 file"),
    (2, 3, 4, "2 errors, 3 warnings in 4 files"),
  ])
  func summaries(errors: Int, warnings: Int, files: Int, line: String) {
    #expect(CheckOutput.summary(Self.report(errors: errors, warnings: warnings, files: files)) == line)
  }

  @Test func firstWarnings() {
    func lines(_ warnings: Int) -> [String] {
      CheckOutput.warnings(Self.report(errors: 2, warnings: warnings, files: 99), Self.plain)
    }
    #expect(lines(0) == [] && lines(12).count == 12)
    #expect(lines(1) == ["f12: warning: the file is empty: build again, or exclude it [empty]"])
    #expect(
      lines(13).count == 13 && lines(13).last == "… and 1 more warning; `xcache check --all` lists them all")
    #expect(lines(14).last == "… and 2 more warnings; `xcache check --all` lists them all")
  }

  @Test func severityColours() {
    let screen = CapturedTerminal().terminal(usesColour: true)
    let findings = Self.report(errors: 1, warnings: 1, files: 2).findings.map {
      SafeText.escaped(CheckOutput.line($0, screen))
    }
    #expect(findings[0].hasPrefix("f10: \u{1B}[31merror\u{1B}[0m: "))
    #expect(findings[1].hasPrefix("f11: \u{1B}[33mwarning\u{1B}[0m: "))
  }

  @Test func divergencesOfOneKindAreGrouped() {
    func divergences(_ count: Int) -> [Divergence] {
      (0..<count).map { Divergence(path: "f\($0)", kind: .missing) }
        + [Divergence(path: "g", kind: .refused(403), severity: .warning)]
    }
    #expect(DivergenceOutput.lines([], all: false) == [])
    #expect(
      DivergenceOutput.lines(divergences(3), all: false) == [
        "error: f0: it is missing", "error: f1: it is missing", "error: f2: it is missing",
        "warning: g: the host answers 403",
      ])
    #expect(
      DivergenceOutput.lines(divergences(5), all: false) == [
        "error: 5 files: it is missing", "  f0", "  f1", "  f2", "  … and 2 more; --all lists them",
        "warning: g: the host answers 403",
      ])
    #expect(DivergenceOutput.lines(divergences(5), all: true).count == 6)
  }

  private static func damage(_ digests: Int, urls: Int) -> (error: String, failure: Failure?) {
    let damaged = (0..<digests).map { SHA256.of([UInt8($0)]) }
    let places = damaged.prefix(urls).map {
      DamagedURL(
        sha256: $0, app: "shop", channel: "online", bundle: "web", url: "https://m/\($0.hex.prefix(2))")
    }
    let captured = CapturedTerminal()
    let arguments = try? Arguments([String](), options: [], environment: [:])
    if let arguments { DamageOutput.tell(damaged, places, "damaged", arguments, captured.terminal()) }
    return (captured.error, DamageOutput.failure(damaged, "found"))
  }

  @Test func damage() {
    #expect(Self.damage(0, urls: 0).error.isEmpty && Self.damage(0, urls: 0).failure == nil)
    let first = SHA256.of([0]).hex
    let one = Self.damage(1, urls: 1)
    #expect(
      one.error
        == "damaged: 1 file; everything else is intact\npublish again: https://m/\(first.prefix(2)) (shop online, bundle web)\n"
    )
    #expect(one.failure?.message == "1 damaged file found; publish its URLs again with --rehash")
    let two = Self.damage(2, urls: 1)
    #expect(two.error.hasPrefix("damaged: 2 files; everything else is intact\npublish again: "))
    #expect(two.error.hasSuffix("in older versions only: \(SHA256.of([1]).hex)\n"))
    #expect(two.failure?.message == "2 damaged files found; publish their URLs again with --rehash")
  }

  @Test func filesByType() {
    var statistics = FileStatistics()
    #expect(statistics.lines == [])
    for (url, change, bytes) in [
      ("https://m/a.JS?x=a.css", .added, 1_500), ("https://m/b.js#c.d", .changed, 500),
      ("https://m/c.js", .removed, 9_000), ("https://m/", .added, 10), ("https://m/.hidden", .added, 1),
      ("https://m/LICENSE", .removed, 5), ("https://m/a.verylongending", .changed, 2),
      ("https://m/dir.d/", .changed, 3),
    ] as [(String, FileStatistics.Change, Int64)] {
      statistics.add(url, change, bytes)
    }
    #expect(
      statistics.lines == [
        "TYPE   ADDED  CHANGED  REMOVED     NEW    GONE", "js         1        1        1  2.0 KB  9.0 KB",
        "page       1        1        0    13 B     0 B", "other      1        1        1     3 B     5 B",
      ])
    statistics = FileStatistics()
    statistics.add("a.js", .added, .max)
    statistics.add("b.js", .added, .max)
    #expect(statistics.lines.last == "js        2        0        0  9223372.0 TB   0 B")
  }

  /// A list's first forty lines; a single further one is printed, too.
  @Test(
    arguments: [(40, 40, nil), (41, 41, nil), (42, 41, "… and 2 more; --all lists them")]
      as [(Int, Int, String?)])
  func longLists(count: Int, shown: Int, end: String?) {
    let captured = CapturedTerminal()
    captured.terminal().say(list: (0..<count).map { "line \($0)" }, all: false)
    let lines = captured.output.split(separator: "\n")
    #expect(lines.count == shown && lines.last.map(String.init) == end ?? "line \(count - 1)")
    let whole = CapturedTerminal()
    whole.terminal().note(list: (0..<count).map { "line \($0)" }, all: true)
    #expect(whole.error.split(separator: "\n").count == count && whole.output.isEmpty)
  }

  @Test func quietTerminals() throws {
    let captured = CapturedTerminal()
    let arguments = try Arguments(["--quiet", "--no-color"], options: Command.common, environment: [:])
    let terminal = captured.terminal(isInteractive: true, usesColour: true).configured(by: arguments)
    terminal.remark("good to know")
    terminal.progress("half")
    terminal.endProgress()
    #expect(captured.error.isEmpty && terminal.colour("x", .red) == "x")
    terminal.note("an error")
    terminal.ask("sure?")
    #expect(captured.error == "\r\u{1B}[Kan error\nsure?" && captured.output.isEmpty)
  }

  @Test(arguments: [("", "2026-11-20 15:17:27 UTC"), ("x", "—")]) func timestamps(none: String, text: String)
  {
    let moment: Moment? = none.isEmpty ? Moment(milliseconds: 1_795_187_847_999) : nil
    #expect(moment.formatted == text)
  }

  /// The last lines of a document's check.
  @Test func remarks() throws {
    let checked = PolicyCheck(Array(#"{"kil":true}"#.utf8), scripts: [])
    let remarks = Remarks(file: "p.json", remarks: checked.remarks)
    let lines = remarks.lines(Self.plain)
    #expect(lines.count == checked.remarks.count && lines.allSatisfy { $0.hasPrefix("p.json: ") })
    let broken = Remarks(file: "p.json", remarks: PolicyCheck(Array("[".utf8), scripts: []).remarks)
    #expect(broken.errorCount == 1)
    #expect(broken.failure("nothing was changed")?.message == "1 error in p.json; nothing was changed")
    #expect(Remarks(file: "p.json", remarks: []).failure("nothing was changed") == nil)
    let twice = Remarks(file: "p.json", remarks: broken.remarks + broken.remarks)
    #expect(twice.failure("no")?.message == "2 errors in p.json; no" && twice.failure("no")?.code == .refused)
  }
}
