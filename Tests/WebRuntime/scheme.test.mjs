// The scripts of the custom scheme outside of an engine: the bodies they pass to the app, and the requests they leave
// alone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import vm from "node:vm";

const source = name => readFileSync(new URL(`../../public/runtime/${name}`, import.meta.url), "utf8");
const PAGE = "xcache-https://m.test/dir/page.html?a=1";

// Contents of Blobs by URL, for synchronous requests.
const blobs = new Map();
const known = new WeakMap();
const blob = (bytes, options) => {
  const made = new Blob([bytes], options);
  known.set(made, bytes);
  return made;
};

class FakeXHR extends EventTarget {
  constructor() {
    super();
    Object.assign(this, { readyState: 0, upload: new EventTarget(), log: [], responseText: "", responseType: "", timeout: 0, withCredentials: false });
  }
  open(method, url, isAsync, user, password) {
    this.readyState = 1;
    this.asked = { method, url, isAsync, user, password, headers: {} };
    this.log.push("open");
  }
  setRequestHeader(name, value) {
    if (this.readyState !== 1) throw new Error("InvalidStateError");
    this.asked.headers[name.toLowerCase()] = value;
  }
  overrideMimeType(type) {
    this.type = type;
  }
  send(body) {
    this.asked.body = body;
    this.log.push("send");
    if (String(this.asked.url).startsWith("blob:")) {
      assert.equal(this.type, "text/plain; charset=x-user-defined");
      this.responseText = [...blobs.get(this.asked.url)].map(byte => String.fromCharCode(byte < 0x80 ? byte : 0xf700 + byte)).join("");
    } else {
      FakeXHR.sent.push(this.asked);
      this.status = 200;
      this.responseText = FakeXHR.answer ?? "";
      Object.defineProperty(this, "responseURL", { value: this.asked.url, configurable: true });
      this.readyState = 4;
      this.dispatchEvent(new Event("readystatechange"));
    }
  }
  abort() {
    this.log.push("abort");
    this.readyState = 0;
  }
}

class FakeForm {
  constructor(attributes = {}, entries = []) {
    Object.assign(this, { attributes, entries });
  }
  getAttribute(name) {
    return this.attributes[name] ?? null;
  }
  setAttribute(name, value) {
    this.attributes[name] = value;
  }
  remove() {}
}

