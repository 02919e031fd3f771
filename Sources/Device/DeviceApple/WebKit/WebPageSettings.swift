#if canImport(WebKit)
  import WebKit

  /// A script that is injected into every document of a view.
  public struct UserScript: Sendable {
    /// The source code.
    public var source: String
    /// When it runs.
    public var injectionTime: WKUserScriptInjectionTime
    /// Whether the script is left out of frames.
    public var isForMainFrameOnly: Bool

    /// Creates a script.
    public init(
      _ source: String, at time: WKUserScriptInjectionTime = .atDocumentStart, forMainFrameOnly: Bool = false
    ) {
      self.source = source
      injectionTime = time
      isForMainFrameOnly = forMainFrameOnly
    }
  }

  /// Handles a message from a page, as JSON.
  public typealias MessageHandler = @MainActor @Sendable (String) -> Void
  /// Handles a message from a page and returns the reply, both as JSON; an error that it throws rejects the page's promise.
  public typealias ReplyHandler = @MainActor @Sendable (String) async throws -> String

  /// The settings of a page.
  public struct WebPageSettings: Sendable {
    /// Whether to leave out the policy's scripts and those set here, for pages that the device doesn't answer.
    public var isPlain = false
    /// Scripts to inject into every document of the view.
    public var scripts: [UserScript] = []
    /// Handlers for `webkit.messageHandlers.NAME.postMessage(…)` in documents of the app's hosts.
    public var messages: [String: MessageHandler] = [:]
    /// The same, with a reply.
    public var replies: [String: ReplyHandler] = [:]
    /// A name to append to the user agent.
    public var applicationName: String?
    /// Whether to reload a page whose content process the system terminated, at most three times a minute.
    public var reloadsAfterTermination = true

    /// Creates settings without scripts.
    public init() {}
  }
#endif
