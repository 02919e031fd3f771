#if canImport(WebKit)
  import Foundation
  import WebKit

  /// Passes messages on to an object without retaining it: a content controller retains its handlers, and its view retains
  /// the controller.
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

  /// The same for messages with a reply. It always replies, since the page's promise would otherwise never settle.
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
