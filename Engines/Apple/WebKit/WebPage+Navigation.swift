#if canImport(WebKit)
  import Foundation
  import WebKit
  import XCacheRuntime

  extension WebPage: WKNavigationDelegate {
    /// Takes this device's certificate for its own host alone; every other challenge is answered as without us.
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

    /// A link of a page on the scheme may lead to an address that isn't on it, or away from the app's hosts by one that is.
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
      // One with the id of a body stays as it is: its page takes the id out.
      guard (real == nil) != (CustomScheme.real(wanted) == nil), let url = URL(string: wanted),
        navigationAction.request.httpMethod ?? "GET" == "GET"
      else { return decisionHandler(.allow) }
      decisionHandler(.cancel)
      webView.load(URLRequest(url: url))
    }

    /// As WebKit decides without a delegate. What it doesn't show is no page of the device's.
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

    /// A load began.
    public func webView(_ webView: WKWebView, didStartProvisionalNavigation navigation: WKNavigation!) {
      started = navigation
      onEvent(.started)
    }

    /// Its server led on.
    public func webView(
      _ webView: WKWebView, didReceiveServerRedirectForProvisionalNavigation navigation: WKNavigation!
    ) {
      chooseScripts(for: url)
      onEvent(.redirected)
    }

    /// Its first bytes are there; from now on the view shows it.
    public func webView(_ webView: WKWebView, didCommit navigation: WKNavigation!) {
      // The blank one has the page in its place now, in the view's history, too.
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

    /// It is loaded.
    public func webView(_ webView: WKWebView, didFinish navigation: WKNavigation!) {
      onEvent(.finished)
      if isAwaited(navigation) { resume(nil) }
    }

    /// It failed before anything of it was there.
    public func webView(
      _ webView: WKWebView, didFailProvisionalNavigation navigation: WKNavigation!, withError error: any Error
    ) {
      // 102: a decision ended it. Another one takes its place where a link leads to the scheme; a file that isn't shown has none.
      if error._domain == "WebKitErrorDomain", error._code == 102, !isOver(refused: navigation) { return }
      if isAwaited(navigation) { failed(error) }
    }

    /// It failed on the way.
    public func webView(
      _ webView: WKWebView, didFail navigation: WKNavigation!, withError error: any Error
    ) {
      if isAwaited(navigation) { failed(error) }
    }

    /// The content process ended, as where memory is short.
    public func webViewWebContentProcessDidTerminate(_ webView: WKWebView) { terminated() }

    private func failed(_ error: any Error) {
      if let opening { host.proxy?.left(opening) }
      opening = nil
      onEvent(.failed(url: url, reason: error.localizedDescription))
      resume(WebPageError(error.localizedDescription))
    }
  }
#endif
