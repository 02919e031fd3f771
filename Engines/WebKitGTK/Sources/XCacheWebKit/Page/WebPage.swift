import CWebKitGTK
import Foundation
import XCacheRuntime

/// A view and the page shown in it: WKWebView with its WKUserContentController and WKNavigationDelegate.
@WebActor
public final class WebPage {
  /// An event in the view.
  public enum Event: Sendable, Equatable {
    case started, redirected, committed, finished
    case failed(url: String, WebKitError)
    /// The web process ended; the next load starts a new one.
    case terminated
  }

  let host: WebHost
  let view: UnsafeMutablePointer<WebKitWebView>
  let manager: UnsafeMutablePointer<WebKitUserContentManager>
  let isPlain: Bool
  private let isWatched: Bool
  /// The policy's scripts that the next document gets.
  var injected: [String] = []
  let inspector: PageInspector?
  /// The app's own scripts.
  let scripts: [UserScript]
  /// The script that exposes the app's handlers to pages; nil if there are none.
  let receiver: UserScript?
  private let window: UnsafeMutablePointer<GtkWindow>?
  /// Called for each event.
  public var onEvent: (Event) -> Void = { _ in }
  var waiting: CheckedContinuation<Void, any Error>?
  var loads = 0
  var hasStarted = false
  /// Whether the view already shows what is waited for, if that may be in the current document: then no load starts.
  var isThere: (() -> Bool)?
  private(set) var hasDocument = false
  var loadError: WebKitError?
  /// The URL whose load failed last.
  var failedURL: String?
  /// The page that is on its way, and the page that is shown.
  var opening: OpenPage?
  private(set) var shown: OpenPage?
  /// When the page was opened; nil if it was reached by a link, a reload or the history.
  var openedAt: ContinuousClock.Instant?
  /// Called once, when the load that is waited for is over.
  var afterLoad: (() -> Void)?
  var blank = Blank.none

  /// Creates a view in `host`.
  ///
  /// - Throws: `WebKitError` if a message name can't be registered.
  public init(_ host: WebHost, _ settings: WebPageSettings = WebPageSettings()) throws {
    self.host = host
    manager = webkit_user_content_manager_new()
    view = xcache_web_view(host.context, manager)
    window =
      settings.isFullScreen
      ? xcache_full_screen_window(view)
      : settings.isHidden ? xcache_hidden_window(view, Int32(settings.width), Int32(settings.height)) : nil
    // Works on machines without a display, too.
    if settings.isHidden, !settings.isFullScreen {
      webkit_settings_set_hardware_acceleration_policy(
        webkit_web_view_get_settings(view), WEBKIT_HARDWARE_ACCELERATION_POLICY_NEVER)
    }
    isPlain = settings.isPlain
    isWatched = settings.isWatched
    scripts = settings.isPlain ? [] : settings.scripts
    inspector = settings.inspector
    receiver =
      settings.messages.isEmpty && settings.replies.isEmpty
      ? nil
      : PageBridge.receiver(messages: Array(settings.messages.keys), replies: Array(settings.replies.keys))
    setScripts([])
    connectSignals()
    connectResponses()
    host.opened(self)
    if host.runtime != nil, settings.isWatched { try addWatch() }
    if let inspector {
      try inspector.attach(to: self)
    } else if settings.isHidden, !settings.isFullScreen {
      Unattended.answer(view)
    }
    for (name, handler) in settings.messages { try addBridged(handler, name) }
    for (name, handler) in settings.replies { try add(handler, name) }
  }

  isolated deinit {
    resume(CancellationError())
    for page in [opening, shown].compactMap({ $0 }) { host.proxy?.left(page) }
    ClosingView.close(view, in: window, hasDocument: hasDocument && !isBlank)
    g_object_unref(manager)
  }

  /// The view, to be put into a window of the app's own; this object keeps ownership.
  public var widget: UnsafeMutablePointer<GtkWidget> { xcache_widget(view) }

  /// The URL of what is shown.
  public var url: String { webkit_web_view_get_uri(view).map { String(cString: $0) } ?? "" }

  /// Runs the body of an async function in the page and returns its value as JSON; nil for `undefined`.
  /// WKWebView.callAsyncJavaScript.
  ///
  /// - Throws: the error that the script threw, or `WebKitError` if it didn't end in time.
  public func evaluate(_ body: String, timeout: Duration = .seconds(60)) async throws -> String? {
    let view = view
    return try await awaiting(timeout: timeout) {
      webkit_web_view_call_async_javascript_function(view, body, -1, nil, nil, nil, nil, $0, $1)
    } _: { result, error in
      guard let value = webkit_web_view_call_async_javascript_function_finish(view, result, error) else {
        return nil
      }
      defer { g_object_unref(value) }
      return takeString(jsc_value_to_json(value, 0))
    }
  }

