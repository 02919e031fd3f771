import CWebKitGTK
import Foundation
import XCacheRuntime

/// Loads that are waited for.
extension WebPage {
  /// The blank page in a view whose page is still to come.
  enum Blank {
    /// There is none.
    case none
    /// It is shown.
    case waiting
    /// Its web process ended. It is still the first one in the view's history.
    case lost
  }

  /// Whether a blank page waits here for its place to be taken.
  var isBlank: Bool { blank == .waiting }

  /// Loads a page and waits until it is loaded.
  ///
  /// - Throws: `WebKitError` where it can't be, `CancellationError` where another load took its place or the task was cancelled,
  ///   which ends the load.
  public func load(_ url: String) async throws {
    defer { afterLoad.take()?() }
    if blank != .none { return try await loadInPlaceOfBlank(url) }
    await takeScripts(for: url)
    try await loading {
      opens(url)
      webkit_web_view_load_uri(view, url)
    }
  }

  /// Tells the runtime of a page before it is loaded.
  private func opens(_ url: String) {
    openedAt = .now
    if let former = opening { host.proxy?.left(former) }
    opening = url.hasPrefix("http") ? host.proxy?.open(url) : nil
    guard let opening, let runtime = host.runtime else { return }
    let agent = webkit_settings_get_user_agent(webkit_web_view_get_settings(view)).map { String(cString: $0) }
    Task {
      await runtime.prefetch(for: opening, PageContext(userAgent: agent ?? ""))
      await runtime.handle(.pageOpened(opening))
    }
  }

  /// Loads the proxy's own blank page of a site, which is no page to the runtime.
  package func loadBlank(_ url: String) async throws {
    try await loading { webkit_web_view_load_uri(view, url) }
    blank = .waiting
  }

  private func loadInPlaceOfBlank(_ url: String) async throws {
    if blank == .waiting {
      do {
        return try await replaceBlank(by: url)
      } catch let error as WebKitError where error == .processEnded && blank == .lost {
        // It ended while it waited, and nobody knew it yet.
      }
    }
    // In a process of its own again, so that the page takes its place in the history, too.
    try await loading { webkit_web_view_reload(view) }
    blank = .waiting
    try await replaceBlank(by: url)
  }

  /// Loads a page in the place of the blank one, which isn't in the view's history any more then.
  package func replaceBlank(by url: String) async throws {
    let text = try JSONEncoder().encode([url])
    await takeScripts(for: url)
    try await loading {
      opens(url)
      // A process that ended begins no load by a script.
      guard hasDocument else { return resume(WebKitError.processEnded) }
      let script = "location.replace(\(String(decoding: text, as: UTF8.self))[0])"
      webkit_web_view_evaluate_javascript(view, script, -1, nil, nil, nil, nil, nil)
    }
  }

  /// Loads what is shown once more, and waits until it is loaded.
  public func reload() async throws {
    await takeScripts(for: url)
    try await loading { webkit_web_view_reload(view) }
  }

  /// Goes back in the view's history, and waits until that is loaded.
  public func goBack() async throws {
    try await loading { webkit_web_view_go_back(view) }
  }

  /// Goes forward in the view's history, and waits until that is loaded.
  public func goForward() async throws {
    try await loading { webkit_web_view_go_forward(view) }
  }

  /// Waits for a load that `start` begins.
  private func loading(_ start: () -> Void) async throws {
    do {
      try await awaitLoad(start)
    } catch let error as WebKitError where error.isOfNetworkProcess {
      // It ended, and nobody knew it yet; there is another one now.
      try await awaitLoad(start)
    }
  }

  private func awaitLoad(_ start: () -> Void) async throws {
    // What was killed a moment ago is there again for this load.
    host.lookAfterProxy()
    loads += 1
    let number = loads
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        resume(CancellationError())
        (waiting, hasStarted, loadError) = (continuation, false, nil)
        start()
      }
    } onCancel: {
      Task { @WebActor [weak self] in self?.stop(number) }
    }
  }

  /// Ends a load that is waited for: without it, a page that was closed would live until its server answers.
  private func stop(_ number: Int) {
    guard number == loads, waiting != nil else { return }
    resume(CancellationError())
    webkit_web_view_stop_loading(view)
  }
}
