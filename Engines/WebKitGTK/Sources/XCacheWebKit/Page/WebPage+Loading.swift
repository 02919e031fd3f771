import CWebKitGTK
import Foundation
import XCacheRuntime

/// Loads that the caller waits for.
extension WebPage {
  /// The state of the blank page in a warm view.
  enum Blank {
    /// There is none.
    case none
    /// It is shown.
    case waiting
    /// Its web process ended. It is still the first entry in the view's history.
    case lost
  }

  /// Whether a blank page is waiting here to be replaced.
  var isBlank: Bool { blank == .waiting }

  /// Loads a page and waits until it is loaded. If the URL differs from the current one only in its `#fragment`, it
  /// navigates within the document.
  ///
  /// - Throws: `WebKitError` if the page can't be loaded, or if the current page navigated to a `#fragment` meanwhile,
  ///   since WebKit then abandons the load. `CancellationError` if another load replaced it or the task was cancelled,
  ///   which stops the load.
  public func load(_ url: String) async throws {
    defer { afterLoad.take()?() }
    let wanted = Self.asWebKitWritesIt(url)
    // WebKit would run it, and never report it as loaded.
    if wanted.hasPrefix("javascript:") {
      throw WebKitError("\(url.prefix(100)): a script isn't a page; use `evaluate`")
    }
    do {
      try await load(url, wanted)
    } catch let error as WebKitError where !error.isNotShown && !error.isCancelled {
      failedURL = url
      throw error
    }
  }

  private func load(_ url: String, _ wanted: String) async throws {
    if blank != .none { return try await loadInPlaceOfBlank(url) }
    await takeScripts(for: url)
    let isWithin = hasDocument && Self.isWithin(self.url, wanted)
    try await loading(
      isThere: isWithin ? { [weak self] in self?.url == wanted } : nil
    ) {
      // Also if the process of the document has ended.
      if !isWithin || !hasDocument { opens(url) }
      webkit_web_view_load_uri(view, url)
    }
  }

  private static func asWebKitWritesIt(_ url: String) -> String {
    // WebKit takes each byte for a Latin-1 character.
    let ascii = url.utf8.map {
      $0 < 0x80 ? String(UnicodeScalar($0)) : "%" + String($0, radix: 16, uppercase: true)
    }
    guard let request = webkit_uri_request_new(ascii.joined()) else { return url }
    defer { g_object_unref(request) }
    return webkit_uri_request_get_uri(request).map { String(cString: $0) } ?? url
  }

  /// Whether a URL is a fragment of the given document.
  private static func isWithin(_ document: String, _ url: String) -> Bool {
    url.contains("#") && url != document && url.prefix { $0 != "#" } == document.prefix { $0 != "#" }
  }

  /// Tells the runtime about a page before it is loaded.
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

  /// Loads the proxy's own blank page on a site, which isn't a page to the runtime.
  package func loadBlank(_ url: String) async throws {
    try await loading { webkit_web_view_load_uri(view, url) }
    blank = .waiting
  }

  private func loadInPlaceOfBlank(_ url: String) async throws {
    if blank == .waiting {
      do {
        return try await replaceBlank(by: url)
      } catch let error as WebKitError where error == .processEnded && blank == .lost {
        // The process ended unnoticed while it waited.
      }
    }
    // Started again in a new process, so that the page can replace it in the history, too.
    try await loading { webkit_web_view_reload(view) }
    blank = .waiting
    try await replaceBlank(by: url)
  }

  /// Loads a page in place of the blank one, which then is no longer in the view's history.
  package func replaceBlank(by url: String) async throws {
    let text = try JSONEncoder().encode([url])
    await takeScripts(for: url)
    try await loading {
      opens(url)
      // In a process that ended, the script would start no load.
      guard hasDocument else { return resume(WebKitError.processEnded) }
      let script = "location.replace(\(String(decoding: text, as: UTF8.self))[0])"
      webkit_web_view_evaluate_javascript(view, script, -1, nil, nil, nil, nil, nil)
    }
  }

