#if canImport(WebKit)
  import WebKit

  /// A script that is put into every document of a view.
  public struct UserScript: Sendable {
    /// Its text.
    public var source: String
    /// When it runs.
    public var injectionTime: WKUserScriptInjectionTime
    /// Whether frames don't get it.
    public var isForMainFrameOnly: Bool

    /// A script for pages.
    public init(
      _ source: String, at time: WKUserScriptInjectionTime = .atDocumentStart, forMainFrameOnly: Bool = false
    ) {
      self.source = source
      injectionTime = time
      isForMainFrameOnly = forMainFrameOnly
    }
  }

  /// Takes a message of a page's, as JSON.
  public typealias MessageHandler = @MainActor @Sendable (String) -> Void
  /// Takes a message of a page's and answers it, both as JSON; what it throws rejects the page's promise.
  public typealias ReplyHandler = @MainActor @Sendable (String) async throws -> String

  /// What a page is made with.
  public struct WebPageSettings: Sendable {
    /// Whether the policy's scripts, and those here, are left out: for pages that the device doesn't answer.
    public var isPlain = false
    /// Put into every document of the view.
    public var scripts: [UserScript] = []
    /// `webkit.messageHandlers.NAME.postMessage(…)` of documents of the app's hosts.
    public var messages: [String: MessageHandler] = [:]
    /// The same, with an answer.
    public var replies: [String: ReplyHandler] = [:]
    /// Appended to the user agent.
    public var applicationName: String?
    /// Whether a page whose content process the system ended is loaded again: three times in a minute at most.
    public var reloadsAfterTermination = true

    /// A page without scripts.
    public init() {}
  }
#endif
