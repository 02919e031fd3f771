// `document.cookie` for pages on a custom scheme, where engines keep none: it reads and writes the engine's own store for the page's
// real site by synchronous requests to the app. HttpOnly cookies stay hidden, and other sites' are out of reach; the app sees to
// both. Runs at document start in every frame, before the page's scripts. docs/guide-ios.md has the limits.
(() => {
  "use strict";
  const isScheme = protocol => protocol === "xcache-https:" || protocol === "xcache-http:";
  // Frames without an address of their own, such as about:srcdoc, are of their parent's.
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
  // Frames of others, and sandboxed ones, have none.
  if (!home || globalThis.origin === "null") return;
  const { XMLHttpRequest } = globalThis;
  const { open, send, setRequestHeader } = XMLHttpRequest.prototype;

  const call = (method, value) => {
    const request = new XMLHttpRequest();
    const path = encodeURIComponent(home.pathname || "/");
    open.call(request, method, `${home.protocol}//${home.host}/.well-known/xcache/cookie?path=${path}`, false);
    // No request of another origin may carry it.
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