// Runs the scripts in a page; returns records of what they did.
function page({ location = PAGE, handlers = ["xcacheBodies"], parent, scripts = ["interceptor.js"], hosts = "m.test api.m.test *.cdn.test", frame } = {}) {
  const messages = [];
  const asked = [];
  const submitted = [];
  const listeners = [];
  FakeXHR.sent = [];
  const formPrototype = class HTMLFormElement extends FakeForm {
    submit() {
      submitted.push({ ...this.attributes });
    }
  };
  class Navigator {
    sendBeacon(...all) {
      asked.push(["beacon", ...all]);
      return true;
    }
  }
  class OwnFormData extends FormData {
    constructor(form, submitter) {
      super();
      if (submitter) throw new TypeError("an engine without a second argument");
      for (const [name, value] of form ? form.entries : []) this.append(name, value);
    }
  }
  const XHR = class XMLHttpRequest extends FakeXHR {};
  // Own methods of the class, since the scripts replace them.
  for (const name of ["open", "send", "setRequestHeader", "abort"]) XHR.prototype[name] = FakeXHR.prototype[name];
  const window = {
    Headers, Response, Blob, File, FormData: OwnFormData, URLSearchParams, TextEncoder, DOMException, btoa, crypto, setTimeout, Event,
    console, URL: class extends URL {
      static createObjectURL(value) {
        const url = `blob:${blobs.size}`;
        blobs.set(url, known.get(value));
        return url;
      }
      static revokeObjectURL(url) {
        blobs.delete(url);
      }
    },
    ProgressEvent: class extends Event {
      constructor(type, init = {}) {
        super(type);
        Object.assign(this, init);
      }
    },
    // New classes for each page, since the scripts replace their methods.
    Request: class Request extends globalThis.Request {}, XMLHttpRequest: XHR, HTMLFormElement: formPrototype, Navigator,
    navigator: new Navigator(),
    location: new URL(location),
    history: { state: null, replaceState: (state, title, url) => asked.push(["replaceState", url]) },
    document: {
      baseURI: frame ?? location, URL: location,
      createElement: () => new formPrototype(),
      documentElement: { append() {} },
    },
    Document: class Document {},
    webkit: { messageHandlers: Object.fromEntries(handlers.map(name => [name, { postMessage: text => messages.push(text) }])) },
    fetch: async (input, init) => {
      asked.push(["fetch", input, init]);
      const response = new Response("ok");
      Object.defineProperty(response, "url", { value: String(input.url ?? input), configurable: true });
      return response;
    },
    addEventListener: (type, listener, capture = false) => listeners.push({ type, listener, capture }),
    removeEventListener: (type, listener) => {
      const index = listeners.findIndex(each => each.type === type && each.listener === listener && !each.capture);
      if (index >= 0) listeners.splice(index, 1);
    },
  };
  window.origin = "xcache-https://m.test";
  window.parent = parent ?? window;
  const context = vm.createContext(window);
  if (!parent) window.parent = vm.runInContext("globalThis", context);
  for (const name of scripts) vm.runInContext(source(name).replace(`"XCACHE_HOSTS"`, JSON.stringify(hosts)), context);
  // Bodies by id, joined from their parts.
  const bodies = () => {
    const all = new Map();
    for (const message of messages) {
      const end = message.indexOf("\n");
      const head = JSON.parse(message.slice(0, end));
      if (head.kind !== "body") continue;
      const body = all.get(head.id) ?? { ...head, bytes: Buffer.alloc(0), parts: 0 };
      assert.equal(head.part, body.parts);
      body.bytes = Buffer.concat([body.bytes, Buffer.from(message.slice(end + 1), "base64")]);
      body.parts += 1;
      all.set(head.id, body);
    }
    for (const body of all.values()) assert.equal(body.bytes.length, body.size);
    return all;
  };
  const dispatch = event => {
    for (const capture of [true, false]) {
      for (const each of [...listeners].filter(each => each.type === "submit" && each.capture === capture)) each.listener(event);
    }
  };
  return { window: vm.runInContext("globalThis", context), messages, asked, submitted, bodies, dispatch, listeners };
}

const form = (...entries) => {
  const data = new FormData();
  for (const entry of entries) data.append(...entry);
  return data;
};
const bytes = Uint8Array.from({ length: 300 }, (_, index) => index & 255);
const every = [
  ["string", () => "ä\u{1F600}", "text/plain;charset=UTF-8", Buffer.from("ä\u{1F600}")],
  ["URLSearchParams", () => new URLSearchParams([["a", "b c"], ["ä", "&"]]), "application/x-www-form-urlencoded;charset=UTF-8", Buffer.from("a=b+c&%C3%A4=%26")],
  ["ArrayBuffer", () => bytes.slice().buffer, "", Buffer.from(bytes)],
  ["view", () => new Uint8Array(bytes.buffer, 7, 100), "", Buffer.from(bytes.subarray(7, 107))],
  ["DataView", () => new DataView(bytes.buffer, 1, 2), "", Buffer.from(bytes.subarray(1, 3))],
  ["Uint16Array of another frame", () => vm.runInNewContext("new Uint16Array([258, 3])"), "", Buffer.from([2, 1, 3, 0])],
  ["Blob", () => blob(bytes, { type: "image/png" }), "image/png", Buffer.from(bytes)],
  ["Blob without a type", () => blob(bytes), "", Buffer.from(bytes)],
  ["File", () => Object.assign(new File([bytes], "a.bin", { type: "application/x-a" })), "application/x-a", Buffer.from(bytes)],
  ["empty", () => "", "text/plain;charset=UTF-8", Buffer.alloc(0)],
];
// The fields of a multipart body, read by node's parser.
const fieldsOf = async ({ type, bytes }) => {
  const data = await new Response(bytes, { headers: { "Content-Type": type } }).formData();
  return Promise.all([...data].map(async ([name, value]) =>
    typeof value === "string" ? [name, value] : [name, value.name, value.type, Buffer.from(await value.arrayBuffer()).toString("hex")]));
};

