#if canImport(WebKit)
  /// Tells the runtime how a page does, from within the page.
  enum PageWatch {
    static let name = "xcache"

    /// A moment that a page tells of.
    enum Signal: String {
      case painted, loaded, failed
    }

    /// Runs in a world of its own, where no page's script can reach the handler, and in the page itself alone, since a frame's
    /// paint says nothing of the page.
    static let script = """
      (() => {
        const handler = webkit.messageHandlers.\(name);
        const tell = what => handler.postMessage(what);
        new PerformanceObserver(list => {
          for (const entry of list.getEntries()) if (entry.name === 'first-contentful-paint') tell('painted');
        }).observe({type: 'paint', buffered: true});
        addEventListener('error', event => { if (event instanceof ErrorEvent) tell('failed') });
        addEventListener('load', () => tell('loaded'));
      })();
      """
  }
#endif
