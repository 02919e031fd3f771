// Written by public/runtime/embed.sh from interceptor.js beside it.
// swift-format-ignore-file

extension SchemeScripts {
  static let interceptor = ##"""
    (() => {
      "use strict";
      const root = globalThis;
      const PARAMETER = "xcache-body";
      const HEADER = "X-XCache-Body";
      const PIECE = 3 << 18;
      const BEACON = 64 << 10;
      const FORM = "application/x-www-form-urlencoded";
      const TEXT = "text/plain;charset=UTF-8";

      const handlers = root.webkit && root.webkit.messageHandlers;
      const handler = handlers && handlers.xcacheBodies;
      const isScheme = protocol => protocol === "xcache-https:" || protocol === "xcache-http:";
      const home = (() => {
        for (let view = root; ; view = view.parent) {
          try {
            if (isScheme(view.location.protocol)) return view.location;
          } catch {
            return undefined;
          }
          if (!view.parent || view.parent === view || !/^(about|blob):$/.test(view.location.protocol)) return undefined;
        }
      })();
      if (!handler || !home) return;
      const post = message => handler.postMessage(message);


      const hosts = "XCACHE_HOSTS".split(" ");
      const isOwn = name => hosts.some(host => (host.startsWith("*.") ? name.endsWith(host.slice(1)) : name === host));

      const own = address => {
        let url;
        try {
          url = new URL(address, document.baseURI);
        } catch {
          return undefined;
        }
        if (isScheme(url.protocol)) return url;
        return /^https?:$/.test(url.protocol) && isOwn(url.hostname) ? new URL("xcache-" + url.href) : undefined;
      };
      const isHome = url => url.protocol === home.protocol && url.host === home.host;

      const parameter = new RegExp(`([?&])${PARAMETER}=[0-9a-f]+(&|$)`);
      const cleaned = search => search.replace(parameter, (all, before, after) => (after ? before : ""));
      const marked = (url, id) => {
        const copy = new URL(url);
        copy.search += `${copy.search ? "&" : "?"}${PARAMETER}=${id}`;
        return copy.href;
      };
      const unmarked = address => {
        const [whole, hash = ""] = address.split(/(?=#)/);
        const start = whole.indexOf("?");
        return start < 0 ? address : whole.slice(0, start) + cleaned(whole.slice(start)) + hash;
      };
      if (root.location && parameter.test(root.location.search)) {
        try {
          history.replaceState(history.state, "", unmarked(root.location.href));
        } catch {}
      }


      const kind = value => Object.prototype.toString.call(value).slice(8, -1);
      const isBlob = value => kind(value) === "Blob" || kind(value) === "File";
      const encoder = new TextEncoder();
      const encoded = text => encoder.encode(text);
      const lines = text => text.replace(/\r\n|\r|\n/g, "\r\n");
      const random = count =>
        [...crypto.getRandomValues(new Uint8Array(count))].map(byte => byte.toString(16).padStart(2, "0")).join("");

      const multipart = (entries, boundary = "----XCacheFormBoundary" + random(12)) => {
        const quoted = text => text.replace(/\n/g, "%0A").replace(/\r/g, "%0D").replace(/"/g, "%22");
        const parts = [];
        for (const [name, value] of entries) {
          const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(lines(name))}"`;
          if (isBlob(value)) {
            const type = value.type || "application/octet-stream";
            parts.push(encoded(`${head}; filename="${quoted(value.name ?? "blob")}"\r\nContent-Type: ${type}\r\n\r\n`), value);
          } else {
            parts.push(encoded(`${head}\r\n\r\n${lines(value)}`));
          }
          parts.push(encoded("\r\n"));
        }
        parts.push(encoded(`--${boundary}--\r\n`));
        return { type: `multipart/form-data; boundary=${boundary}`, parts };
      };

      const described = (body, boundary) => {
        const view = bytes => ({ type: "", parts: [bytes.slice()] });
        if (isBlob(body)) return { type: body.type, parts: [body] };
        if (ArrayBuffer.isView(body)) return view(new Uint8Array(body.buffer, body.byteOffset, body.byteLength));
        switch (kind(body)) {
          case "FormData":
            return multipart(body, boundary);
          case "URLSearchParams":
            return { type: FORM + ";charset=UTF-8", parts: [encoded(body.toString())] };
          case "ArrayBuffer":
            return view(new Uint8Array(body));
          case "HTMLDocument":
            return { type: "text/html;charset=UTF-8", parts: [encoded(new XMLSerializer().serializeToString(body))] };
          case "XMLDocument":
          case "Document":
            return { type: "application/xml;charset=UTF-8", parts: [encoded(new XMLSerializer().serializeToString(body))] };
          default:
            return { type: TEXT, parts: [encoded(String(body))] };
        }
      };

      const joined = pieces => {
        if (pieces.length === 1) return pieces[0];
        const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
        let offset = 0;
        for (const piece of pieces) {
          whole.set(piece, offset);
          offset += piece.length;
        }
        return whole;
      };
      const holdsBlob = ({ parts }) => parts.some(isBlob);
      const read = async ({ parts }) =>
        joined(await Promise.all(parts.map(async part => (isBlob(part) ? new Uint8Array(await part.arrayBuffer()) : part))));
      const readNow = ({ parts }) => joined(parts.map(part => (isBlob(part) ? bytesOf(part) : part)));
      const bytesOf = blob => {
        const url = URL.createObjectURL(blob);
        try {
          const request = new XMLHttpRequest();
          open.call(request, "GET", url, false);
          request.overrideMimeType("text/plain; charset=x-user-defined");
          send.call(request);
          return Uint8Array.from(request.responseText, character => character.charCodeAt(0) & 0xff);
        } finally {
          URL.revokeObjectURL(url);
        }
      };

      const base64 = bytes => {
        if (bytes.toBase64) return bytes.toBase64();
        let text = "";
        for (let start = 0; start < bytes.length; start += 0x8000) {
          text += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
        }
        return btoa(text);
      };

      const store = (bytes, method, url, type) => {
        const id = random(16);
        const head = { kind: "body", id, method, url: url.href.replace(/#.*/s, ""), type, size: bytes.length };
        let part = 0;
        do {
          const piece = bytes.subarray(part * PIECE, (part + 1) * PIECE);
          post(JSON.stringify({ ...head, part }) + "\n" + base64(piece));
          part += 1;
        } while (part * PIECE < bytes.length);
        return id;
      };

      const told = (response, property) => {
        const address = response[property];
        const value = address && unmarked(address);
        if (value !== address) Object.defineProperty(response, property, { value, configurable: true });
        return response;
      };


      const { fetch, Request, Headers, Response } = root;
      const bodies = new WeakMap();
      root.Request = new Proxy(Request, {
        construct(target, [input, init], newTarget) {
          const request = Reflect.construct(target, [input, init], newTarget);
          const body = init && init.body != null ? init.body : kind(input) === "Request" ? bodies.get(input) : undefined;
          if (body != null) bodies.set(request, body);
          return request;
        },
      });
      const clone = Request.prototype.clone;
      Request.prototype.clone = function () {
        const copy = clone.call(this);
        if (bodies.has(this)) bodies.set(copy, bodies.get(this));
        return copy;
      };

      const fields = [
        "method", "mode", "credentials", "cache", "redirect", "referrer", "referrerPolicy", "integrity", "keepalive", "signal",
      ];
      const bare = request => Object.fromEntries(fields.map(name => [name, request[name]]));
      const isReadable = value => kind(value) === "ReadableStream";

      root.fetch = async function (input, init) {
        const request = kind(input) === "Request" ? input : undefined;
        const url = own(request ? request.url : input);
        const method = String((init && init.method) || (request && request.method) || "GET");
        const given = init && init.body != null ? init.body : undefined;
        const body = given ?? (request && (bodies.get(request) ?? request.body));
        if (!url) return fetch.call(root, input, init);
        if (body == null || /^(get|head)$/i.test(method) || (given == null && request.bodyUsed)) {
          return fetch.call(root, request || url.href, init);
        }
        const headers = new Headers((init && init.headers) || (request && request.headers) || {});
        let bytes, type;
        if (isReadable(body)) {
          const source = given == null ? request : new Response(body);
          [bytes, type] = [new Uint8Array(await source.arrayBuffer()), ""];
        } else {
          const boundary = /boundary="?([^";]+)/i.exec(given == null ? headers.get("Content-Type") || "" : "");
          const description = described(body, boundary ? boundary[1] : undefined);
          [bytes, type] = [await read(description), description.type];
        }
        if (type && !headers.has("Content-Type")) headers.set("Content-Type", type);
        const id = store(bytes, method, url, headers.get("Content-Type") || "");
        if (isHome(url)) headers.set(HEADER, id);
        const options = { ...(request ? bare(request) : {}), ...init, method, headers };
        delete options.body;
        delete options.duplex;
        return told(await fetch.call(root, isHome(url) ? url.href : marked(url, id), options), "url");
      };


      const { XMLHttpRequest } = root;
      const { open, send, setRequestHeader, abort } = XMLHttpRequest.prototype;
      const requests = new WeakMap();

      XMLHttpRequest.prototype.open = function (method, address, isAsync = true, user, password) {
        const url = own(address);
        requests.set(this, { method: String(method), url, isAsync: Boolean(isAsync), user, password, headers: [] });
        return open.call(this, method, url ? url.href : address, Boolean(isAsync), user, password);
      };
      XMLHttpRequest.prototype.setRequestHeader = function (name, value) {
        setRequestHeader.call(this, name, value);
        const request = requests.get(this);
        if (request) request.headers.push([String(name), String(value)]);
      };
      XMLHttpRequest.prototype.send = function (body) {
        const request = requests.get(this);
        if (body == null || !request || !request.url || /^(get|head)$/i.test(request.method)) return send.call(this, body);
        if (request.isSent) throw new DOMException("The request was sent already.", "InvalidStateError");
        const description = described(body);
        const go = bytes => {
          const typed = request.headers.filter(([name]) => name.toLowerCase() === "content-type");
          const type = typed.length ? typed.map(([, value]) => value).join(", ") : description.type;
          const id = store(bytes, request.method, request.url, type);
          if (isHome(request.url)) {
            setRequestHeader.call(this, HEADER, id);
          } else {
            reopen(this, request, id);
            this.addEventListener("readystatechange", () => told(this, "responseURL"));
          }
          if (!typed.length && type) setRequestHeader.call(this, "Content-Type", type);
          uploaded(this, bytes.length);
          return send.call(this);
        };
        if (!request.isAsync || !holdsBlob(description)) return go(readNow(description));
        request.isSent = true;
        read(description).then(
          bytes => {
            if (requests.get(this) === request && request.isSent) go(bytes);
          },
          () => {
            if (requests.get(this) === request) finished(this, "error");
          });
      };
      XMLHttpRequest.prototype.abort = function () {
        const request = requests.get(this);
        const isWaiting = request && request.isSent && this.readyState === 1;
        if (request) request.isSent = false;
        abort.call(this);
        if (isWaiting) finished(this, "abort");
      };
      const reopen = (target, request, id) => {
        const kept = request.isAsync
          ? { responseType: target.responseType, timeout: target.timeout, withCredentials: target.withCredentials }
          : { withCredentials: target.withCredentials };
        open.call(target, request.method, marked(request.url, id), request.isAsync, request.user, request.password);
        Object.assign(target, kept);
        for (const [name, value] of request.headers) setRequestHeader.call(target, name, value);
      };
      const finished = (target, what) => {
        target.dispatchEvent(new ProgressEvent(what));
        target.dispatchEvent(new ProgressEvent("loadend"));
      };
      const uploaded = ({ upload }, total) => {
        if (!upload) return;
        for (const what of ["loadstart", "progress", "load", "loadend"]) {
          upload.dispatchEvent(new ProgressEvent(what, { lengthComputable: true, loaded: what === "loadstart" ? 0 : total, total }));
        }
      };


      const sendBeacon = navigator.sendBeacon;
      if (sendBeacon) {
        Navigator.prototype.sendBeacon = function (address, data) {
          const url = own(address);
          if (!url) return sendBeacon.call(this, address, data);
          const description = data == null ? { type: "", parts: [new Uint8Array()] } : described(data);
          const bytes = readNow(description);
          if (bytes.length > BEACON) return false;
          const id = store(bytes, "POST", url, description.type);
          post(JSON.stringify({ kind: "beacon", id, url: url.href.replace(/#.*/s, "") }) + "\n");
          return true;
        };
      }


      const submit = HTMLFormElement.prototype.submit;
      const attribute = (form, submitter, name) =>
        (submitter && submitter.getAttribute("form" + name)) ?? form.getAttribute(name) ?? "";

      const entriesOf = (form, submitter) => {
        try {
          return [...new FormData(form, submitter || undefined)];
        } catch {
          const entries = [...new FormData(form)];
          const name = submitter && submitter.getAttribute("name");
          if (name) entries.push([name, submitter.value ?? ""]);
          return entries;
        }
      };
      const describedForm = (entries, type) => {
        if (type === "multipart/form-data") return multipart(entries);
        const pairs = entries.map(([name, value]) => [lines(name), lines(isBlob(value) ? value.name : value)]);
        if (type !== "text/plain") return { type: FORM, parts: [encoded(new URLSearchParams(pairs).toString())] };
        return { type, parts: [encoded(pairs.map(([name, value]) => `${name}=${value}\r\n`).join(""))] };
      };

      const carry = (form, submitter) => {
        if (attribute(form, submitter, "method").toLowerCase() !== "post") return false;
        const url = own(attribute(form, submitter, "action") || document.URL);
        if (!url) return false;
        const type = attribute(form, submitter, "enctype").toLowerCase();
        const target = attribute(form, submitter, "target");
        const description = describedForm(entriesOf(form, submitter), type);
        const go = bytes => {
          const copy = document.createElement("form");
          copy.setAttribute("method", "post");
          copy.setAttribute("action", marked(url, store(bytes, "POST", url, description.type)));
          if (target) copy.setAttribute("target", target);
          copy.setAttribute("hidden", "");
          document.documentElement.append(copy);
          submit.call(copy);
          setTimeout(() => copy.remove(), 0);
        };
        if (holdsBlob(description)) {
          read(description).then(go, error => reportError(error));
        } else {
          go(readNow(description));
        }
        return true;
      };

      HTMLFormElement.prototype.submit = function () {
        if (!carry(this)) submit.call(this);
      };
      const last = event => {
        if (!event.defaultPrevented && carry(event.target, event.submitter)) event.preventDefault();
      };
      root.addEventListener(
        "submit",
        () => {
          root.removeEventListener("submit", last);
          root.addEventListener("submit", last);
        },
        true);
    })();
    """##
}
