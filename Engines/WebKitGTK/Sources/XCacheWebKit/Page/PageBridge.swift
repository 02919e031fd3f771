import Foundation
import XCacheRuntime

/// Connects a page's `webkit.messageHandlers` to the app, and keeps documents of other hosts out.
///
/// WebKitGTK exposes a handler to every frame of a view, and doesn't say which one sent a message. So handlers are
/// registered in a script world of the bridge's own, where no page script runs. A script there receives a document's
/// messages as DOM events, which don't leave the document, and adds the origins of the document and of those around it.
enum PageBridge {
  static let world = "xcache-bridge"

  /// A message as the bridge's world sends it.
  struct Message: Decodable {
    /// The document's origin, and those of the documents around it, innermost first; `null` for one without an origin.
    let from: [String]
    /// What the page sent, as JSON; nil for `undefined`.
    let text: String?

    init?(_ json: String?) {
      guard let json, let message = try? JSONDecoder().decode(Self.self, from: Data(json.utf8)) else {
        return nil
      }
      self = message
    }

    /// Whether all these documents are on hosts that the app names.
    func isOwn(_ runtime: Runtime?) -> Bool {
      guard let runtime else { return true }
      return !from.isEmpty && from.allSatisfy { runtime.isOnAppHost($0 + "/") }
    }
  }

  /// Runs in the bridge's world, where a page can't change the functions it uses.
  static let sender = UserScript(
    """
    (() => {
      const handlers = window.webkit && webkit.messageHandlers;
      if (!handlers) return;
      const from = [self.origin, ...location.ancestorOrigins];
      addEventListener('xcache-message', async event => {
        let id, answer;
        try {
          const [number, name, text] = JSON.parse(event.detail);
          id = number;
          answer = [id, true, JSON.stringify(await handlers[name].postMessage({from, text}))];
        } catch (error) {
          answer = [id, false, String(error && error.message || error)];
        }
        dispatchEvent(new CustomEvent('xcache-answer', {detail: JSON.stringify(answer)}));
      });
    })();
    """)

  /// Returns the script that runs in the page's own world, before the page's scripts, and provides what WebKit would.
  static func receiver(messages: [String], replies: [String]) -> UserScript {
    let names = [messages.sorted(), replies.sorted()].map { names in
      (try? JSONEncoder().encode(names)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
    }
    return UserScript(
      """
      (() => {
        const waiting = new Map(), messageHandlers = {};
        let last = 0;
        const send = (name, value) =>
          dispatchEvent(new CustomEvent('xcache-message', {detail: JSON.stringify([++last, name, JSON.stringify(value)])}));
        const ask = (name, value) => new Promise((done, fail) => {
          waiting.set(last + 1, {done, fail});
          send(name, value);
        });
        addEventListener('xcache-answer', event => {
          const [id, isDone, value] = JSON.parse(event.detail);
          const asked = waiting.get(id);
          if (!asked) return;
          waiting.delete(id);
          isDone ? asked.done(value === null ? undefined : JSON.parse(value)) : asked.fail(new Error(value));
        });
        for (const name of \(names[0])) messageHandlers[name] = {postMessage: value => { send(name, value) }};
        for (const name of \(names[1])) messageHandlers[name] = {postMessage: value => ask(name, value)};
        Object.defineProperty(window, 'webkit', {value: {messageHandlers}, configurable: true, writable: true});
      })();
      """)
  }
}
