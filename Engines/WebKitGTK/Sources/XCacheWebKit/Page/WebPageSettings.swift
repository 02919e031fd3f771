/// A script that is injected into pages: WKUserScript.
public struct UserScript: Sendable {
  /// When it runs.
  public enum InjectionTime: Sendable { case documentStart, documentEnd }

  /// The source code.
  public var source: String
  /// When it runs.
  public var injectionTime: InjectionTime
  /// Whether the script is left out of frames.
  public var isForMainFrameOnly: Bool

  /// Creates a script.
  public init(_ source: String, at time: InjectionTime = .documentStart, forMainFrameOnly: Bool = false) {
    self.source = source
    injectionTime = time
    isForMainFrameOnly = forMainFrameOnly
  }
}

/// Handles a message from a page, as JSON; nil for `undefined`. WKScriptMessageHandler.
public typealias MessageHandler = @WebActor @Sendable (String?) -> Void
/// Handles a message from a page and returns the reply, both as JSON; an error that it throws, or a reply that isn't JSON,
/// rejects the page's promise. WKScriptMessageHandlerWithReply.
public typealias ReplyHandler = @WebActor @Sendable (String?) async throws -> String

/// The settings of a page: WKWebViewConfiguration.
public struct WebPageSettings: Sendable {
  /// Whether to leave out the policy's scripts and those set here, for pages that the device doesn't answer.
  public var isPlain = false
  /// Scripts to inject into every document of the view.
  public var scripts: [UserScript] = []
  /// Handlers for `webkit.messageHandlers.NAME.postMessage(…)` in pages of the app's hosts.
  public var messages: [String: MessageHandler] = [:]
  /// The same, with a reply.
  public var replies: [String: ReplyHandler] = [:]
  /// Records what documents of the view do, and answers in place of a user; nil for none.
  public var inspector: PageInspector?
  /// Whether the page's health is reported to the runtime. Turn it off in tools that open pages which may fail; otherwise a
  /// page that failed twice comes from the network.
  public var isWatched = true
  /// The width of the view, in pixels.
  public var width = 412
  /// The height of the view, in pixels.
  public var height = 732
  /// Whether the view is in an invisible window; if false, the app puts `WebPage.widget` into its own.
  public var isHidden = true
  /// Whether the view fills the screen in a window of its own, whatever `isHidden` says; for kiosks and signs.
  public var isFullScreen = false

  /// Creates settings without scripts.
  public init() {}
}
