import CWebKitGTK
import XCacheRuntime

/// Scripts that are injected into pages.
extension WebPage {
  func takeScripts(for url: String) async {
    if host.answers(url) { await host.takeScripts() }
    chooseScripts(for: url)
  }

  /// Sets the policy's scripts for the next page; none if the page is left alone. Called again for links, which may change
  /// that.
  func chooseScripts(for url: String) {
    let isOurs = !isPlain && !url.hasSuffix(PageProxy.blankPath) && host.answers(url)
    let policy = isOurs ? host.policyScripts : []
    guard policy.map(\.source) != injected else { return }
    injected = policy.map(\.source)
    setScripts(policy)
  }

  /// Handles the response for the view's own document, wherever links and redirects led; its scripts aren't loaded yet.
  func connectResponses() {
    connect(
      view, "decide-policy", Box(Weak(self)),
      { _, decision, type, data in
        guard type == WEBKIT_POLICY_DECISION_TYPE_RESPONSE,
          let url = xcache_document_url(decision).map({ String(cString: $0) })
        else { return 0 }
        nonisolated(unsafe) let me = Box<Weak<WebPage>>.borrow(data)
        let isShown = xcache_is_shown(decision) != 0
        WebActor.assumeIsolated {
          guard let page = me?.object else { return }
          // If nothing new is shown, the current document stays, with its scripts.
          if isShown { page.chooseScripts(for: url) } else { page.host.proxy?.notShown(url) }
        }
        // Let WebKit decide.
        return 0
      } as @convention(c) (gpointer, gpointer, WebKitPolicyDecisionType, gpointer?) -> gboolean)
  }

  func setScripts(_ policy: [UserScript]) {
    webkit_user_content_manager_remove_all_scripts(manager)
    if host.runtime != nil {
      add(UserScript(PageWatch.script, forMainFrameOnly: true), world: PageWatch.name)
    }
    if inspector != nil {
      add(PageInspector.listener, world: PageInspector.world)
      add(PageInspector.sender)
    }
    if let receiver {
      add(PageBridge.sender, world: PageBridge.world)
      add(receiver)
    }
    for script in policy { add(script, patterns: host.runtime?.scriptPatterns) }
    for script in scripts { add(script) }
  }

  /// Adds a script to `world`, by default the page's own, for documents that match `patterns`, by default all.
  private func add(_ script: UserScript, world: String? = nil, patterns: [String]? = nil) {
    let frames =
      script.isForMainFrameOnly ? WEBKIT_USER_CONTENT_INJECT_TOP_FRAME : WEBKIT_USER_CONTENT_INJECT_ALL_FRAMES
    let time =
      script.injectionTime == .documentStart
      ? WEBKIT_USER_SCRIPT_INJECT_AT_DOCUMENT_START : WEBKIT_USER_SCRIPT_INJECT_AT_DOCUMENT_END
    withCStrings(patterns) { patterns in
      let made =
        world.map { webkit_user_script_new_for_world(script.source, frames, time, $0, patterns, nil) }
        ?? webkit_user_script_new(script.source, frames, time, patterns, nil)
      webkit_user_content_manager_add_script(manager, made)
      webkit_user_script_unref(made)
    }
  }
}