  /// Writes a snapshot of the visible area as a PNG. WKWebView.takeSnapshot.
  ///
  /// - Throws: an error if it can't be drawn or written.
  public func snapshot(to path: String) async throws {
    let view = view
    let isWritten = try await awaiting {
      webkit_web_view_get_snapshot(
        view, WEBKIT_SNAPSHOT_REGION_VISIBLE, WEBKIT_SNAPSHOT_OPTIONS_NONE, nil, $0, $1)
    } _: { result, error -> Bool in
      guard let surface = webkit_web_view_get_snapshot_finish(view, result, error) else { return false }
      defer { cairo_surface_destroy(surface) }
      return cairo_surface_write_to_png(surface, path) == CAIRO_STATUS_SUCCESS
    }
    if !isWritten { throw WebKitError("the picture of the page couldn't be written to \(path)") }
  }

  /// Terminates the web process as the system would; the next load starts a new one.
  public func terminate() { webkit_web_view_terminate_web_process(view) }
}

/// WebKit's signals about loads.
extension WebPage {
  private func connectSignals() {
    let me = Box(Weak(self))
    connect(
      view, "load-changed", me,
      { _, event, data in
        nonisolated(unsafe) let me = Box<Weak<WebPage>>.borrow(data)
        WebActor.assumeIsolated { me?.object?.changed(event) }
      } as @convention(c) (gpointer?, WebKitLoadEvent, gpointer?) -> Void)
    for property in ["is-loading", "uri"] {
      connect(
        view, "notify::" + property, me,
        { _, _, data in
          nonisolated(unsafe) let me = Box<Weak<WebPage>>.borrow(data)
          WebActor.assumeIsolated { me?.object?.stateChanged() }
        } as @convention(c) (gpointer?, gpointer?, gpointer?) -> Void)
    }
    connect(
      view, "load-failed", me,
      { _, _, url, error, data in
        nonisolated(unsafe) let me = Box<Weak<WebPage>>.borrow(data)
        let url = url.map { String(cString: $0) } ?? ""
        let error = error.map { WebKitError(copying: $0) } ?? WebKitError("the load failed")
        WebActor.assumeIsolated { me?.object?.failed(url, error) }
        // Suppresses WebKit's error page, which would load over what comes next.
        return 1
      }
        as @convention(c) (
          gpointer?, WebKitLoadEvent, UnsafePointer<CChar>?, UnsafeMutablePointer<GError>?, gpointer?
        ) -> gboolean)
    connect(
      view, "load-failed-with-tls-errors", me,
      { _, url, certificate, _, data in
        nonisolated(unsafe) let (me, shown) = (Box<Weak<WebPage>>.borrow(data), certificate)
        let url = url.map { String(cString: $0) } ?? ""
        WebActor.assumeIsolated {
          guard let page = me?.object else { return }
          let isOwn = shown.map(page.host.trusts) ?? false
          page.failed(url, isOwn ? .forgotten : WebKitError("the server's certificate isn't trusted"))
        }
        return 1
      }
        as @convention(c) (
          gpointer?, UnsafePointer<CChar>?, UnsafeMutablePointer<GTlsCertificate>?, UInt32, gpointer?
        ) -> gboolean)
    connect(
      view, "web-process-terminated", me,
      { _, _, data in
        nonisolated(unsafe) let me = Box<Weak<WebPage>>.borrow(data)
        WebActor.assumeIsolated { me?.object?.terminated() }
      } as @convention(c) (gpointer?, WebKitWebProcessTerminationReason, gpointer?) -> Void)
  }

  private func changed(_ event: WebKitLoadEvent) {
    switch event {
    case WEBKIT_LOAD_STARTED:
      // The load before this one may just have failed.
      (hasStarted, loadError, failedURL) = (true, nil, nil)
      onEvent(.started)
    case WEBKIT_LOAD_REDIRECTED: onEvent(.redirected)
    case WEBKIT_LOAD_COMMITTED:
      hasDocument = true
      // The page has replaced the blank one, also in the view's history.
      blank = .none
      committed()
      onEvent(.committed)
    default:
      // Also sent after a failure.
      onEvent(.finished)
      if hasStarted { resume(loadError) }
    }
  }

  private func committed() {
    guard let proxy = host.proxy else { return }
    let former = shown
    let isPage = url.hasPrefix("http") && !url.hasSuffix(PageProxy.blankPath)
    shown = isPage ? proxy.shown(url) : nil
    if let opening, opening != shown { proxy.left(opening) }
    if opening == nil { openedAt = nil }
    opening = nil
    guard let former, former != shown else { return }
    proxy.left(former)
    if let runtime = host.runtime { Task { await runtime.handle(.pageClosed) } }
  }

  private func failed(_ url: String, _ error: WebKitError) {
    // A download leaves the view as it is, and an abandoned load isn't wanted, so there is nothing to load again.
    (loadError, failedURL) = (error, error.isNotShown || error.isCancelled ? nil : url)
    if let opening { host.proxy?.left(opening) }
    opening = nil
    onEvent(.failed(url: url, error))
  }

