#if canImport(WebKit)
  import Foundation
  import WebKit
  import XCacheRuntime

  extension WebPage: WKNavigationDelegate {
    /// Accepts this device's certificate for its own host only; other challenges get the default handling.
    public func webView(
      _ webView: WKWebView, didReceive challenge: URLAuthenticationChallenge,
      completionHandler:
        @escaping @MainActor @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      let space = challenge.protectionSpace
      guard space.authenticationMethod == NSURLAuthenticationMethodServerTrust, let trust = space.serverTrust,
        host.isOwn(trust, of: space.host)
      else { return completionHandler(.performDefaultHandling, nil) }
      completionHandler(.useCredential, URLCredential(trust: trust))
    }

    /// Handles links of a page on the scheme that lead to a URL off the scheme, or off the app's hosts to one that is on
    /// it.
    public func webView(
      _ webView: WKWebView, decidePolicyFor navigationAction: WKNavigationAction,
      decisionHandler: @escaping @MainActor @Sendable (WKNavigationActionPolicy) -> Void
    ) {
      let policy = decide?(navigationAction) ?? .allow
      guard policy == .allow, navigationAction.targetFrame?.isMainFrame == true,
        let address = navigationAction.request.url?.absoluteString
      else { return decisionHandler(policy) }
      let real = CustomScheme.real(address)
      chooseScripts(for: real ?? address)
      let wanted = host.address(of: real ?? address)
      // A URL with the id of a body stays as it is: its page removes the id.
      guard (real == nil) != (CustomScheme.real(wanted) == nil), let url = URL(string: wanted),
        navigationAction.request.httpMethod ?? "GET" == "GET"
      else { return decisionHandler(.allow) }
      decisionHandler(.cancel)
      webView.load(URLRequest(url: url))
    }

    /// Decides as WebKit does without a delegate. What it doesn't show isn't a page to the device.
    public func webView(
      _ webView: WKWebView, decidePolicyFor navigationResponse: WKNavigationResponse,
      decisionHandler: @escaping @MainActor @Sendable (WKNavigationResponsePolicy) -> Void
    ) {
      if navigationResponse.canShowMIMEType { return decisionHandler(.allow) }
      if navigationResponse.isForMainFrame, let url = navigationResponse.response.url {
        host.proxy?.notShown(url.absoluteString)
      }
      decisionHandler(.cancel)
    }

    /// A load started.
    public func webView(_ webView: WKWebView, didStartProvisionalNavigation navigation: WKNavigation!) {
      started = navigation
      onEvent(.started)
    }

    /// The server redirected the load.
    public func webView(
      _ webView: WKWebView, didReceiveServerRedirectForProvisionalNavigation navigation: WKNavigation!
    ) {
      chooseScripts(for: url)
      onEvent(.redirected)
    }

    /// The first bytes arrived; from now on the view shows the page.
    public func webView(_ webView: WKWebView, didCommit navigation: WKNavigation!) {
      // The page has replaced the blank one, also in the view's history.
      blank = .none
      if let proxy = host.proxy {
        let former = shown
        let isPage = url.hasPrefix("http") && !url.hasSuffix(PageProxy.blankPath)
        shown = isPage ? proxy.shown(url) : nil
        if let opening, opening != shown { proxy.left(opening) }
        if opening == nil { openedAt = nil }
        opening = nil
        if let former, former != shown {
          proxy.left(former)
          if let runtime = host.runtime { Task { await runtime.handle(.pageClosed) } }
        }
      }
      onEvent(.committed)
    }

    /// The page is loaded.
    public func webView(_ webView: WKWebView, didFinish navigation: WKNavigation!) {
      onEvent(.finished)
      if isAwaited(navigation) { resume(nil) }
    }

    /// The load failed before any of it was shown.
    public func webView(
      _ webView: WKWebView, didFailProvisionalNavigation navigation: WKNavigation!, withError error: any Error
    ) {
      // 102: a policy decision ended the load. If a link leads to the scheme, another load replaces it; for a file that
      // isn't shown, none does.
      if error._domain == "WebKitErrorDomain", error._code == 102, !isOver(refused: navigation) { return }
      if isAwaited(navigation) { failed(error) }
    }

    /// The load failed after it began to be shown.
    public func webView(
      _ webView: WKWebView, didFail navigation: WKNavigation!, withError error: any Error
    ) {
      if isAwaited(navigation) { failed(error) }
    }

    /// The content process ended, for example because memory was low.
    public func webViewWebContentProcessDidTerminate(_ webView: WKWebView) { terminated() }

    private func failed(_ error: any Error) {
      if let opening { host.proxy?.left(opening) }
      opening = nil
      onEvent(.failed(url: url, reason: error.localizedDescription))
      resume(WebPageError(error.localizedDescription))
    }
  }
#endif