  /// Reloads what is shown, and waits until it is loaded. If nothing is shown, it retries the load that failed last; if
  /// nothing was ever loaded, it returns at once.
  public func reload() async throws {
    guard xcache_shown_uri(view) != nil, blank == .none else {
      if let failedURL { try await load(failedURL) }
      return
    }
    await takeScripts(for: url)
    try await loading { webkit_web_view_reload(view) }
  }

  /// Goes back in the view's history, and waits until that page is loaded. Returns at once if there is nothing to go back
  /// to.
  public func goBack() async throws {
    try await go(among: webkit_back_forward_list_get_back_list(history)) { webkit_web_view_go_back(view) }
  }

  /// Goes forward in the view's history, and waits until that page is loaded. Returns at once if there is nothing to go
  /// forward to.
  public func goForward() async throws {
    try await go(among: webkit_back_forward_list_get_forward_list(history)) {
      webkit_web_view_go_forward(view)
    }
  }

  private var history: UnsafeMutablePointer<WebKitBackForwardList> {
    webkit_web_view_get_back_forward_list(view)
  }

  /// Waits for one of the entries of `list`, since WebKit skips entries that a page's script added by itself.
  private func go(among list: UnsafeMutablePointer<GList>?, _ start: () -> Void) async throws {
    var targets: Set<gpointer> = []
    var next = list
    while let item = next {
      if let target = item.pointee.data { targets.insert(target) }
      next = item.pointee.next
    }
    g_list_free(list)
    if targets.isEmpty { return }
    try await loading(
      isThere: { [weak self] in
        guard let self, let item = webkit_back_forward_list_get_current_item(self.history) else {
          return false
        }
        return targets.contains(gpointer(item))
          && webkit_back_forward_list_item_get_uri(item).map { String(cString: $0) } == self.url
      }, start)
  }

  /// Waits for a load that `start` begins.
  ///
  /// `isThere` returns whether the view already shows the target; nil if a load always starts.
  private func loading(isThere: (() -> Bool)? = nil, _ start: () -> Void) async throws {
    let number = loads + 1
    do {
      try await awaitLoad(isThere, start)
    } catch let error as WebKitError where number == loads && hadEnded(error) {
      // Unless another load replaced it meanwhile.
      try await awaitLoad(isThere, start)
    }
  }

  /// Whether a load failed because its process had ended unnoticed before; a new one is running now, or starts with the
  /// next load.
  private func hadEnded(_ error: WebKitError) -> Bool {
    error.isOfNetworkProcess || error == .processEnded && !hasStarted && blank == .none
  }

  private func awaitLoad(_ isThere: (() -> Bool)?, _ start: () -> Void) async throws {
    // For this load: restarts a proxy that was just killed, and tells a new network process the certificates.
    host.lookAfterProxy()
    loads += 1
    let number = loads
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        resume(CancellationError())
        (waiting, hasStarted, loadError, self.isThere) = (continuation, false, nil, isThere)
        start()
      }
    } onCancel: {
      Task { @WebActor [weak self] in self?.stop(number) }
    }
  }

  /// Handles a change of the view's URL or loading state, which is all that WebKit reports if a load ends within the
  /// document. The page's own navigations there, and loads of frames, look the same, but don't lead to what is waited for.
  func stateChanged() {
    guard waiting != nil else { return }
    // Later, since in the middle of a change its state is incomplete.
    Task { @WebActor [weak self, loads] in
      guard self?.isIdle(in: loads) == true else { return }
      if let self, !self.hasStarted, self.isThere?() == true { return self.resume(nil) }
      // A navigation by the page itself may end the load without any notice.
      try await Task.sleep(for: .seconds(5))
      if let self, self.isIdle(in: loads) { self.resume(WebKitError.givenUp) }
    }
  }

  /// Whether a load is waited for, and none is running.
  private func isIdle(in number: Int) -> Bool {
    number == loads && waiting != nil && webkit_web_view_is_loading(view) == 0
  }

  /// Stops a load that is waited for; otherwise a closed page would live until its server answers.
  private func stop(_ number: Int) {
    guard number == loads, waiting != nil else { return }
    resume(CancellationError())
    webkit_web_view_stop_loading(view)
  }
}
