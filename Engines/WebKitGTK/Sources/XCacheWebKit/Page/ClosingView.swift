import CWebKitGTK

/// A view that nobody references any more: its document hears that it goes, as when a tab is closed, and then its web process is
/// ended.
///
/// WebKitGTK 2.50 would end the process by itself, but keeps a thread and a descriptor for every fifth process that closes its
/// connection in that way; none for one that was ended. A process in which a service worker may run is left to it all the same: other
/// pages of the site use the worker.
@WebActor
final class ClosingView {
  private static var all: [ObjectIdentifier: ClosingView] = [:]

  private let view: UnsafeMutablePointer<WebKitWebView>
  private let window: UnsafeMutablePointer<GtkWindow>?
  private var isOver = false

  /// Takes over the view's reference and its window.
  private init(_ view: UnsafeMutablePointer<WebKitWebView>, _ window: UnsafeMutablePointer<GtkWindow>?) {
    self.view = view
    self.window = window
  }

  /// Lets a view go.
  /// - Parameter hasDocument: whether there is one that listens.
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

  /// Whether the document's site has a service worker; false where the page is too busy to say so.
  private func hasWorker() async -> Bool {
    let view = view
    let script = "return (await navigator.serviceWorker?.getRegistrations() ?? []).length > 0"
    let answer = try? await awaiting(timeout: .seconds(2)) {
      // In a world of its own, where the page can't change what is asked.
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

  /// Has an empty document take the place of the one that is there, which gets `pagehide` and `unload` and may send its last words.
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
    // Else it would be kept for a way back, and get no `unload`.
    webkit_settings_set_enable_page_cache(webkit_web_view_get_settings(view), 0)
    webkit_web_view_load_uri(view, "about:blank")
    // A page that is busy for ever, or a process that is gone, doesn't come to it.
    end(in: .seconds(2))
  }

  /// Ends it after a while: what the document sent may still be on its way to the network process.
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
