import Preview
import PreviewProtocol
import Values

/// Prints the results of a smoke test.
extension SmokeResult {
  /// The failure, or nil if every page is fine.
  var failure: Failure? {
    failures == 0 ? nil : Failure("smoke test: \(summary)", code: .refused, name: "smoke")
  }

  /// A summary such as `2 of 5 pages failed: 3 errors, 1 note, 6.2 s`.
  var summary: String {
    let seconds = "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
    let pages = Count.text(verdicts.count, "page")
    let notes = notes > 0 ? ", \(Count.text(notes, "note"))" : ""
    let leftOut = pagesLeftOut > 0 ? ", \(pagesLeftOut) more not opened (--max-pages)" : ""
    if failures == 0 { return "\(pages) fine\(notes)\(leftOut), \(seconds)" }
    return "\(failedPages) of \(pages) failed: \(Count.text(failures, "error"))\(notes)\(leftOut), \(seconds)"
  }

  var json: JSONValue {
    [
      "engine": .string(engine), "errors": .integer(failures), "failedPages": .integer(failedPages),
      "milliseconds": .integer(milliseconds), "notes": .integer(notes),
      "pages": .array(verdicts.map(\.json)), "pagesLeftOut": .integer(pagesLeftOut),
      "partsLeftOut": .strings(parts),
    ]
  }

  /// Returns the pages that failed, each with its findings.
  func failedLines(_ terminal: Terminal) -> [String] {
    verdicts.filter { !$0.failures.isEmpty }.flatMap { Self.lines($0, terminal) }
  }

  /// Returns the pages that didn't fail.
  func fineLines(_ terminal: Terminal) -> [String] {
    verdicts.filter(\.failures.isEmpty).flatMap { Self.lines($0, terminal) }
  }

  /// How many of a page's notes are printed; `--json` has all of them.
  private static let maxNotes = 8

  private static func lines(_ verdict: SmokeVerdict, _ terminal: Terminal) -> [String] {
    let word =
      verdict.failures.isEmpty ? terminal.colour("fine  ", .green) : terminal.colour("failed", .red)
    let report = verdict.report
    let requests = report.requests.filter { $0.source != .engine }.count
    let line =
      "\(word)  \(verdict.page.text)  \(Count.text(requests, "request")), first content "
      + "\(PreviewOutput.milliseconds(report.firstContentfulPaint)), load \(PreviewOutput.milliseconds(report.load))"
    let more = verdict.notes.count - maxNotes
    return [line]
      + (verdict.failures + verdict.notes.prefix(maxNotes)).map { "  " + Self.line($0, terminal) }
      + (more > 0 ? ["  … and \(Count.text(more, "more note")); --json has them all"] : [])
  }

  private static func line(_ finding: SmokeVerdict.Finding, _ terminal: Terminal) -> String {
    let place = finding.place.isEmpty ? "" : "\(finding.place): "
    guard let problem = finding.problem else { return "\(place)note: \(finding.text)" }
    return "\(place)\(terminal.colour("error", .red)): \(finding.text) [\(problem.rawValue)]"
  }
}
