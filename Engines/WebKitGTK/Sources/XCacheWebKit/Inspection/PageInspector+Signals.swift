import CWebKitGTK

/// WebKit's signals about a view.
extension PageInspector {
  private typealias Held = Box<Weak<PageInspector>>

  func attach(to page: WebPage) throws {
    let (view, me) = (page.view, Held(Weak(self)))
    hear(page.manager, me)
    guard
      webkit_user_content_manager_register_script_message_handler_in_world(
        page.manager, Self.world, Self.world) != 0
    else { throw WebKitError("a view has one inspector") }
    let note: Unattended.Note = { [weak self] in self?.note($0, $1) }
    Unattended.answerDialogs(of: view, note)
    refuse(view, me, note)
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

  /// Refuses whatever would open a window or wait for a user.
  private func refuse(
    _ view: UnsafeMutablePointer<WebKitWebView>, _ me: Held, _ note: @escaping Unattended.Note
  ) {
    connect(
      view, "create", me,
      { _, _, data in
        nonisolated(unsafe) let me = Held.borrow(data)
        WebActor.assumeIsolated { me?.object?.note("refused", "a new window") }
        return nil
      } as @convention(c) (gpointer?, gpointer?, gpointer?) -> gpointer?)
    Unattended.refuse("permission-request", "a permission", of: view, note) {
      webkit_permission_request_deny($0)
    }
    Unattended.refuse("print", "printing", of: view, note) { _ in }
    Unattended.refuse("authenticate", "a user name and password", of: view, note) {
      xcache_cancel_authentication(UnsafeMutableRawPointer($0))
    }
    Unattended.refuse("run-file-chooser", "a file", of: view, note) {
      xcache_cancel_file_chooser(UnsafeMutableRawPointer($0))
    }
    connect(
      view, "decide-policy", me,
      { _, decision, kind, data in
        nonisolated(unsafe) let me = Held.borrow(data)
        guard let decision, let uri = xcache_navigation_uri(decision) else { return 0 }
        let url = String(cString: uri)
        // Other schemes may start other programs or read local files.
        let isAllowed =
          kind == WEBKIT_POLICY_DECISION_TYPE_NAVIGATION_ACTION
          && ["https:", "http:", "about:", "data:", "blob:"].contains { url.lowercased().hasPrefix($0) }
        if isAllowed { return 0 }
        xcache_ignore(decision)
        WebActor.assumeIsolated { me?.object?.note("refused", "a navigation to \(url)") }
        return 1
      } as @convention(c) (gpointer?, gpointer?, WebKitPolicyDecisionType, gpointer?) -> gboolean)
  }

  /// Records downloads. The host cancels them, since nobody accepts them; cancelling one twice would terminate the process.
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

/// The number of a resource in an inspector.
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
