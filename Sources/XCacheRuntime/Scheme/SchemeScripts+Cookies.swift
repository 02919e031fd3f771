// Written by public/runtime/embed.sh from cookies.js beside it.
// swift-format-ignore-file

extension SchemeScripts {
  static let cookies = ##"""
    (() => {
      "use strict";
      const isScheme = protocol => protocol === "xcache-https:" || protocol === "xcache-http:";
      const home = (() => {
        for (let view = globalThis; ; view = view.parent) {
          try {
            if (isScheme(view.location.protocol)) return view.location;
          } catch {
            return undefined;
          }
          if (!view.parent || view.parent === view || !/^(about|blob):$/.test(view.location.protocol)) return undefined;
        }
      })();
      if (!home || globalThis.origin === "null") return;
      const { XMLHttpRequest } = globalThis;
      const { open, send, setRequestHeader } = XMLHttpRequest.prototype;

      const call = (method, value) => {
        const request = new XMLHttpRequest();
        const path = encodeURIComponent(home.pathname || "/");
        open.call(request, method, `${home.protocol}//${home.host}/.well-known/xcache/cookie?path=${path}`, false);
        setRequestHeader.call(request, "X-XCache-Cookie", value);
        send.call(request);
        return request.status === 200 ? request.responseText : "";
      };
      Object.defineProperty(Document.prototype, "cookie", {
        configurable: true,
        enumerable: true,
        get() {
          return call("GET", "read");
        },
        set(value) {
          call("POST", encodeURIComponent(String(value)));
        },
      });
    })();
    """##
}