  /// Reloads a page of the app's, since the engine uses the network directly from now on.
  func proxyIsGone() {
    if let failedURL, host.runtime?.isOnAppHost(failedURL) == true {
      webkit_web_view_load_uri(view, failedURL)
    } else if let shown, host.runtime?.isOnAppHost(shown.url) == true {
      webkit_web_view_reload(view)
    }
  }

  private func terminated() {
    hasDocument = false
    if blank == .waiting { blank = .lost }
    onEvent(.terminated)
    // The page on its way, too: as long as it is registered, requests of others might be taken for its own.
    for page in [opening, shown].compactMap({ $0 }) {
      if isWatched { host.runtime?.processEnded(page) }
      host.proxy?.left(page)
    }
    (opening, shown) = (nil, nil)
    resume(WebKitError.processEnded)
  }

  func resume(_ error: (any Error)?) {
    guard let continuation = waiting.take() else { return }
    if let error { continuation.resume(throwing: error) } else { continuation.resume() }
  }
}

/// Messages.
extension WebPage {
  /// Passes the page's signals about itself on to the runtime.
  private func addWatch() throws {
    let me = Weak(self)
    try add({ message in me.object?.handle(message) }, PageWatch.name, world: PageWatch.name)
  }

  private func handle(_ message: String?) {
    guard let shown, let runtime = host.runtime, let message else { return }
    runtime.handleMessage(
      json: message, of: shown,
      after: openedAt.map { Int64((.now - $0) / .milliseconds(1)) })
  }

  /// Whether the page that is shown is on one of the app's own hosts; others can't reach the app.
  fileprivate var isOwn: Bool { host.runtime?.isOnAppHost(url) ?? true }

  private func addBridged(_ handler: @escaping MessageHandler, _ name: String) throws {
    let runtime = host.runtime
    try add(
      { json in
        guard let message = PageBridge.Message(json), message.isOwn(runtime) else { return }
        handler(message.text)
      }, name, world: PageBridge.world)
  }

  private func add(_ handler: @escaping MessageHandler, _ name: String, world: String) throws {
    let box = Box((handler, Weak(self)))
    connect(
      manager, "script-message-received::" + name, box,
      { _, result, data in
        nonisolated(unsafe) let held = Box<(MessageHandler, Weak<WebPage>)>.borrow(data)
        guard let result else { return }
        let json = takeString(jsc_value_to_json(webkit_javascript_result_get_js_value(result), 0))
        WebActor.assumeIsolated {
          guard let (handler, page) = held, page.object?.isOwn == true else { return }
          handler(json)
        }
      } as @convention(c) (gpointer?, OpaquePointer?, gpointer?) -> Void)
    guard webkit_user_content_manager_register_script_message_handler_in_world(manager, name, world) != 0
    else {
      throw WebKitError("\(name): not a valid name for messages, or already taken")
    }
  }

  private func add(_ handler: @escaping ReplyHandler, _ name: String) throws {
    let box = Box((handler, Weak(self)))
    connect(
      manager, "script-message-with-reply-received::" + name, box,
      { _, value, reply, data in
        nonisolated(unsafe) let held = Box<(ReplyHandler, Weak<WebPage>)>.borrow(data)
        guard let value, let reply else { return 0 }
        nonisolated(unsafe) let (message, answer) = (value, reply)
        WebActor.assumeIsolated {
          let sent = PageBridge.Message(takeString(jsc_value_to_json(message, 0)))
          guard let (handler, page) = held, let object = page.object, object.isOwn, let sent,
            sent.isOwn(object.host.runtime)
          else {
            return webkit_script_message_reply_return_error_message(answer, "not for pages of this host")
          }
          WebPage.answer(sent.text, in: message, answer, handler)
        }
        return 1
      } as @convention(c) (gpointer?, UnsafeMutablePointer<JSCValue>?, OpaquePointer?, gpointer?) -> gboolean)
    guard
      webkit_user_content_manager_register_script_message_handler_with_reply(
        manager, name, PageBridge.world) != 0
    else {
      throw WebKitError("\(name): not a valid name for messages, or already taken")
    }
  }

  private static func answer(
    _ json: String?, in message: UnsafeMutablePointer<JSCValue>, _ reply: OpaquePointer,
    _ handler: @escaping ReplyHandler
  ) {
    // The reply is created later, in the context of the message.
    nonisolated(unsafe) let (context, reply) = (jsc_value_get_context(message), reply)
    g_object_ref(context)
    webkit_script_message_reply_ref(reply)
    Task { @WebActor in
      do {
        // Nil, with an exception in the context, if the text isn't JSON.
        if let value = jsc_value_new_from_json(context, try await handler(json)) {
          webkit_script_message_reply_return_value(reply, value)
          g_object_unref(value)
        } else {
          jsc_context_clear_exception(context)
          webkit_script_message_reply_return_error_message(
            reply, "the answer of the app's handler isn't JSON")
        }
      } catch {
        webkit_script_message_reply_return_error_message(reply, "\(error)")
      }
      webkit_script_message_reply_unref(reply)
      g_object_unref(context)
    }
  }
}