for (const [name, make, type, expected] of every) {
  test(`fetch: ${name}`, async () => {
    const { window, asked, bodies } = page();
    await window.fetch("/api", { method: "POST", body: make(), headers: { "X-Own": "1" } });
    const [, url, init] = asked.at(-1);
    const [body] = bodies().values();
    assert.deepEqual([url, init.method, init.body], ["xcache-https://m.test/api", "POST", undefined]);
    const headers = new Headers(init.headers);
    assert.deepEqual([headers.get("X-XCache-Body"), headers.get("X-Own"), headers.get("Content-Type") ?? ""], [body.id, "1", type]);
    assert.deepEqual([body.method, body.url, body.type], ["POST", "xcache-https://m.test/api", type]);
    assert.deepEqual(body.bytes, expected);
  });

  test(`XMLHttpRequest: ${name}`, async () => {
    const { window, bodies } = page();
    const request = new window.XMLHttpRequest();
    request.open("PUT", "../api");
    const value = make();
    const isDone = new Promise(resolve => request.addEventListener("readystatechange", resolve));
    request.send(value);
    await isDone;
    const [body] = bodies().values();
    const { asked } = request;
    assert.deepEqual([asked.method, asked.url, asked.body, asked.isAsync], ["PUT", "xcache-https://m.test/api", undefined, true]);
    assert.deepEqual([asked.headers["x-xcache-body"], asked.headers["content-type"] ?? ""], [body.id, type]);
    assert.deepEqual(body.bytes, expected);
  });

  if (name !== "File") {
    test(`beacon: ${name}`, () => {
      const { window, messages, bodies, asked } = page();
      assert.equal(window.navigator.sendBeacon("/log", make()), true);
      const [body] = bodies().values();
      assert.deepEqual([body.bytes, body.type, body.method], [expected, type, "POST"]);
      assert.deepEqual(JSON.parse(messages.at(-1)), { kind: "beacon", id: body.id, url: "xcache-https://m.test/log" });
      assert.equal(asked.length, 0);
    });
  }
}

const entries = () => [["a", "line\nbreak"], ['n"\n', "ä"], ["f", new File([bytes], 'x"y.bin', { type: "image/png" })], ["g", new File(["g"], "plain")]];
const fields = [["a", "line\r\nbreak"], ['n"\r\n', "ä"], ["f", 'x"y.bin', "image/png", Buffer.from(bytes).toString("hex")], ["g", "plain", "application/octet-stream", "67"]];
const unescaped = found => found.map(([name, ...rest]) => [name.replace(/%0D%0A/g, "\r\n").replace(/%22/g, '"'), ...rest.map(text => text.replace(/%22/g, '"'))]);

test("FormData: fetch, XMLHttpRequest and a Request, each with its boundary", async () => {
  const { window, asked, bodies } = page();
  await window.fetch("/api", { method: "POST", body: form(...entries()) });
  const request = new window.XMLHttpRequest();
  request.open("POST", "/api");
  const isDone = new Promise(resolve => request.addEventListener("readystatechange", resolve));
  request.send(form(...entries()));
  await isDone;
  await window.fetch(new window.Request("xcache-https://m.test/api", { method: "POST", body: form(...entries()) }).clone());
  const all = [...bodies().values()];
  assert.equal(all.length, 3);
  for (const body of all) {
    assert.match(body.type, /^multipart\/form-data; boundary=/);
    assert.deepEqual(unescaped(await fieldsOf(body)), fields);
  }
  // Three different boundaries; the request's content type matches the body.
  assert.equal(new Set(all.map(body => body.type)).size, 3);
  assert.equal(new Headers(asked[0][2].headers).get("Content-Type"), all[0].type);
  assert.equal(request.asked.headers["content-type"], all[1].type);
  assert.equal(new Headers(asked.at(-1)[2].headers).get("Content-Type"), all[2].type);
});

