import Foundation
import PreviewProtocol
import XCacheRuntime
import XCacheWebKit

/// A visit to one page, and the report about it.
@WebActor
final class Look {
  private let engine: Engine
  private let job: EngineJob
  private let log = RequestLog()
  private let inspector = PageInspector()
  private let deadline: ContinuousClock.Instant
  private var report: PageReport
  /// The state of a document on its way to the view.
  private enum Navigation { case none, asked, loading }
  private var navigation = Navigation.none
  /// Whether a document of the current load has been committed.
  private var isCommitted = false
  /// Nil while the page loads.
  private var outcome: Result<Void, any Error>?

  /// How long nothing may be requested before a page counts as done.
  private static let quiet: Duration = .milliseconds(500)
  /// How long a loaded page may keep sending requests.
  private static let patience: Duration = .seconds(5)

  nonisolated init(_ engine: Engine, _ job: EngineJob) {
    self.engine = engine
    self.job = job
    let seconds = min(max(job.timeout ?? 30, 0.1), 3_600)
    deadline = .now + .seconds(seconds)
    report = PageReport(id: job.id, url: job.url)
    report.finalURL = job.url
    report.title = ""
  }

  func run() async -> PageReport {
    guard let scheme = URL(string: job.url)?.scheme?.lowercased(), ["http", "https"].contains(scheme) else {
      report.failure = "\(PageInspector.cut(job.url)) is not an http or https address"
      return report
    }
    do {
      // The page retains its host; both are released when this function returns.
      let host = try engine.host(log)
      var settings = WebPageSettings()
      settings.inspector = inspector
      settings.isWatched = false
      settings.width = engine.settings.width ?? 1280
      settings.height = engine.settings.height ?? 800
      let page = try WebPage(host, settings)
      await look(at: page)
      page.terminate()
    } catch {
      report.failure = "\(error)"
    }
    report.requests = log.requests(with: inspector.resources)
    report.console = inspector.messages.map(PageReport.Message.init)
    report.scriptErrors = inspector.scriptErrors.map(PageReport.Message.init)
    return report
  }

  private func look(at page: WebPage) async {
    let url = job.url
    let ended = engine.memory.count
    follow(page)
    let loading = Task { @WebActor in
      do {
        try await page.load(url)
        outcome = .success(())
      } catch let error as WebKitError where error.isCancelled && isCommitted {
        // Stopped by the page's own `stop()`: what had arrived is shown.
        outcome = .success(())
      } catch {
        outcome = .failure(error)
      }
    }
    await wait(until: deadline) { outcome != nil || inspector.termination != nil }
    if case .success = outcome { await settle(page) }
    note(page)
    if inspector.termination == nil { await picture(page) }
    // A page may paint late without requesting anything, for example after a splash screen or a timer.
    let end = min(deadline, .now + Self.patience)
    while report.isBlank, report.failure == nil, inspector.termination == nil, .now < end {
      try? await Task.sleep(for: .milliseconds(250))
      await picture(page)
    }
    if let termination = inspector.termination {
      // If several pages run at the same time, one may be taken for the other.
      report.failure =
        engine.memory.count > ended
        ? "the page took more than \(engine.memory.limit) MB of memory" : report.failure ?? termination
    }
    // Otherwise the load would be waited for forever.
    if outcome == nil { page.terminate() }
    await loading.value
  }

  private func follow(_ page: WebPage) {
    page.onEvent = { [weak self] event in
      guard let self else { return }
      switch event {
      case .started, .redirected: (navigation, isCommitted) = (.asked, false)
      case .committed: (navigation, isCommitted) = (.loading, true)
      case .finished, .failed, .terminated: navigation = .none
      }
    }
    // WebKit doesn't report that a navigation ended as a download.
    inspector.onDownload = { [weak self] in
      if self?.navigation == .asked { self?.navigation = .none }
    }
  }

  /// Waits until nothing has been requested for a while. If the page navigates on, the next page is waited for in the same
  /// way.
  private func settle(_ page: WebPage) async {
    var loaded = ContinuousClock.now - Self.quiet
    await wait(until: deadline) {
      let now = ContinuousClock.now
      if navigation != .none { loaded = now }
      let (loading, last) = log.activity
      let isQuiet =
        now - max(last, inspector.lastRequest) > Self.quiet && loading == 0 && inspector.loading == 0
      return inspector.termination != nil || navigation == .none && (isQuiet || now - loaded > Self.patience)
    }
    // A page that navigates without end may be between two navigations.
    let isGoing = navigation != .none || .now >= deadline && .now - loaded < Self.quiet
    guard isGoing, inspector.termination == nil else { return }
    outcome = nil
    page.stopLoading()
  }

  private func note(_ page: WebPage) {
    if !page.url.isEmpty { report.finalURL = PageInspector.cut(page.url) }
    report.status = page.status.map { Int64($0) }
    switch outcome {
    case .success: break
    case .failure(let error): report.failure = inspector.termination ?? describe(error)
    case nil where inspector.termination == nil:
      report.failure = "the page wasn't loaded within \((job.timeout ?? 30).formatted()) seconds"
    case nil: break
    }
  }

  private func describe(_ error: any Error) -> String {
    let text = PageInspector.cut((error as? WebKitError)?.message ?? "\(error)")
    let why =
      engine.settings.confined ?? false
      ? "; the page is opened without a network"
      : engine.settings.offline ?? false ? "; it is offline" : ""
    return text + why
  }

  private func picture(_ page: WebPage) async {
    // A page that is still running a script may not answer at all.
    let isDone = outcome != nil
    do {
      let measures = try await page.measures(timeout: isDone ? .seconds(5) : .seconds(2))
      report.title = measures.title
      report.firstContentfulPaint = measures.firstContentfulPaint
      report.load = measures.load
      let isPlain = try await page.picture(to: job.screenshot, timeout: isDone ? .seconds(10) : .seconds(2))
      report.hasScreenshot = job.screenshot != nil
      report.isBlank = isPlain && (measures.firstContentfulPaint == nil || !measures.hasContent)
    } catch {
      if isDone, report.failure == nil {
        report.failure = "the page doesn't answer: \((error as? WebKitError)?.message ?? "\(error)")"
      }
    }
  }

  private func wait(until end: ContinuousClock.Instant, _ isDone: () -> Bool) async {
    while !isDone(), ContinuousClock.now < end { try? await Task.sleep(for: .milliseconds(20)) }
  }
}

extension PageReport.Message {
  fileprivate init(_ message: PageInspector.Message) {
    self.init(
      level: message.level, text: message.text, url: message.url, line: message.line.map { Int64($0) },
      column: nil)
  }

  fileprivate init(_ error: PageInspector.ScriptError) {
    self.init(
      level: nil, text: error.text, url: error.url, line: error.line.map { Int64($0) },
      column: error.column.map { Int64($0) })
  }
}
