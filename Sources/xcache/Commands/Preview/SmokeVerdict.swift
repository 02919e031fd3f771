import Manifests

/// What is wrong with a page of a build, by what the engine saw of it.
struct SmokeVerdict: Sendable {
  /// Each fails the test of its page.
  enum Problem: String, CaseIterable, Sendable {
    case load, script, missing, blank
  }

  struct Finding: Hashable, Sendable {
    /// Nil: worth a look, and no failure.
    let problem: Problem?
    let text: String
    /// `https://…/app.js:12:3`, where one is known.
    var place = ""
    /// Of a request.
    var url: String?
  }

  let page: PageAddress
  let report: PageReport
  let findings: [Finding]

  var failures: [Finding] { findings.filter { $0.problem != nil } }
  var notes: [Finding] { findings.filter { $0.problem == nil } }

  /// Kinds of requests that are files of a build; what scripts fetch may as well be the app's own API.
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
      : "; \(Count.text(unasked, "request")) of the page got no answer; --allow-network lets pages use the network"
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
    // An engine tells of a file that it didn't get once more.
    let told = findings.compactMap(\.url)
    for message in report.consoleErrors where !told.contains(where: message.text.contains) {
      findings.append(Finding(problem: nil, text: "console: \(message.text.onOneLine)", place: message.place))
    }
    self.findings = findings
  }

  /// What requests say, each once.
  private static func findings(
    _ requests: [PageReport.Request], _ site: SmokeSite, _ isConfined: Bool
  ) -> [Finding] {
    var seen: Set<String> = []
    return requests.compactMap { request in
      seen.insert("\(request.kind) \(request.url)").inserted ? finding(request, site, isConfined) : nil
    }
  }

  private static func finding(_ request: PageReport.Request, _ site: SmokeSite, _ isConfined: Bool)
    -> Finding?
  {
    if request.source == .device || request.source == .engine { return nil }
    // What the page broke off itself.
    if site.holds(request.url, isPage: request.kind == "document") { return nil }
    if files.contains(request.kind), site.isBelowBase(request.url) {
      let hint =
        site.holds(request.url, isPage: true)
        ? ", which has it without the query: devices treat these as two files" : ""
      return Finding(
        problem: .missing, text: "\(request.kind) \(request.url) isn't in the build\(hint)", url: request.url)
    }
    if request.source == .network { return nil }
    let outcome =
      isConfined
      ? "not sent: a smoke test contacts no server" : request.status.map { "status \($0)" } ?? "no answer"
    return Finding(problem: nil, text: "\(request.kind) \(request.url): \(outcome)", url: request.url)
  }

  var json: JSONValue {
    var members = report.json
    members["url"] = .string(page.text)
    members["isFine"] = .bool(failures.isEmpty)
    members["findings"] = .array(
      findings.map { finding in
        [
          "place": finding.place.isEmpty ? .null : .string(finding.place),
          "problem": finding.problem.map { .string($0.rawValue) } ?? .null, "text": .string(finding.text),
        ]
      })
    return .object(members)
  }
}

/// What a build holds, and which URLs should be its own.
struct SmokeSite: Sendable {
  private let keys: Set<String>
  private let bases: [BaseURL]

  init(_ urls: [ResourceURL], bases: [BaseURL]) {
    keys = Set(urls.map(\.matchKey))
    self.bases = bases
  }

  /// - Parameter isPage: whether it is there without its query, too, which a page's address may have.
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
  /// Without the full stop at its end, so that something can follow.
  fileprivate var withoutStop: String { hasSuffix(".") ? String(dropLast()) : self }
}
