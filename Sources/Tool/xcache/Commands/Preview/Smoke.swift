import BuildCheck
import HTTPClient
import Publishing
import System
import Values
import XCacheDevice

/// Opens the pages of a build before it is published.
struct Smoke {
  var size = PageSize.phone
  var timeout = 30
  var parallel = min(Environment.cores, 4)
  /// How many pages to open at most if none is named.
  var mostPages = 50
  /// Pages to open only if they are named.
  var ignored: [Glob] = []
  /// Whether files that the build lacks are requested from the network.
  var allowsNetwork = false
  /// The folder for screenshots.
  var pictures: String?
  /// What answers the pages' API calls.
  var fixtures: Fixtures?
  /// The folder to which answers from the network are recorded, and the client to request them with.
  var recording: (folder: String, http: HTTPClient)?

  let program: EngineProgram
  let interruption: Interruption
  let terminal: Terminal
  var trace: (@Sendable (String) -> Void)?

  init(_ program: EngineProgram, _ interruption: Interruption, _ terminal: Terminal) {
    self.program = program
    self.interruption = interruption
    self.terminal = terminal
  }

  /// Opens the pages `words`, given as paths below the base URL or as URLs, or all of the build if it is empty. `others` is what
  /// else is live.
  func run(_ bundles: [BundleSource], pages words: [String] = [], others: OtherBundles? = nil) throws
    -> SmokeResult
  {
    let start = Clock.monotonicNanoseconds()
    let drawn = ProgressLine(terminal)
    defer { terminal.endProgress() }
    let build = try LocalBuild(bundles) { drawn.show("hashing", Int64($0), of: Int64($1), .files) }
    let site = SmokeSite(build.files.map(\.url), bases: build.bases)
    let (found, parts) = try words.isEmpty ? self.pages(of: build) : ([], [])
    var pages = try words.isEmpty ? found : words.map { try Self.page($0, build, site) }
    let leftOut = words.isEmpty ? max(0, pages.count - mostPages) : 0
    pages.removeLast(leftOut)
    let folder = try interruption.folder("xcache-smoke")
    let device = "\(folder.path)/device"
    let hosts = try BuildDevice(build: build, others: others, fixtures: fixtures).make(in: device) { done in
      drawn.show("preparing", done.bytes, of: done.bytesTotal, files: done.files, of: done.filesTotal)
    }
    var settings = EngineSettings(
      folder: device, server: BuildDevice.server, app: BuildDevice.app, channel: "online", hosts: hosts)
    settings.isConfined = !allowsNetwork
    settings.size = size
    settings.parallel = min(parallel, pages.count)
    let jobs = pages.enumerated().map { index, page in
      EngineJob(
        id: index + 1, url: page.text, screenshot: pictures == nil ? nil : "\(folder.path)/\(index + 1).png",
        timeout: timeout)
    }
    let all = Int64(pages.count)
    let drawPages = { (done: Int) in
      drawn.show("opening pages", Int64(done), of: all, .files, "\(done) of \(Count.text(all, "page"))")
    }
    drawPages(0)
    let runs = EngineRuns(program: program, settings: settings, interruption: interruption, trace: trace)
    let (reports, engine) = try runs.show(jobs, progress: drawPages)
    try save(jobs)
    try record(reports)
    let others = others.map { others in
      SmokeSite(build.files.map(\.url) + others.items.map(\.url), bases: build.bases)
    }
    return SmokeResult(
      verdicts: zip(pages, reports).map { SmokeVerdict($0, $1, others ?? site, isConfined: !allowsNetwork) },
      pagesLeftOut: leftOut,
      engine: engine, parts: words.isEmpty ? parts : [],
      milliseconds: Int64((Clock.monotonicNanoseconds() - start) / 1_000_000))
  }

  /// Returns the build's documents, those nearest to its top first.
  private func pages(of build: LocalBuild) throws -> (pages: [PageAddress], parts: [String]) {
    let (documents, parts) = try build.pages()
    let pages = documents.filter { page in !ignored.contains { $0.matches(page.file.source.path) } }
      .map { PageAddress($0.url) }
    guard !pages.isEmpty else {
      throw Failure("the build has no page: no file of type text/html that is a document", name: "no-files")
    }
    func rank(_ page: PageAddress) -> (depth: Int, isOther: Int, text: String) {
      let depth = page.url.path.utf8.count { $0 == UInt8(ascii: "/") }
      return (depth, page.url.path.hasSuffix("/index.html") ? 0 : 1, page.text)
    }
    return (pages.sorted { rank($0) < rank($1) }, parts.map(\.url.text))
  }

