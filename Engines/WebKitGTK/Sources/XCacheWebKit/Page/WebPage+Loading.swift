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

  /// Loads a page and waits until it is loaded. An address that differs from the one that is shown in its `#fragment` alone is gone
  /// to within the document.
  ///
  /// - Throws: `WebKitError` where it can't be, or where the page that is shown went to a `#fragment` meanwhile: WebKit gives up what is on
  ///   its way then. `CancellationError` where another load took its place or the task was cancelled, which ends the load.
  public func load(_ url: String) async throws {
    defer { afterLoad.take()?() }
    let wanted = Self.asWebKitWritesIt(url)
    // WebKit would run it, and never say that it is loaded.
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
      if !isWithin { opens(url) }
      webkit_web_view_load_uri(view, url)
    }
  }

  private static func asWebKitWritesIt(_ url: String) -> String {
    // It takes bytes for characters of Latin 1.
    let ascii = url.utf8.map {
      $0 < 0x80 ? String(UnicodeScalar($0)) : "%" + String($0, radix: 16, uppercase: true)
    }
    guard let request = webkit_uri_request_new(ascii.joined()) else { return url }
    defer { g_object_unref(request) }
    return webkit_uri_request_get_uri(request).map { String(cString: $0) } ?? url
  }

  /// Whether an address leads to a place in the document that another one names.
  private static func isWithin(_ document: String, _ url: String) -> Bool {
    url.contains("#") && url != document && url.prefix { $0 != "#" } == document.prefix { $0 != "#" }
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

  /// Loads what is shown once more, and waits until it is loaded. Where nothing is shown, it loads what couldn't be loaded last; where
  /// nothing was loaded at all, it comes back at once.
  public func reload() async throws {
    guard xcache_shown_uri(view) != nil, blank == .none else {
      if let failedURL { try await load(failedURL) }
      return
    }
    await takeScripts(for: url)
    try await loading { webkit_web_view_reload(view) }
  }

  /// Goes back in the view's history, and waits until that is loaded. Where there is nothing to go back to, it comes back at once.
  public func goBack() async throws {
    try await go(among: webkit_back_forward_list_get_back_list(history)) { webkit_web_view_go_back(view) }
  }

  /// Goes forward in the view's history, and waits until that is loaded. Where there is nothing to go forward to, it comes back at
  /// once.
  public func goForward() async throws {
    try await go(among: webkit_back_forward_list_get_forward_list(history)) {
      webkit_web_view_go_forward(view)
    }
  }

  private var history: UnsafeMutablePointer<WebKitBackForwardList> {
    webkit_web_view_get_back_forward_list(view)
  }

  /// - Parameter list: what `start` goes to one of; WebKit passes over what a page's script added by itself.
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
  /// - Parameter isThere: whether the view shows what is loaded; nil where a load begins in any case.
  private func loading(isThere: (() -> Bool)? = nil, _ start: () -> Void) async throws {
    do {
      try await awaitLoad(isThere, start)
    } catch let error as WebKitError where error.isOfNetworkProcess {
      // It ended, and nobody knew it yet; there is another one now.
      try await awaitLoad(isThere, start)
    }
  }

  private func awaitLoad(_ isThere: (() -> Bool)?, _ start: () -> Void) async throws {
    // What was killed a moment ago is there again for this load.
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

  /// The view has another address, or has something to load or nothing more: that is all that WebKit says where a load ends within
  /// the document. The page's own steps there, and loads of frames, look the same, but don't lead to what is waited for.
  func stateChanged() {
    guard waiting != nil else { return }
    // Later: in the middle of a change not all of it can be seen.
    Task { @WebActor [weak self, loads] in
      guard self?.isIdle(in: loads) == true else { return }
      if let self, !self.hasStarted, self.isThere?() == true { return self.resume(nil) }
      // A step of the page's own may end what was on its way, and nobody says so.
      try await Task.sleep(for: .seconds(5))
      if let self, self.isIdle(in: loads) { self.resume(WebKitError.givenUp) }
    }
  }

  /// Whether a load is waited for, and none is on its way.
  private func isIdle(in number: Int) -> Bool {
    number == loads && waiting != nil && webkit_web_view_is_loading(view) == 0
  }

  /// Ends a load that is waited for: without it, a page that was closed would live until its server answers.
  private func stop(_ number: Int) {
    guard number == loads, waiting != nil else { return }
    resume(CancellationError())
    webkit_web_view_stop_loading(view)
  }
}
