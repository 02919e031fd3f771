import CWebKitGTK

/// What WebKit tells of a view, and asks.
extension PageInspector {
  private typealias Held = Box<Weak<PageInspector>>

  func attach(to page: WebPage) throws {
    let (view, me) = (page.view, Held(Weak(self)))
    hear(page.manager, me)
    guard
      webkit_user_content_manager_register_script_message_handler_in_world(
        page.manager, Self.world, Self.world) != 0
    else { throw WebKitError("a view has one inspector") }
    // Whatever waits for a person would wait for ever.
    answerDialogs(of: view, me)
    refuse(view, me)
    noteDownloads(of: page.host.context, me)
    followResources(of: view, me)
    connect(
      view, "web-process-terminated", me,
      { _, reason, data in
        nonisolated(unsafe) let me = Held.borrow(data)
        let text =
          switch reason {
          case WEBKIT_WEB_PROCESS_EXCEEDED_MEMORY_LIMIT: "the page took more memory than a page may"
          case WEBKIT_WEB_PROCESS_TERMINATED_BY_API: "the page's process was ended"
          default: "the page's process crashed"
          }
        WebActor.assumeIsolated { me?.object?.ended(text) }
      } as @convention(c) (gpointer?, WebKitWebProcessTerminationReason, gpointer?) -> Void)
  }

  private func hear(_ manager: UnsafeMutablePointer<WebKitUserContentManager>, _ me: Held) {
    connect(
      manager, "script-message-received::" + Self.world, me,
      { _, result, data in
        nonisolated(unsafe) let me = Held.borrow(data)
        guard let result,
          let text = takeString(jsc_value_to_string(webkit_javascript_result_get_js_value(result)))
        else { return }
        WebActor.assumeIsolated { me?.object?.told(text) }
      } as @convention(c) (gpointer?, OpaquePointer?, gpointer?) -> Void)
  }

  private func answerDialogs(of view: UnsafeMutablePointer<WebKitWebView>, _ me: Held) {
    connect(
      view, "script-dialog", me,
      { _, dialog, data in
        nonisolated(unsafe) let me = Held.borrow(data)
        guard let dialog else { return 0 }
        let text = webkit_script_dialog_get_message(dialog).map { String(cString: $0) } ?? ""
        let kind = webkit_script_dialog_get_dialog_type(dialog)
        // A confirmation is declined, a prompt has no answer; a page that asks whether it may be left is left.
        if kind == WEBKIT_SCRIPT_DIALOG_BEFORE_UNLOAD_CONFIRM || kind == WEBKIT_SCRIPT_DIALOG_CONFIRM {
          webkit_script_dialog_confirm_set_confirmed(
            dialog, kind == WEBKIT_SCRIPT_DIALOG_BEFORE_UNLOAD_CONFIRM ? 1 : 0)
        }
        let name =
          switch kind {
          case WEBKIT_SCRIPT_DIALOG_ALERT: "alert"
          case WEBKIT_SCRIPT_DIALOG_CONFIRM: "confirm"
          case WEBKIT_SCRIPT_DIALOG_PROMPT: "prompt"
          default: "beforeunload"
          }
        WebActor.assumeIsolated { me?.object?.note("dialog", "\(name): \(text)") }
        return 1
      } as @convention(c) (gpointer?, OpaquePointer?, gpointer?) -> gboolean)
  }

  /// What would show a window, or wait for a person.
  private func refuse(_ view: UnsafeMutablePointer<WebKitWebView>, _ me: Held) {
    connect(
      view, "create", me,
      { _, _, data in
        nonisolated(unsafe) let me = Held.borrow(data)
        WebActor.assumeIsolated { me?.object?.note("refused", "a new window") }
        return nil
      } as @convention(c) (gpointer?, gpointer?, gpointer?) -> gpointer?)
    refuse("permission-request", "a permission", of: view) { webkit_permission_request_deny($0) }
    refuse("print", "printing", of: view) { _ in }
    refuse("authenticate", "a user name and password", of: view) {
      xcache_cancel_authentication(UnsafeMutableRawPointer($0))
    }
    refuse("run-file-chooser", "a file", of: view) { xcache_cancel_file_chooser(UnsafeMutableRawPointer($0)) }
    connect(
      view, "decide-policy", me,
      { _, decision, kind, data in
        nonisolated(unsafe) let me = Held.borrow(data)
        guard let decision, let uri = xcache_navigation_uri(decision) else { return 0 }
        let url = String(cString: uri)
        // Other programs' schemes, and the machine's files.
        let isAllowed =
          kind == WEBKIT_POLICY_DECISION_TYPE_NAVIGATION_ACTION
          && ["https:", "http:", "about:", "data:", "blob:"].contains { url.lowercased().hasPrefix($0) }
        if isAllowed { return 0 }
        xcache_ignore(decision)
        WebActor.assumeIsolated { me?.object?.note("refused", "a navigation to \(url)") }
        return 1
      } as @convention(c) (gpointer?, gpointer?, WebKitPolicyDecisionType, gpointer?) -> gboolean)
  }

