import Preview
import PreviewProtocol
import System
import Values

/// Prints the report on a page for `preview`.
enum PreviewOutput {
  static func say(_ page: PreviewedPage, _ terminal: Terminal, all: Bool) {
    terminal.say(
      terminal.colour(page.address, .bold)
        + "  version \(page.version) of \(page.channel.app) \(page.channel.channel)")
    for line in summary(page) { terminal.say(line) }
    let table = requests(page.report)
    if !table.isEmpty {
      terminal.say("")
      terminal.say(list: table.lines, head: 1, all: all)
    }
    let messages = faults(page.report, terminal)
    if !messages.isEmpty { terminal.say("") }
    terminal.say(list: messages, all: all)
  }

  private static func summary(_ page: PreviewedPage) -> [String] {
    let report = page.report
    var lines: [String] = []
    if let title = report.title, !title.isEmpty { lines.append("title      \(title.onOneLine)") }
    if let final = report.finalURL, final != page.address { lines.append("led to     \(final)") }
    if let fallback = page.listing.fallback {
      lines.append("listed     no, but \(fallback) is its fallback")
    } else if !page.listing.isListed {
      lines.append("listed     no: \(page.listing.hint ?? "the release has no such page")")
    }
    if let policy = page.policy { lines.append("policy     \(policy)") }
    if let problem = report.problem { lines.append("failed     \(problem.onOneLine)") }
    lines.append("paint      \(milliseconds(report.firstContentfulPaint)) to the first content")
    lines.append("load       \(milliseconds(report.load))")
    for (name, source) in [
      ("device", PageReport.Source.device), ("network", .network), ("missing", .missing),
      ("no answer", .failed),
    ] {
      let requests = report.requests(from: source)
      if requests.isEmpty, source != .device { continue }
      let bytes = requests.clampedSum(\.bytes)
      let size = bytes > 0 ? ", \(Bytes.text(bytes))" : ""
      lines.append("\(name.padded(to: 10)) \(Count.text(requests.count, "request"))\(size)")
    }
    if report.isBlank { lines.append("blank      nothing can be seen on the page") }
    if let screenshot = page.screenshot { lines.append("picture    \(screenshot)") }
    lines.append("engine     \(page.engine)")
    return lines
  }

  /// Returns the requests that the device didn't answer.
  private static func requests(_ report: PageReport) -> Table {
    var table = Table(["FROM", "STATUS", "KIND", "SIZE", "MS", "URL"], rightAligned: [1, 3, 4])
    for source in [PageReport.Source.missing, .failed, .network] {
      for request in report.requests(from: source) {
        table.add([
          source == .failed ? "no answer" : source.rawValue, request.status.map(String.init) ?? "—",
          request.kindName,
          request.bytes > 0 ? Bytes.text(request.bytes) : "—", request.ms.map(String.init) ?? "—",
          request.url,
        ])
      }
    }
    return table
  }

  /// Returns script errors, and errors and warnings from the console.
  static func faults(_ report: PageReport, _ terminal: Terminal) -> [String] {
    report.scriptErrors.map { "\(place($0))\(terminal.colour("script error", .red)): \($0.text.onOneLine)" }
      + report.console.filter { ["error", "warning"].contains($0.level) }.map { message in
        let level = message.level ?? ""
        let colour: Terminal.Colour = level == "error" ? .red : .yellow
        return "\(place(message))\(terminal.colour("console \(level)", colour)): \(message.text.onOneLine)"
      }
  }

  private static func place(_ message: PageReport.Message) -> String {
    message.place.isEmpty ? "" : "\(message.place): "
  }

  static func milliseconds(_ value: Double?) -> String { whole(value).map { "\($0) ms" } ?? "—" }

  /// Returns a time in whole milliseconds.
  static func whole(_ value: Double?) -> Int64? { value.map { Int64($0.rounded()) } }

  // MARK: - Two versions

  static func say(compared pages: [PreviewedPage], _ terminal: Terminal, all: Bool) {
    terminal.say(
      terminal.colour(pages[0].address, .bold)
        + "  versions \(pages.map(\.version).joined(separator: " and "))"
        + " of \(pages[0].channel.app) \(pages[0].channel.channel)")
    for line in table(pages).lines { terminal.say(line) }
    for page in pages {
      let missing = page.report.requests(from: .missing).map { "missing \($0.kindName) \($0.url)" }
      let failed = page.report.requests(from: .failed).map { "no answer \($0.kindName) \($0.url)" }
      let lines = missing + failed + faults(page.report, terminal)
      if lines.isEmpty { continue }
      terminal.say("")
      terminal.say("version \(page.version):")
      terminal.say(list: lines.map { "  \($0)" }, all: all)
    }
  }

  private static func table(_ pages: [PreviewedPage]) -> Table {
    var table = Table([""] + pages.map(\.version), rightAligned: Set(1...pages.count))
    func row(_ name: String, _ value: (PageReport) -> String) {
      table.add([name] + pages.map { value($0.report) })
    }
    row("loaded") { $0.problem == nil ? "yes" : "no" }
    row("first content") { milliseconds($0.firstContentfulPaint) }
    row("load") { milliseconds($0.load) }
    for (name, source) in [
      ("device", PageReport.Source.device), ("network", .network), ("missing", .missing),
      ("no answer", .failed),
    ] {
      row("requests, \(name)") { "\($0.requests(from: source).count)" }
    }
    row("bytes, device") { Bytes.text($0.requests(from: .device).clampedSum(\.bytes)) }
    row("bytes, network") { Bytes.text($0.requests(from: .network).clampedSum(\.bytes)) }
    row("script errors") { "\($0.scriptErrors.count)" }
    row("console errors") { "\($0.consoleErrors.count)" }
    row("blank") { $0.isBlank ? "yes" : "no" }
    if pages.contains(where: { $0.screenshot != nil }) {
      table.add(["picture"] + pages.map { $0.screenshot ?? "—" })
    }
    return table
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}
