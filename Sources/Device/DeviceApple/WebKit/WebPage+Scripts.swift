#if canImport(WebKit)
  import Foundation
  import WebKit
  import XCacheRuntime

  /// Scripts and messages.
  extension WebPage {
    private var controller: WKUserContentController { view.configuration.userContentController }
    private static var watchWorld: WKContentWorld { .world(name: PageWatch.name) }

    /// Sets the policy's scripts for the next page; none if the page is left alone. Called again for links and redirects,
    /// which may change that.
    func chooseScripts(for url: String) {
      guard host.runtime != nil, !settings.isPlain else { return }
      setScripts(host.answers(url) ? host.policyScripts : [])
    }

    /// Sets the app's scripts and those of the policy for documents loaded from now on.
    func setScripts(_ policy: [PageScript]) {
      controller.removeAllUserScripts()
      if host.runtime != nil {
        add(UserScript(PageWatch.script, forMainFrameOnly: true), in: Self.watchWorld)
      }
      var rest = policy
      if host.scheme != nil {
        // Before any other script, and in frames too: later scripts call the functions that these replace.
        for source in SchemeScripts.all(hosts: host.hostNames, policy: policy) {
          add(UserScript(source), in: .page)
        }
        rest.removeAll(where: SchemeScripts.replaces)
      }
      if settings.isPlain { return }
      for script in rest { add(UserScript(script.source, forMainFrameOnly: true), in: .page) }
      for script in settings.scripts { add(script, in: .page) }
    }

    private func add(_ script: UserScript, in world: WKContentWorld) {
      controller.addUserScript(
        WKUserScript(
          source: script.source, injectionTime: script.injectionTime,
          forMainFrameOnly: script.isForMainFrameOnly, in: world))
    }

    /// Adds the message handlers, none of which retains this page.
    func addHandlers() {
      if host.runtime != nil {
        let watch = WeakHandler(self) { page, message in page.handle(message) }
        controller.add(watch, contentWorld: Self.watchWorld, name: PageWatch.name)
      }
      if let scheme = host.scheme {
        let bodies = WeakHandler(self) { _, message in
          guard let text = message.body as? String else { return }
          let origin = message.frameInfo.securityOrigin.text
          Task { await scheme.receive(text, from: origin) }
        }
        controller.add(bodies, contentWorld: .page, name: SchemeScripts.messages)
      }
      if settings.isPlain { return }
      for name in settings.messages.keys {
        let weak = WeakHandler(self) { page, message in
          guard page.isOwn(message.frameInfo), let json = WebPage.json(message.body) else { return }
          page.settings.messages[name]?(json)
        }
        controller.add(weak, contentWorld: .page, name: name)
      }
      for name in settings.replies.keys {
        let weak = WeakReplyHandler(self) { page, message in
          guard page.isOwn(message.frameInfo), let handler = page.settings.replies[name] else {
            throw WebPageError("not for documents of this host")
          }
          let answer = try await handler(WebPage.json(message.body) ?? "null")
          return try JSONSerialization.jsonObject(with: Data(Array(answer.utf8)), options: .fragmentsAllowed)
        }
        controller.addScriptMessageHandler(weak, contentWorld: .page, name: name)
      }
    }

    /// Whether a document is on one of the app's own hosts, whatever page it is in; others can't reach the app.
    private func isOwn(_ frame: WKFrameInfo) -> Bool {
      guard let runtime = host.runtime else { return true }
      let origin = frame.securityOrigin.text
      return runtime.isOnAppHost((CustomScheme.real(origin + "/") ?? origin + "/"))
    }

    /// Passes the page's signals about itself on to the runtime.
    private func handle(_ message: WKScriptMessage) {
      guard let shown, let runtime = host.runtime, let text = message.body as? String else { return }
      runtime.handleMessage(text, of: shown, after: openedAt.map { Int64((.now - $0) / .milliseconds(1)) })
    }
  }

  extension WKSecurityOrigin {
    /// `https://m.example.com:8443`.
    var text: String { "\(self.protocol)://\(host)" + (port > 0 ? ":\(port)" : "") }
  }
#endif
