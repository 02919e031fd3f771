/// Tells the runtime how a page does, from within the page.
enum PageWatch {
  static let name = "xcache"

  /// A moment that a page tells of.
  enum Signal {
    case painted, loaded, failed

    init?(_ json: String) {
      switch json {
      case "\"painted\"": self = .painted
      case "\"loaded\"": self = .loaded
      case "\"failed\"": self = .failed
      default: return nil
      }
    }
  }

  /// Runs in a world of its own, where no page's script can reach the handler, and in the page itself alone, since a frame's
  /// paint says nothing of the page.
  static let script = UserScript(
    """
    (() => {
      const handler = window.webkit && webkit.messageHandlers && webkit.messageHandlers.\(name);
      if (!handler) return;
      const tell = what => { try { handler.postMessage(what) } catch {} };
      new PerformanceObserver(list => {
        for (const entry of list.getEntries()) if (entry.name === 'first-contentful-paint') tell('painted');
      }).observe({type: 'paint', buffered: true});
      addEventListener('error', event => { if (event instanceof ErrorEvent) tell('failed') });
      addEventListener('load', () => tell('loaded'));
    })();
    """, forMainFrameOnly: true)
}
