import CWebKitGTK

/// Closes a view that nobody references any more: its document is told that it is being left, as when a tab is closed, and
/// then its web process is terminated.
///
/// WebKitGTK 2.50 would end the process by itself, but leaks a thread and a descriptor for every fifth process that closes
/// its connection that way; none for a terminated one. A process in which a service worker may run is still left to
/// WebKitGTK, since other pages of the site use the worker.
@WebActor
final class ClosingView {
  private static var all: [ObjectIdentifier: ClosingView] = [:]

  private let view: UnsafeMutablePointer<WebKitWebView>
  private let window: UnsafeMutablePointer<GtkWindow>?
  private var isOver = false

  /// Takes over the caller's reference to the view, and its window.
  private init(_ view: UnsafeMutablePointer<WebKitWebView>, _ window: UnsafeMutablePointer<GtkWindow>?) {
    self.view = view
    self.window = window
  }

  /// Closes a view. `hasDocument` says whether a document has to be told.
  static func close(
    _ view: UnsafeMutablePointer<WebKitWebView>, in window: UnsafeMutablePointer<GtkWindow>?,
    hasDocument: Bool
  ) {
    let closing = ClosingView(view, window)
    if !hasDocument { return closing.end() }
    all[ObjectIdentifier(closing)] = closing
    Task { @WebActor in
      if await closing.hasWorker() { closing.end(endsProcess: false) } else { closing.leave() }
    }
  }

  /// Whether the document's site has a service worker; false if the page is too busy to answer.
  private func hasWorker() async -> Bool {
    let view = view
    let script = "return (await navigator.serviceWorker?.getRegistrations() ?? []).length > 0"
    let answer = try? await awaiting(timeout: .seconds(2)) {
      // In a world of its own, where the page can't tamper with the script.
      webkit_web_view_call_async_javascript_function(
        view, script, -1, nil, "xcache-closing", nil, nil, $0, $1)
    } _: { result, error -> Bool in
      guard let value = webkit_web_view_call_async_javascript_function_finish(view, result, error) else {
        return false
      }
      defer { g_object_unref(value) }
      return jsc_value_to_boolean(value) != 0
    }
    return answer ?? false
  }

  /// Loads an empty document in place of the current one, which gets `pagehide` and `unload` and can send its last
  /// requests.
  private func leave() {
    let me = Box(Weak(self))
    connect(
      view, "load-changed", me,
      { _, event, data in
        nonisolated(unsafe) let me = Box<Weak<ClosingView>>.borrow(data)
        if event == WEBKIT_LOAD_COMMITTED {
          WebActor.assumeIsolated { me?.object?.end(in: .milliseconds(250)) }
        }
      } as @convention(c) (gpointer?, WebKitLoadEvent, gpointer?) -> Void)
    webkit_user_content_manager_remove_all_scripts(webkit_web_view_get_user_content_manager(view))
    // Otherwise the document would be cached for going back, and get no `unload`.
    webkit_settings_set_enable_page_cache(webkit_web_view_get_settings(view), 0)
    webkit_web_view_load_uri(view, "about:blank")
    // A page that is busy forever, or a process that is gone, never commits the empty document.
    end(in: .seconds(2))
  }

  /// Ends it after a delay, since what the document sent may still be on its way to the network process.
  private func end(in time: Duration) {
    Task { @WebActor [weak self] in
      try await Task.sleep(for: time)
      self?.end()
    }
  }

  private func end(endsProcess: Bool = true) {
    if isOver { return }
    isOver = true
    if endsProcess { webkit_web_view_terminate_web_process(view) }
    if let window { xcache_close_window(window) }
    g_object_unref(view)
    Self.all[ObjectIdentifier(self)] = nil
  }
}
