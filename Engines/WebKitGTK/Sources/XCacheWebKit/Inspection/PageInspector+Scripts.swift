extension PageInspector {
  /// The name of the script world and of its message handler, which no page script can reach.
  static let world = "xcache-inspector"

  /// Runs in a world of its own, before anything else in each document; receives errors, and what the sender reports. It
  /// sends a limited number of messages per document.
  static let listener = UserScript(
    """
    (() => {
      const handler = window.webkit && webkit.messageHandlers && webkit.messageHandlers['\(world)'];
      if (!handler) return;
      const left = {error: \(mostMessages), message: \(mostMessages)};
      const cut = text => String(text).slice(0, \(mostCharacters));
      const send = (kind, told) => {
        if (left[kind]-- > 0) try { handler.postMessage(JSON.stringify({kind, ...told})) } catch {}
      };
      addEventListener('error', event => {
        if (event instanceof ErrorEvent) {
          const {message, filename, lineno, colno} = event;
          return send('error', {text: cut(message), url: cut(filename || ''), line: lineno | 0, column: colno | 0});
        }
        const {target} = event;
        if (!(target instanceof Element)) return;
        const url = target.currentSrc || target.src || target.href || target.data || '';
        send('message', {level: 'error', text: cut('<' + target.localName + '> could not be loaded: ' + url)});
      }, true);
      addEventListener('securitypolicyviolation', event => send('message', {
        level: event.disposition === 'report' ? 'warning' : 'error', url: cut(event.sourceFile || ''),
        line: event.lineNumber | 0,
        text: cut(`Refused by the Content-Security-Policy, ${event.effectiveDirective}: ${event.blockedURI}`),
      }), true);
      addEventListener('xcache-inspected', event => {
        try {
          const [kind, level, text, url, line, column] = JSON.parse(event.detail);
          send(kind === 'error' ? 'error' : 'message',
            {level: cut(level), text: cut(text), url: cut(url || ''), line: line | 0, column: column | 0});
        } catch {}
      }, true);
    })();
    """)

  /// Runs in the page's own world before its scripts: console messages, and why promises were rejected, can't be seen from
  /// another world.
  static let sender = UserScript(
    """
    (() => {
      const {stringify} = JSON, Detailed = CustomEvent, dispatch = dispatchEvent.bind(window);
      const left = {error: \(mostMessages), message: \(mostMessages)};
      const tell = (kind, level, text, place) => {
        if (left[kind]-- > 0) dispatch(new Detailed('xcache-inspected',
          {detail: stringify([kind, level, String(text).slice(0, \(mostCharacters)), ...place])}));
      };
      // As `name@https://m.example.com/a.js:1:2`.
      const placeOf = (stack, index) => {
        const found = /(?:@|^)(\\S+?):(\\d+):(\\d+)$/.exec(String(stack || '').split('\\n')[index] || '');
        return found ? [found[1], +found[2], +found[3]] : ['', 0, 0];
      };
      const describe = value => {
        if (typeof value === 'string') return value;
        if (value instanceof Error) return String(value);
        if (typeof value === 'function') return `function ${value.name}`;
        if (value instanceof Node) return value.nodeName === '#text' ? value.data : `<${value.nodeName.toLowerCase()}>`;
        if (typeof value !== 'object' || value === null) return String(value);
        let nodes = 0;
        return stringify(value, (key, inner) => ++nodes > 200 ? undefined
          : typeof inner === 'string' ? inner.slice(0, 500) : typeof inner === 'bigint' ? String(inner) : inner)
          ?? String(value);
      };
      const safely = value => { try { return describe(value) } catch { return '?' } };
      const format = ([first, ...rest]) => {
        let text = safely(first);
        if (typeof first === 'string') {
          text = first.replace(/%([sdifoOc%])/g, (all, kind) =>
            kind === '%' ? '%' : !rest.length ? all : kind === 'c' ? (rest.shift(), '') : safely(rest.shift()));
        }
        return [text, ...rest.map(safely)].join(' ');
      };
      const levels = {debug: 'debug', log: 'log', info: 'info', warn: 'warning', error: 'error', trace: 'log',
        dir: 'log', table: 'log', assert: 'error'};
      for (const name of Object.keys(levels)) {
        const own = console[name];
        console[name] = function (...values) {
          if (left.message > 0) try {
            if (name !== 'assert') tell('message', levels[name], format(values), placeOf(Error().stack, 1));
            else if (!values[0]) {
              tell('message', 'error', 'Assertion failed: ' + format(values.slice(1)), placeOf(Error().stack, 1));
            }
          } catch {}
          return own.apply(this, values);
        };
      }
      // What a worker's script doesn't catch is told to the worker's object alone.
      for (const name of ['Worker', 'SharedWorker']) {
        const own = window[name];
        if (!own) continue;
        window[name] = new Proxy(own, {construct(target, values, asked) {
          const worker = Reflect.construct(target, values, asked);
          worker.addEventListener('error', event => {
            if (!(event instanceof ErrorEvent)) return;
            tell('error', 'error', 'In a worker: ' + event.message, [event.filename, event.lineno, event.colno]);
          });
          return worker;
        }});
        own.prototype.constructor = window[name];
      }
      addEventListener('unhandledrejection', event => {
        const {reason} = event;
        try {
          const place = reason instanceof Error && reason.line
            ? [reason.sourceURL || '', reason.line, reason.column]
            : placeOf(reason && reason.stack, 0);
          tell('error', 'error', 'Unhandled promise rejection: ' + safely(reason), place);
        } catch {}
      }, true);
    })();
    """)
}
