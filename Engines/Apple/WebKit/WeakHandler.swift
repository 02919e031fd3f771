#if canImport(WebKit)
  import Foundation
  import WebKit

  /// Passes messages on to an object that it doesn't keep: a content controller keeps its handlers, and its view keeps the controller.
  final class WeakHandler<Object: AnyObject>: NSObject, WKScriptMessageHandler {
    private weak var object: Object?
    private let take: @MainActor (Object, WKScriptMessage) -> Void

    init(_ object: Object, _ take: @escaping @MainActor (Object, WKScriptMessage) -> Void) {
      self.object = object
      self.take = take
    }

    func userContentController(
      _ userContentController: WKUserContentController, didReceive message: WKScriptMessage
    ) {
      if let object { take(object, message) }
    }
  }

  /// The same, for messages that are answered. The answer comes in any case: a page's promise would wait for ever.
  final class WeakReplyHandler<Object: AnyObject>: NSObject, WKScriptMessageHandlerWithReply {
    private weak var object: Object?
    private let take: @MainActor (Object, WKScriptMessage) async throws -> Any?

    init(_ object: Object, _ take: @escaping @MainActor (Object, WKScriptMessage) async throws -> Any?) {
      self.object = object
      self.take = take
    }

    func userContentController(
      _ userContentController: WKUserContentController, didReceive message: WKScriptMessage,
      replyHandler: @escaping @MainActor @Sendable (Any?, String?) -> Void
    ) {
      let take = take
      Task { @MainActor [weak object] in
        guard let object else { return replyHandler(nil, "the page is gone") }
        do {
          replyHandler(try await take(object, message), nil)
        } catch {
          replyHandler(nil, "\(error)")
        }
      }
    }
  }
#endif
