import PreviewProtocol

extension PageReport {
  /// Creates the report of a page that didn't load.
  init(_ job: EngineJob, failure: String) {
    self.init(id: job.id, url: job.url)
    self.failure = failure
  }

  /// What is wrong with the page's own answer; nil if nothing.
  package var problem: String? {
    failure ?? status.flatMap { $0 >= 400 ? "status \($0)" : nil }
  }

  /// Returns the requests that were answered from there.
  package func requests(from source: Source) -> [Request] { requests.filter { $0.source == source } }

  /// The messages of the console that are errors.
  package var consoleErrors: [Message] { console.filter { $0.level == "error" } }
}

extension PageReport.Request {
  /// The kind, for people: `script`; `other` where it isn't known.
  package var kindName: String { kind ?? "other" }
}

extension PageReport.Message {
  /// `https://…/app.js:12:3`; empty if unknown.
  package var place: String {
    guard let url, !url.isEmpty else { return "" }
    return ([url] + [line, column].compactMap { $0 }.map(String.init)).joined(separator: ":")
  }
}
