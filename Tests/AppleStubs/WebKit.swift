// swift-format-ignore-file
// A stand-in for Apple's WebKit: what `Sources/Device/DeviceApple` uses, from the SDK of Xcode 16 and Apple's documentation. As in Foundation's
// stand-in, protocols require what we implement of them.

@_exported import Foundation
import Network

@MainActor open class WKPreferences: NSObject {}

@MainActor open class WKWebsiteDataStore: NSObject {
  open class func `default`() -> WKWebsiteDataStore { fatalError() }
  open class func nonPersistent() -> WKWebsiteDataStore { fatalError() }
  open var httpCookieStore: WKHTTPCookieStore { fatalError() }
  @available(macOS 14.0, iOS 17.0, *)
  public var proxyConfigurations: [ProxyConfiguration] { get { [] } set {} }
}

@MainActor open class WKHTTPCookieStore: NSObject {
  open func allCookies() async -> [HTTPCookie] { [] }
  open func setCookie(_ cookie: HTTPCookie) async {}
  open func deleteCookie(_ cookie: HTTPCookie) async {}
}

public enum WKUserScriptInjectionTime: Int, Sendable { case atDocumentStart = 0, atDocumentEnd = 1 }

@MainActor open class WKUserScript: NSObject {
  public init(
    source: String, injectionTime: WKUserScriptInjectionTime, forMainFrameOnly: Bool, in contentWorld: WKContentWorld
  ) {}
}

@MainActor open class WKContentWorld: NSObject {
  open class var page: WKContentWorld { fatalError() }
  open class var defaultClient: WKContentWorld { fatalError() }
  open class func world(name: String) -> WKContentWorld { fatalError() }
}

@MainActor open class WKSecurityOrigin: NSObject {
  open var `protocol`: String { "" }
  open var host: String { "" }
  open var port: Int { 0 }
}

@MainActor open class WKFrameInfo: NSObject {
  open var isMainFrame: Bool { true }
  open var request: URLRequest { fatalError() }
  open var securityOrigin: WKSecurityOrigin { fatalError() }
  weak open var webView: WKWebView? { nil }
}

@MainActor open class WKScriptMessage: NSObject {
  open var body: Any { "" }
  weak open var webView: WKWebView? { nil }
  open var frameInfo: WKFrameInfo { fatalError() }
  open var name: String { "" }
  open var world: WKContentWorld { fatalError() }
}

@MainActor public protocol WKScriptMessageHandler: NSObjectProtocol {
  func userContentController(_ userContentController: WKUserContentController, didReceive message: WKScriptMessage)
}

@MainActor public protocol WKScriptMessageHandlerWithReply: NSObjectProtocol {
  func userContentController(
    _ userContentController: WKUserContentController, didReceive message: WKScriptMessage,
    replyHandler: @escaping @MainActor @Sendable (Any?, String?) -> Void)
}

@MainActor open class WKUserContentController: NSObject {
  open func addUserScript(_ userScript: WKUserScript) {}
  open func removeAllUserScripts() {}
  // Both keep their handler.
  open func add(_ scriptMessageHandler: any WKScriptMessageHandler, contentWorld world: WKContentWorld, name: String) {}
  open func addScriptMessageHandler(
    _ scriptMessageHandlerWithReply: any WKScriptMessageHandlerWithReply, contentWorld: WKContentWorld, name: String
  ) {}
}

@MainActor public protocol WKURLSchemeTask: NSObjectProtocol {
  var request: URLRequest { get }
  func didReceive(_ response: URLResponse)
  func didReceive(_ data: Data)
  func didFinish()
  func didFailWithError(_ error: any Error)
}

@MainActor public protocol WKURLSchemeHandler: NSObjectProtocol {
  func webView(_ webView: WKWebView, start urlSchemeTask: any WKURLSchemeTask)
  func webView(_ webView: WKWebView, stop urlSchemeTask: any WKURLSchemeTask)
}

@MainActor open class WKWebViewConfiguration: NSObject {
  open var websiteDataStore: WKWebsiteDataStore { get { fatalError() } set {} }
  open var userContentController: WKUserContentController { get { fatalError() } set {} }
  open var applicationNameForUserAgent: String?
  open func setURLSchemeHandler(_ urlSchemeHandler: (any WKURLSchemeHandler)?, forURLScheme urlScheme: String) {}
}

@MainActor open class WKNavigation: NSObject {}

public enum WKNavigationActionPolicy: Int, Sendable { case cancel = 0, allow = 1, download = 2 }

@MainActor open class WKNavigationAction: NSObject {
  open var request: URLRequest { fatalError() }
  open var targetFrame: WKFrameInfo? { nil }
}

public enum WKNavigationResponsePolicy: Int, Sendable { case cancel = 0, allow = 1, download = 2 }

@MainActor open class WKNavigationResponse: NSObject {
  open var isForMainFrame: Bool { true }
  open var response: URLResponse { fatalError() }
  open var canShowMIMEType: Bool { true }
}

@MainActor public protocol WKNavigationDelegate: NSObjectProtocol {
  func webView(
    _ webView: WKWebView, decidePolicyFor navigationResponse: WKNavigationResponse,
    decisionHandler: @escaping @MainActor @Sendable (WKNavigationResponsePolicy) -> Void)
  func webView(
    _ webView: WKWebView, decidePolicyFor navigationAction: WKNavigationAction,
    decisionHandler: @escaping @MainActor @Sendable (WKNavigationActionPolicy) -> Void)
  func webView(_ webView: WKWebView, didStartProvisionalNavigation navigation: WKNavigation!)
  func webView(_ webView: WKWebView, didReceiveServerRedirectForProvisionalNavigation navigation: WKNavigation!)
  func webView(_ webView: WKWebView, didFailProvisionalNavigation navigation: WKNavigation!, withError error: any Error)
  func webView(_ webView: WKWebView, didCommit navigation: WKNavigation!)
  func webView(_ webView: WKWebView, didFinish navigation: WKNavigation!)
  func webView(_ webView: WKWebView, didFail navigation: WKNavigation!, withError error: any Error)
  func webView(
    _ webView: WKWebView, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @MainActor @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)
  func webViewWebContentProcessDidTerminate(_ webView: WKWebView)
}

@MainActor open class WKBackForwardListItem: NSObject {
  open var url: URL { fatalError() }
}

@MainActor open class WKBackForwardList: NSObject {
  open var currentItem: WKBackForwardListItem? { nil }
  open var backList: [WKBackForwardListItem] { [] }
}

// What WKWebView is a view of, which is UIView or NSView.
@MainActor open class WKWebView: WKPlatformView {
  public init(frame: CGRect, configuration: WKWebViewConfiguration) {}
  open var configuration: WKWebViewConfiguration { fatalError() }
  weak open var navigationDelegate: (any WKNavigationDelegate)?
  open var url: URL? { nil }
  open var isLoading: Bool { false }
  open var backForwardList: WKBackForwardList { fatalError() }
  open var customUserAgent: String?
  open var isInspectable: Bool { get { false } set {} }
  @discardableResult open func load(_ request: URLRequest) -> WKNavigation? { nil }
  @discardableResult open func reload() -> WKNavigation? { nil }
  @discardableResult open func goBack() -> WKNavigation? { nil }
  open func stopLoading() {}
  public func callAsyncJavaScript(
    _ functionBody: String, arguments: [String: Any] = [:], in frame: WKFrameInfo? = nil, contentWorld: WKContentWorld
  ) async throws -> Any? { nil }
}
