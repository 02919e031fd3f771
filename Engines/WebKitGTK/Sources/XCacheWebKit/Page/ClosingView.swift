import CWebKitGTK

/// A view that nobody references any more: its document hears that it goes, as when a tab is closed, and then its web process is
/// ended.
///
/// WebKitGTK 2.50 would end the process by itself, but keeps a thread and a descriptor for every fifth process that closes its
/// connection in that way; none for one that was ended.
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
    if hasDocument { closing.leave() } else { closing.end() }
  }

  /// Has an empty document take the place of the one that is there, which gets `pagehide` and `unload` and may send its last words.
  private func leave() {
    Self.all[ObjectIdentifier(self)] = self
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

  private func end() {
    if isOver { return }
    isOver = true
    webkit_web_view_terminate_web_process(view)
    if let window { xcache_close_window(window) }
    g_object_unref(view)
    Self.all[ObjectIdentifier(self)] = nil
  }
}