test("a Request keeps its fields and can be sent again; headers of the call win", async () => {
  const { window, asked, bodies } = page();
  const request = new window.Request("xcache-https://m.test/api", {
    method: "PATCH", body: blob(bytes, { type: "image/png" }), headers: { "Content-Type": "x/y" }, credentials: "include", redirect: "error",
  });
  await window.fetch(request, { headers: { "Content-Type": "z/z" } });
  await window.fetch(request);
  const inits = asked.filter(([what]) => what === "fetch").map(([, , init]) => init);
  assert.deepEqual(inits.map(init => [init.method, init.credentials, init.redirect, new Headers(init.headers).get("Content-Type")]),
    [["PATCH", "include", "error", "z/z"], ["PATCH", "include", "error", "x/y"]]);
  assert.deepEqual([...bodies().values()].map(body => body.bytes), [Buffer.from(bytes), Buffer.from(bytes)]);
});

test("bodies of streams, and of a Request with a stream", async () => {
  const { window, bodies } = page();
  const stream = () => new Response(bytes).body;
  await window.fetch("/api", { method: "POST", body: stream(), duplex: "half" });
  await window.fetch(new Request("xcache-https://m.test/api", { method: "POST", body: stream(), duplex: "half" }));
  assert.deepEqual([...bodies().values()].map(body => body.bytes), [Buffer.from(bytes), Buffer.from(bytes)]);
});

test("long bodies are sent in parts", async () => {
  const { window, messages, bodies } = page();
  const long = new Uint8Array((3 << 18) * 2 + 5).map((_, index) => index * 7);
  await window.fetch("/api", { method: "POST", body: long });
  await window.fetch("/api", { method: "POST", body: new Uint8Array(3 << 18) });
  assert.equal(messages.length, 4);
  assert.deepEqual([...bodies().values()][0].bytes, Buffer.from(long));
});

test("requests outside the scheme are left alone", async () => {
  const { window, asked, bodies, submitted, dispatch } = page();
  const init = { method: "POST", body: "b" };
  await window.fetch("https://other.test/api", init);
  await window.fetch("https://evilm.test/api", init);
  await window.fetch("/api");
  await window.fetch("/api", { method: "GET", body: "b" });
  assert.deepEqual(asked.map(([, url]) => String(url)), ["https://other.test/api", "https://evilm.test/api", "xcache-https://m.test/api", "xcache-https://m.test/api"]);
  assert.equal(asked[0][2], init);
  window.navigator.sendBeacon("https://other.test/log", "b");
  assert.deepEqual(asked.at(-1), ["beacon", "https://other.test/log", "b"]);
  const request = new window.XMLHttpRequest();
  request.open("POST", "https://other.test/api", true, "user", "password");
  request.send("b");
  assert.deepEqual([request.asked.body, request.asked.url, request.asked.password], ["b", "https://other.test/api", "password"]);
  for (const attributes of [{ method: "get", action: "/a" }, { action: "/a" }, { method: "post", action: "https://other.test/" }, { method: "dialog" }]) {
    const event = { target: new window.HTMLFormElement(attributes), defaultPrevented: false, preventDefault: () => assert.fail("taken") };
    dispatch(event);
    event.target.submit();
  }
  assert.equal(submitted.length, 4);
  assert.equal(bodies().size, 0);
});

