/// A script that is put into pages: WKUserScript.
public struct UserScript: Sendable {
  /// When it runs.
  public enum InjectionTime: Sendable { case documentStart, documentEnd }

  /// Its text.
  public var source: String
  /// When it runs.
  public var injectionTime: InjectionTime
  /// Whether frames don't get it.
  public var isForMainFrameOnly: Bool

  /// A script for pages.
  public init(_ source: String, at time: InjectionTime = .documentStart, forMainFrameOnly: Bool = false) {
    self.source = source
    injectionTime = time
    isForMainFrameOnly = forMainFrameOnly
  }
}

/// Takes a message of a page's, as JSON; nil for `undefined`. WKScriptMessageHandler.
public typealias MessageHandler = @WebActor @Sendable (String?) -> Void
/// Takes a message of a page's and answers it, both as JSON; what it throws rejects the page's promise, and so does what
/// is no JSON.
/// WKScriptMessageHandlerWithReply.
public typealias ReplyHandler = @WebActor @Sendable (String?) async throws -> String

/// What a page is made with: WKWebViewConfiguration.
public struct WebPageSettings: Sendable {
  /// Whether the policy's scripts, and those here, are left out: for pages that the device doesn't answer.
  public var isPlain = false
  /// Put into every document of the view.
  public var scripts: [UserScript] = []
  /// `webkit.messageHandlers.NAME.postMessage(…)` of pages of the app's hosts.
  public var messages: [String: MessageHandler] = [:]
  /// The same, with an answer.
  public var replies: [String: ReplyHandler] = [:]
  /// Notes what documents of the view do, and answers for the person who isn't there; nil: nobody does.
  public var inspector: PageInspector?
  /// Whether the runtime is told how the page does. A tool that opens pages which may fail doesn't want one that failed twice
  /// to come from the network.
  public var isWatched = true
  /// In pixels.
  public var width = 412
  /// In pixels.
  public var height = 732
  /// Whether the view is in a window that nobody sees; false: the app puts `WebPage.widget` into its own.
  public var isHidden = true
  /// Whether the view has the whole screen, in a window of its own, whatever `isHidden` says: for kiosks and signs.
  public var isFullScreen = false

  /// A page without scripts.
  public init() {}
}
