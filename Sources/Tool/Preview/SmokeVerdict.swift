import Manifests
import PreviewProtocol
import Values

/// What is wrong with a page of a build, judged by the engine's report.
package struct SmokeVerdict: Sendable {
  /// The problems; each makes the page fail.
  package enum Problem: String, CaseIterable, Sendable {
    /// It doesn't load, or not in time.
    case load
    /// A script throws an error that nothing handles.
    case script
    /// A file of the build's own isn't in it.
    case missing
    /// Nothing can be seen on it.
    case blank
  }

  /// Something about the page that its author should know.
  package struct Finding: Hashable, Sendable {
    /// The problem; nil for a note, which isn't a failure.
    package let problem: Problem?
    /// What it is, on one line.
    package let text: String
    /// `https://…/app.js:12:3`; empty if it isn't known.
    package fileprivate(set) var place = ""
    /// The URL of the request, if it is about one.
    var url: String?
  }

  /// The page.
  package let page: PageAddress
  /// What the engine saw.
  package let report: PageReport
  /// What is to be said about it, problems and notes.
  package let findings: [Finding]

  /// The findings that make the page fail.
  package var failures: [Finding] { findings.filter { $0.problem != nil } }
  /// The other findings.
  package var notes: [Finding] { findings.filter { $0.problem == nil } }

  /// The kinds of requests for a build's files; what scripts fetch may just as well be the app's API.
  private static let files: Set<String> = ["document", "script", "style", "image", "font"]

  init(_ page: PageAddress, _ report: PageReport, _ site: SmokeSite, isConfined: Bool = true) {
    self.page = page
    self.report = report
    var findings: [Finding] = []
    if let problem = report.problem {
      findings.append(Finding(problem: .load, text: "didn't load: \(problem.onOneLine)"))
    }
    let requests = Self.findings(report.requests, site, isConfined)
    let unasked = isConfined ? requests.count { $0.problem == nil } : 0
    let hint =
      unasked == 0
      ? ""
      : "; \(Count.text(unasked, "request")) of the page got no answer; --fixtures answers them, --allow-network lets pages use the network"
    for error in report.scriptErrors {
      let text = error.text.onOneLine
      findings.append(
        Finding(
          problem: .script, text: hint.isEmpty ? text : text.withoutStop + hint, place: error.place))
    }
    findings += requests
    if report.isBlank, report.failure == nil {
      findings.append(Finding(problem: .blank, text: "nothing can be seen on the page\(hint)"))
    }
    // The console also reports files that couldn't be loaded, which are already findings.
    let reported = findings.compactMap(\.url)
    for message in report.consoleErrors where !reported.contains(where: message.text.contains) {
      findings.append(Finding(problem: nil, text: "console: \(message.text.onOneLine)", place: message.place))
    }
    self.findings = findings
  }

  /// Returns the findings about requests, each once.
  private static func findings(
    _ requests: [PageReport.Request], _ site: SmokeSite, _ isConfined: Bool
  ) -> [Finding] {
    var seen: Set<String> = []
    return requests.compactMap { request in
      seen.insert("\(request.kindName) \(request.url)").inserted ? finding(request, site, isConfined) : nil
    }
  }

  private static func finding(_ request: PageReport.Request, _ site: SmokeSite, _ isConfined: Bool)
    -> Finding?
  {
    if request.source == .device || request.source == .engine { return nil }
    // The page itself cancelled the request.
    if request.kind == "document", site.isRoute(request.url) { return nil }
    if site.holds(request.url, isPage: request.kind == "document") { return nil }
    if files.contains(request.kindName), site.isBelowBase(request.url) {
      let hint =
        site.holds(request.url, isPage: true)
        ? ", which has it without the query: devices treat these as two files" : ""
      return Finding(
        problem: .missing, text: "\(request.kindName) \(request.url) isn't in the build\(hint)",
        url: request.url)
    }
    if request.source == .network { return nil }
    let outcome =
      isConfined
      ? "not sent: a smoke test contacts no server" : request.status.map { "status \($0)" } ?? "no answer"
    return Finding(problem: nil, text: "\(request.kindName) \(request.url): \(outcome)", url: request.url)
  }
}

/// The files of a build, and the URLs that should be among them.
struct SmokeSite: Sendable {
  private let keys: Set<String>
  private let bases: [BaseURL]
  private let fallbacks: FallbackTable<ResourceURL>

  init(_ urls: [ResourceURL], bases: [BaseURL], fallbacks: FallbackTable<ResourceURL> = FallbackTable()) {
    keys = Set(urls.map(\.matchKey))
    self.bases = bases
    self.fallbacks = fallbacks
  }

  /// Whether a fallback page answers a navigation to a URL.
  func isRoute(_ text: String) -> Bool {
    (try? ResourceURL(String(text.prefix { $0 != "#" }))).map { fallbacks[$0] != nil } ?? false
  }

  /// Whether the build has a URL; if `isPage`, also if it has it without the query, which a page's URL may have.
  func holds(_ text: String, isPage: Bool) -> Bool {
    guard let url = try? ResourceURL(String(text.prefix { $0 != "#" })) else { return false }
    if keys.contains(url.matchKey) { return true }
    guard isPage, url.query != nil, let plain = try? ResourceURL(String(url.withoutQuery)) else {
      return false
    }
    return keys.contains(plain.matchKey)
  }

  func isBelowBase(_ text: String) -> Bool {
    bases.contains { text == $0.text || text.hasPrefix($0.text + "/") || text.hasPrefix($0.text + "?") }
  }
}

extension String {
  /// The text without its final full stop, so that it can be continued.
  fileprivate var withoutStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