test("requests to the app's other hosts use the scheme, with the id in the URL but not in the response's", async () => {
  const { window, asked, bodies } = page();
  const response = await window.fetch("https://api.m.test/v1?x=1#h", { method: "POST", body: "b" });
  const [first] = bodies().values();
  assert.equal(asked[0][1], `xcache-https://api.m.test/v1?x=1&xcache-body=${first.id}#h`);
  assert.equal(new Headers(asked[0][2].headers).get("X-XCache-Body"), null);
  assert.equal(first.url, "xcache-https://api.m.test/v1?x=1");
  assert.equal(response.url, "xcache-https://api.m.test/v1?x=1#h");
  await window.fetch("https://a.cdn.test/x");
  assert.equal(asked[1][1], "xcache-https://a.cdn.test/x");
  const request = new window.XMLHttpRequest();
  request.open("POST", "https://api.m.test/v1", true);
  request.setRequestHeader("X-Own", "1");
  Object.assign(request, { responseType: "json", timeout: 5, withCredentials: true });
  request.send("b");
  const [, second] = bodies().values();
  assert.equal(request.asked.url, `xcache-https://api.m.test/v1?xcache-body=${second.id}`);
  assert.deepEqual(request.asked.headers, { "x-own": "1", "content-type": "text/plain;charset=UTF-8" });
  assert.deepEqual([request.responseType, request.timeout, request.withCredentials], ["json", 5, true]);
  assert.equal(request.responseURL, "xcache-https://api.m.test/v1");
});

test("a synchronous XMLHttpRequest sends a Blob at once", () => {
  const { window, bodies } = page();
  const request = new window.XMLHttpRequest();
  request.open("POST", "/api", false);
  request.setRequestHeader("content-type", "x/own");
  request.send(blob(bytes, { type: "image/png" }));
  const [body] = bodies().values();
  assert.deepEqual([body.bytes, body.type, request.asked.isAsync], [Buffer.from(bytes), "x/own", false]);
  assert.equal(blobs.size, 0);
});

test("a request aborted while its Blob is read sends nothing and fires abort", async () => {
  const { window, bodies } = page();
  const request = new window.XMLHttpRequest();
  const events = [];
  for (const type of ["abort", "loadend"]) request.addEventListener(type, () => events.push(type));
  request.open("POST", "/api");
  request.send(blob(bytes));
  assert.throws(() => request.send("again"), { name: "InvalidStateError" });
  request.abort();
  await new Promise(resolve => setTimeout(resolve, 20));
  assert.deepEqual([bodies().size, request.log.includes("send"), events], [0, false, ["abort", "loadend"]]);
  // It can be used again.
  request.open("POST", "/api");
  request.send("b");
  assert.equal(bodies().size, 1);
});

test("upload progress events are fired", () => {
  const { window } = page();
  const request = new window.XMLHttpRequest();
  const events = [];
  for (const type of ["loadstart", "progress", "load", "loadend"]) request.upload.addEventListener(type, event => events.push([type, event.loaded, event.total]));
  request.open("POST", "/api");
  request.send("abc");
  assert.deepEqual(events, [["loadstart", 0, 3], ["progress", 3, 3], ["load", 3, 3], ["loadend", 3, 3]]);
});

test("a beacon's body is limited to 64 KB, and is optional", () => {
  const { window, bodies } = page();
  assert.equal(window.navigator.sendBeacon("/log", new Uint8Array(65_537)), false);
  assert.equal(bodies().size, 0);
  assert.equal(window.navigator.sendBeacon("/log", new Uint8Array(65_536)), true);
  assert.equal(window.navigator.sendBeacon("/log"), true);
  assert.deepEqual([...bodies().values()].map(body => body.size), [65_536, 0]);
});

const kinds = [
  ["application/x-www-form-urlencoded", "", [["a", "b c\n"], ["ä", "&"]], "a=b+c%0D%0A&%C3%A4=%26"],
  ["text/plain", "text/plain", [["a", "b c"], ["ä", "&"]], "a=b c\r\nä=&\r\n"],
];
for (const [type, enctype, pairs, expected] of kinds) {
  test(`form: ${type}, sent by its event and by submit()`, () => {
    const { window, bodies, submitted, dispatch } = page();
    const sent = new window.HTMLFormElement({ method: "POST", action: "../send?x=1", enctype, target: "_top" }, pairs);
    let isTaken = false;
    dispatch({ target: sent, defaultPrevented: false, preventDefault: () => (isTaken = true) });
    sent.submit();
    assert.ok(isTaken);
    const all = [...bodies().values()];
    assert.deepEqual(all.map(body => [body.bytes.toString(), body.type, body.url]), [0, 1].map(() => [expected, type, "xcache-https://m.test/send?x=1"]));
    assert.deepEqual(submitted.map(({ action, method, target }) => [action, method, target]),
      all.map(body => [`xcache-https://m.test/send?x=1&xcache-body=${body.id}`, "post", "_top"]));
  });
}

