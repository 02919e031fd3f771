/// Reports to the runtime how a page is doing, from inside the page; the same in every engine that has script worlds.
public enum PageWatch {
  /// The name of the script world, in which no page script can reach the handler, and of the message handler in it.
  public static let name = "xcache"

  /// Run this at document start in the main frame only, since a frame's paint says nothing about the page.
  public static let script = """
    (() => {
      const handler = window.webkit && webkit.messageHandlers && webkit.messageHandlers.\(name);
      if (!handler) return;
      const tell = (what, at, more = '') => { try { handler.postMessage((what + ' ' + Math.round(at) + ' ' + more).trim()) } catch {} };
      new PerformanceObserver(list => {
        for (const entry of list.getEntries())
          if (entry.name === 'first-contentful-paint') tell('painted', entry.startTime);
      }).observe({type: 'paint', buffered: true});
      const agent = navigator.userAgent;
      const known = /(Firefox|Chrome|Chromium)[/]([0-9]+)/.exec(agent) || /(AppleWebKit)[/]([0-9]+[.][0-9]+)/.exec(agent);
      const engine = known ? known[1].replace(/^Chrome$/, 'Chromium').replace('Apple', '') + ' ' + known[2] : '';
      const cut = (text, length) => {
        const part = String(text).slice(0, length);
        return part.toWellFormed ? part.toWellFormed() : part;
      };
      // What a page throws may be anything: an object whose members throw, too. The runtime needs the first errors alone.
      let left = 4;
      const told = (error, event) => {
        if (left-- <= 0) return '';
        let message = '', stack = '';
        try {
          const isObject = !!error && typeof error === 'object';
          message = cut(event.message || (isObject && 'message' in error ? error.name + ': ' + error.message : error), 4096);
          stack = isObject && error.stack || (event.filename ? '@' + event.filename + ':' + event.lineno + ':' + event.colno : '');
          stack = cut(stack, 20000);
        } catch {}
        return JSON.stringify({message, stack: typeof stack === 'string' ? stack : ''});
      };
      addEventListener('error', event => { if (event instanceof ErrorEvent) tell('failed', performance.now(), told(event.error, event)) });
      addEventListener('unhandledrejection', event => { if (left > 0) tell('rejected', performance.now(), told(event.reason, event)) });
      addEventListener('load', () => tell('loaded', performance.now()));
      const look = () => tell(document.hidden ? 'hidden' : 'visible', performance.now(), engine);
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
  ///   - message: what happened, how many milliseconds after the navigation began, and what more there is to say about it.
  ///   - page: the page that sent it.
  ///   - milliseconds: the time since the app opened the page, including the start of its process. Nil if a link, a reload or
  ///     the history led to the page; then the time in the message counts.
  public func handleMessage(_ message: String, of page: OpenPage, after milliseconds: Int64?) {
    guard let message = PageMessage(message), let milliseconds = milliseconds ?? message.milliseconds else {
      return
    }
    switch message.signal {
    case .painted:
      reached(.firstPaint, page, after: milliseconds)
      pageCameUp(page)
    case .loaded: reached(.load, page, after: milliseconds)
    case .failed:
      if let error = message.error { scriptFailed(page, error) } else { scriptFailed(page) }
    case .rejected: if let error = message.error { promiseFailed(page, error) }
    case .hidden, .visible:
      if let engine = message.engine { self.engine = engine }
      setHidden(message.signal == .hidden, page)
    }
  }

  /// The same for engines that hand a message over as a JSON text. Anything but a string is ignored.
  public func handleMessage(json text: String, of page: OpenPage, after milliseconds: Int64?) {
    if let message = PageMessage.text(json: text) { handleMessage(message, of: page, after: milliseconds) }
  }
}