  private static func page(_ word: String, _ build: LocalBuild, _ site: SmokeSite) throws -> PageAddress {
    if word.contains("://") {
      let page = try PageAddress(word, in: "PAGE")
      guard site.holds(page.url.text, isPage: true) else { throw Self.missing(word) }
      return page
    }
    let path = word.hasPrefix("/") ? String(word.dropFirst()) : word
    for base in build.bases {
      let page = try PageAddress("\(base.text)/\(path)", in: "PAGE")
      if site.holds(page.url.text, isPage: true) { return page }
    }
    throw missing(word)
  }

  private static func missing(_ word: String) -> Failure {
    Failure(
      "\(word) isn't a page of the build; name one by its path in the folder, such as index.html, or by its URL",
      name: "no-files")
  }

  /// Records what the pages fetched from the network.
  private func record(_ reports: [PageReport]) throws {
    guard let recording else { return }
    let (count, others) = try Fixtures.record(reports, in: recording.folder, recording.http)
    terminal.endProgress()
    terminal.remark(
      "recorded \(Count.text(count, "answer")) in \(recording.folder), for --fixtures \(recording.folder); see that nobody's data "
        + "is in them before you commit them")
    for url in others {
      terminal.remark("not recorded, because the server didn't answer it the same again: \(url)")
    }
  }

  /// Saves the screenshots to the requested folder: `1-index.html.png`.
  private func save(_ jobs: [EngineJob]) throws {
    guard let pictures else { return }
    try Kernel.makeFolder(pictures)
    for job in jobs {
      guard let path = job.screenshot, let picture = try Picture(reading: path) else { continue }
      let name =
        job.url.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").last.map(String.init) ?? "page"
      let safe = String(
        name.prefix(80).map { $0.isASCII && ($0.isLetter || $0.isNumber || ".-_".contains($0)) ? $0 : "_" })
      try picture.write(to: "\(pictures)/\(job.id)-\(safe).png")
    }
  }
}

/// The results for the pages of a build.
struct SmokeResult {
  let verdicts: [SmokeVerdict]
  /// How many pages of the build weren't opened because there were too many.
  let pagesLeftOut: Int
  let engine: String
  /// HTML files that weren't opened because they are parts of other pages.
  let parts: [String]
  let milliseconds: Int64

  var failures: Int { verdicts.reduce(0) { $0 + $1.failures.count } }
  var notes: Int { verdicts.reduce(0) { $0 + $1.notes.count } }
  var failedPages: Int { verdicts.count { !$0.failures.isEmpty } }

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
  private static let mostNotes = 8

  private static func lines(_ verdict: SmokeVerdict, _ terminal: Terminal) -> [String] {
    let word =
      verdict.failures.isEmpty ? terminal.colour("fine  ", .green) : terminal.colour("failed", .red)
    let report = verdict.report
    let requests = report.requests.filter { $0.source != .engine }.count
    let line =
      "\(word)  \(verdict.page.text)  \(Count.text(requests, "request")), first content "
      + "\(PreviewOutput.milliseconds(report.firstContentfulPaint)), load \(PreviewOutput.milliseconds(report.load))"
    let more = verdict.notes.count - mostNotes
    return [line]
      + (verdict.failures + verdict.notes.prefix(mostNotes)).map { "  " + Self.line($0, terminal) }
      + (more > 0 ? ["  … and \(Count.text(more, "more note")); --json has them all"] : [])
  }

  private static func line(_ finding: SmokeVerdict.Finding, _ terminal: Terminal) -> String {
    let place = finding.place.isEmpty ? "" : "\(finding.place): "
    guard let problem = finding.problem else { return "\(place)note: \(finding.text)" }
    return "\(place)\(terminal.colour("error", .red)): \(finding.text) [\(problem.rawValue)]"
  }
}