  /// Answers what a signal asks with no.
  private func refuse(
    _ signal: String, _ what: String, of view: UnsafeMutablePointer<WebKitWebView>,
    by deny: @escaping (OpaquePointer) -> Void
  ) {
    connect(
      view, signal, Box(Refusal(inspector: Weak(self), what: what, deny: deny)),
      { _, request, data in
        nonisolated(unsafe) let held = Box<Refusal>.borrow(data)
        if let request { held?.deny(request) }
        WebActor.assumeIsolated { if let held { held.inspector.object?.note("refused", held.what) } }
        return 1
      } as @convention(c) (gpointer?, OpaquePointer?, gpointer?) -> gboolean)
  }

  /// The host refuses them, since nobody takes them there. To cancel one twice ends the process.
  private func noteDownloads(of context: UnsafeMutablePointer<WebKitWebContext>, _ me: Held) {
    connect(
      context, "download-started", me,
      { _, download, data in
        nonisolated(unsafe) let me = Held.borrow(data)
        guard let download else { return }
        let url = xcache_download_uri(download).map { String(cString: $0) } ?? ""
        WebActor.assumeIsolated {
          me?.object?.note("refused", "a download of \(url)")
          me?.object?.onDownload()
        }
      } as @convention(c) (gpointer?, gpointer?, gpointer?) -> Void)
  }
}

/// How something that waits for a person is refused, and what to call it.
private struct Refusal {
  let inspector: Weak<PageInspector>
  let what: String
  let deny: (OpaquePointer) -> Void
}

/// One resource's number in an inspector.
private final class Numbered {
  let inspector: Weak<PageInspector>
  let index: Int

  init(_ inspector: Weak<PageInspector>, _ index: Int) {
    self.inspector = inspector
    self.index = index
  }
}

extension PageInspector {
  private func followResources(of view: UnsafeMutablePointer<WebKitWebView>, _ me: Held) {
    connect(
      view, "resource-load-started", me,
      { _, resource, request, data in
        nonisolated(unsafe) let me = Held.borrow(data)
        guard let resource, let request else { return }
        nonisolated(unsafe) let (loaded, asked) = (resource, request)
        WebActor.assumeIsolated {
          guard let inspector = me?.object else { return }
          let url = webkit_uri_request_get_uri(asked).map { String(cString: $0) } ?? ""
          let destination = xcache_request_header(asked, "Sec-Fetch-Dest").map { String(cString: $0) }
          guard let index = inspector.began(url, destination: destination) else { return }
          PageInspector.follow(loaded, Box(Numbered(Weak(inspector), index)))
        }
      }
        as @convention(c) (
          gpointer?, UnsafeMutablePointer<WebKitWebResource>?, UnsafeMutablePointer<WebKitURIRequest>?,
          gpointer?
        ) -> Void)
  }

  private static func follow(_ resource: UnsafeMutablePointer<WebKitWebResource>, _ held: Box<Numbered>) {
    let object = UnsafeMutableRawPointer(resource)
    connect(
      object, "finished", held,
      { resource, data in
        nonisolated(unsafe) let (held, resource) = (Box<Numbered>.borrow(data), resource)
        WebActor.assumeIsolated {
          guard let held, let inspector = held.inspector.object, let resource else { return }
          inspector.look(at: resource, held.index)
          inspector.over(held.index, failure: nil)
        }
      } as @convention(c) (UnsafeMutablePointer<WebKitWebResource>?, gpointer?) -> Void)
    connect(
      object, "failed", held,
      { resource, error, data in
        nonisolated(unsafe) let (held, resource) = (Box<Numbered>.borrow(data), resource)
        let text = error.map { WebKitError(copying: $0).message } ?? "it failed"
        WebActor.assumeIsolated {
          guard let held, let inspector = held.inspector.object, let resource else { return }
          inspector.look(at: resource, held.index)
          inspector.over(held.index, failure: text)
        }
      }
        as @convention(c) (
          UnsafeMutablePointer<WebKitWebResource>?, UnsafeMutablePointer<GError>?, gpointer?
        ) -> Void)
    connect(
      object, "failed-with-tls-errors", held,
      { _, _, _, data in
        nonisolated(unsafe) let held = Box<Numbered>.borrow(data)
        WebActor.assumeIsolated {
          guard let held, let inspector = held.inspector.object else { return }
          inspector.failed(held.index, "the server's certificate isn't trusted")
          inspector.over(held.index, failure: nil)
        }
      } as @convention(c) (gpointer?, gpointer?, UInt32, gpointer?) -> Void)
  }

  private func look(at resource: UnsafeMutablePointer<WebKitWebResource>, _ index: Int) {
    if let url = webkit_web_resource_get_uri(resource) { moved(index, to: String(cString: url)) }
    guard let response = webkit_web_resource_get_response(resource) else { return }
    let status = Int(webkit_uri_response_get_status_code(response))
    let type = webkit_uri_response_get_mime_type(response).map { String(cString: $0) }
    answered(
      index, status: status == 0 ? nil : status, type: type,
      bytes: Int64(clamping: webkit_uri_response_get_content_length(response)))
  }
}
