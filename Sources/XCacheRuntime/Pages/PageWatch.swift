/// Tells the runtime how a page does, from within the page: the same in every engine that has script worlds.
public enum PageWatch {
  /// Of the script world, where no page's script can reach the handler, and of the message handler there.
  public static let name = "xcache"

  /// A moment that a page tells of, as the message's text.
  public enum Signal: String, Sendable {
    case painted, loaded, failed
    case hidden, visible
  }

  /// To be run at document start in the page alone, since a frame's paint says nothing of the page.
  public static let script = """
    (() => {
      const handler = window.webkit && webkit.messageHandlers && webkit.messageHandlers.\(name);
      if (!handler) return;
      const tell = what => { try { handler.postMessage(what) } catch {} };
      new PerformanceObserver(list => {
        for (const entry of list.getEntries()) if (entry.name === 'first-contentful-paint') tell('painted');
      }).observe({type: 'paint', buffered: true});
      addEventListener('error', event => { if (event instanceof ErrorEvent) tell('failed') });
      addEventListener('load', () => tell('loaded'));
      const look = () => tell(document.hidden ? 'hidden' : 'visible', performance.now());
      const watch = () => { document.addEventListener('visibilitychange', look); look() };
      watch();
      addEventListener('pageshow', watch);
      // A document that is left is hidden, too, and the next one may be there already.
      addEventListener('pagehide', () => document.removeEventListener('visibilitychange', look));
    })();
    """
}

extension Runtime {
  /// Takes what a page told of itself, `milliseconds` after its opening.
  public func told(_ signal: PageWatch.Signal, of page: OpenPage, after milliseconds: Int64) {
    switch signal {
    case .painted:
      reached(.firstPaint, page, after: milliseconds)
      pageCameUp(page)
    case .loaded: reached(.load, page, after: milliseconds)
    case .failed: scriptFailed(page)
    case .hidden: setHidden(true, page)
    case .visible: setHidden(false, page)
    }
  }
}
