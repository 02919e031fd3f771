/// Reports to the runtime how a page is doing, from inside the page; the same in every engine that has script worlds.
public enum PageWatch {
  /// The name of the script world, in which no page script can reach the handler, and of the message handler in it.
  public static let name = "xcache"

  /// A signal that a page sends.
  enum Signal: String {
    case painted, loaded, failed
    case hidden, visible
  }

  /// Run this at document start in the main frame only, since a frame's paint says nothing about the page.
  public static let script = """
    (() => {
      const handler = window.webkit && webkit.messageHandlers && webkit.messageHandlers.\(name);
      if (!handler) return;
      const tell = (what, at) => { try { handler.postMessage(what + ' ' + Math.round(at)) } catch {} };
      new PerformanceObserver(list => {
        for (const entry of list.getEntries())
          if (entry.name === 'first-contentful-paint') tell('painted', entry.startTime);
      }).observe({type: 'paint', buffered: true});
      addEventListener('error', event => { if (event instanceof ErrorEvent) tell('failed', performance.now()) });
      addEventListener('load', () => tell('loaded', performance.now()));
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
  /// Handles a message from `PageWatch.script`.
  ///
  /// - Parameters:
  ///   - message: what happened, and how many milliseconds after the navigation began.
  ///   - page: the page that sent it.
  ///   - milliseconds: the time since the app opened the page, including the start of its process. Nil if a link, a reload or
  ///     the history led to the page; then the time in the message counts.
  public func handleMessage(_ message: String, of page: OpenPage, after milliseconds: Int64?) {
    let words = message.split(separator: " ", maxSplits: 1)
    guard words.count == 2, let signal = PageWatch.Signal(rawValue: String(words[0])),
      let milliseconds = milliseconds ?? Int64(words[1])
    else { return }
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