test("form: multipart with files, with the submit button's attributes", async () => {
  const { window, bodies, submitted, dispatch } = page();
  const sent = new window.HTMLFormElement({ method: "get", action: "/wrong" }, entries());
  const button = new FakeForm({ formmethod: "post", formaction: "/up", formenctype: "multipart/form-data", name: "go", value: "1" });
  button.value = "1";
  dispatch({ target: sent, submitter: button, defaultPrevented: false, preventDefault() {} });
  await new Promise(resolve => setTimeout(resolve, 20));
  const [body] = bodies().values();
  assert.deepEqual(unescaped(await fieldsOf(body)), [...fields, ["go", "1"]]);
  assert.equal(submitted[0].action, `xcache-https://m.test/up?xcache-body=${body.id}`);
});

test("form: a page can prevent submission, even with a late listener", () => {
  const { window, bodies, dispatch } = page();
  const event = { target: new window.HTMLFormElement({ method: "post", action: "/a" }), defaultPrevented: false };
  event.preventDefault = () => (event.defaultPrevented = true);
  window.addEventListener("submit", () => (event.defaultPrevented = true));
  dispatch(event);
  assert.equal(bodies().size, 0);
});

test("a document opened by a form gets its URL without the body's id", () => {
  const { asked } = page({ location: `xcache-https://m.test/a?b=1&xcache-body=${"0f".repeat(16)}#h` });
  assert.deepEqual(asked, [["replaceState", "xcache-https://m.test/a?b=1#h"]]);
  assert.deepEqual(page({ location: "xcache-https://m.test/a?xcache-body=no" }).asked, []);
});

test("frames: srcdoc, of another site, and without handlers", async () => {
  const top = page();
  const srcdoc = page({ location: "about:srcdoc", parent: top.window, frame: PAGE });
  await srcdoc.window.fetch("/api", { method: "POST", body: blob(bytes) });
  assert.deepEqual([...srcdoc.bodies().values()][0].bytes, Buffer.from(bytes));
  assert.equal(new Headers(srcdoc.asked[0][2].headers).get("X-XCache-Body"), [...srcdoc.bodies().keys()][0]);
  for (const options of [{ location: "https://other.test/", parent: top.window }, { location: "about:blank" }, { handlers: [] }]) {
    const { window, asked, messages } = page(options);
    await window.fetch("xcache-https://m.test/api", { method: "POST", body: "b" });
    assert.deepEqual([messages.length, asked[0][2].body], [0, "b"]);
  }
});

test("document.cookie asks the app, with a header that other origins can't send", () => {
  const { window } = page({ scripts: ["cookies.js"], handlers: [] });
  FakeXHR.answer = "a=1; b=2";
  const made = new window.Document();
  assert.equal(made.cookie, "a=1; b=2");
  made.cookie = "c=ä; path=/";
  FakeXHR.answer = undefined;
  const url = "xcache-https://m.test/.well-known/xcache/cookie?path=%2Fdir%2Fpage.html";
  assert.deepEqual(FakeXHR.sent.map(({ method, url, isAsync, headers }) => [method, url, isAsync, headers["x-xcache-cookie"]]),
    [["GET", url, false, "read"], ["POST", url, false, "c%3D%C3%A4%3B%20path%3D%2F"]]);
});

test("document.cookie is unchanged on other schemes", () => {
  const { window } = page({ scripts: ["cookies.js"], location: "https://m.test/" });
  assert.equal(Object.getOwnPropertyDescriptor(window.Document.prototype, "cookie"), undefined);
});
