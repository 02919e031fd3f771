// Error samples: what of a message, a URL and a stack is told, and when (docs/protocol.md §12).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { looks } from "../../public/runtime/src/page/samples.js";
import { engineOf, frameOf, framesOf, messageOf, urlOf } from "../../public/runtime/src/protocol/samples.js";

const SITE = "https://m.test";
/** What pages were asked, by id. */
const asked = new Map();
globalThis.navigator ??= { userAgent: "Firefox/128.0" };
globalThis.self = { clients: { get: async (id) => (asked.has(id) ? { postMessage: ({ xcache }) => asked.get(id).push(xcache) } : undefined) } };
const { reaches } = await import("../../public/runtime/src/worker/evidence.js");
const { asks, says, wants } = await import("../../public/runtime/src/worker/samples.js");

test("docs/vectors/samples.json", () => {
  const cases = JSON.parse(readFileSync(new URL("../../docs/vectors/samples.json", import.meta.url), "utf8"));
  const strip = { message: messageOf, url: urlOf, frame: frameOf };
  assert.ok(cases.length > 100);
  for (const { in: given, listed = [], of, out } of cases) {
    assert.equal(strip[of](given, (url) => listed.includes(url)), out, `${of} ${JSON.stringify(given).slice(0, 200)}`);
  }
});

test("stacks of V8, JavaScriptCore and Firefox become the same frames", () => {
  const frames = (stack) => framesOf(stack, () => false);
  const wanted = [`render@${SITE}/app.js:1:23911`, `@${SITE}/app.js:2:7`];
  assert.deepEqual(frames(`TypeError: a@${SITE}/b.js:1:2\n    at render (${SITE}/app.js:1:23911)\n    at ${SITE}/app.js:2:7`), wanted);
  assert.deepEqual(frames(`render@${SITE}/app.js:1:23911\n@${SITE}/app.js:2:7`), wanted);
  assert.deepEqual(frames(`render@${SITE}/app.js:1:23911\nmap@[native code]\n${SITE}/app.js:2:7\n`), wanted);
  for (const [stack, ...some] of [
    [`x\n    at async Foo.bar [as baz] (${SITE}/a.js?v=7:3:4)`, `Foo.bar [as baz]@${SITE}/a.js?v=:3:4`],
    [`x\n    at new Foo (${SITE}/a.js:3:4)\n    at Array.map (<anonymous>)\n    at async Promise.all (index 0)`, `new Foo@${SITE}/a.js:3:4`],
    [`x\n    at eval (eval at go (${SITE}/a.js:3:4), <anonymous>:1:1)`, `eval@${SITE}/a.js:3:4`],
    [`x\n    at f (chrome-extension://abc/content.js:3:4)`, "f@chrome-extension::3:4"],
    [`x\n    at f (${SITE}/a (1).js:3:4)`, `f@${SITE}/a (1).js:3:4`],
    [`async*go@${SITE}/a.js:3:4`, `async*go@${SITE}/a.js:3:4`],
    [`go@${SITE}/a.js line 3 > eval:1:1`, `go@${SITE}/a.js:3:1`],
    [`x\n    at f (${SITE}/user/12345/a.js:1:2)`, `f@${SITE}/user/*/a.js:1:2`],
    ["Error: nothing more"], [""], ["a\nb@c\n@\nat ("], ["no@place"],
  ]) assert.deepEqual(frames(stack), some, stack);
  assert.equal(frames(`x\n${`    at f (${SITE}/a.js:1:2)\n`.repeat(30)}`).length, 10);
  assert.ok(frames(`${"f".repeat(9000)}@${SITE}/${"a/".repeat(4000)}b.js:1:2`).every((frame) => Buffer.byteLength(frame) <= 300));
});

test("hostile texts take little time", () => {
  const begun = performance.now();
  for (const text of ["@", "a@", "a.", "at (", "a:", ":1", "(", " line 1 > ", "://", "1", "\u{1f600}"]) {
    const long = text.repeat(16384 / text.length);
    messageOf(long, () => false);
    framesOf(long, () => false);
    framesOf(`at ${long}:1`, () => false);
    urlOf(`https://${long}`, () => false);
  }
  assert.ok(performance.now() - begun < 2000, `${performance.now() - begun} ms`);
});

test("engines are named without the rest of the user agent", () => {
  for (const [agent, name] of [
    ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.7390.54 Safari/537.36", "Chromium 141"],
    ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/141.0.0.0 Safari/537.36", "Chromium 141"],
    ["Mozilla/5.0 (iPhone; CPU iPhone OS 18_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.3 Mobile/15E148 Safari/604.1", "WebKit 605.1"],
    ["Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox 128"], ["", ""],
  ]) assert.equal(engineOf(agent), name);
});

test("what a page says of what was thrown, whatever it is", () => {
  const said = (...reasons) => {
    const words = [];
    looks((word) => words.push(word), undefined, undefined, () => reasons);
    return words.map(({ ask, sample: { kind, message } }) => [ask, kind, message]);
  };
  const throws = { get message() { throw new Error("no"); } };
  for (const [reasons, kind, message] of [
    [[new TypeError("a"), new Error("b")], "script", "TypeError: a"], [[false, new Error("b")], "rejection", "Error: b"],
    [[false, undefined], "rejection", "undefined"], [[false], undefined, ""], [["text"], "script", "text"], [[{ message: 7 }], "script", "7"],
    [[Symbol("s")], "script", "Symbol(s)"], [[throws], "script", ""], [[Object.create(null)], "script", ""], [[{ message: null }], "script", "null"],
    [[new Proxy({}, { get() { throw new Error("no"); } })], "script", ""],
  ]) assert.deepEqual(said(...reasons), [["looks", kind, message]]);
  const [long] = [new Error("x".repeat(10_000))];
  assert.equal(said(long)[0][2], "Error: ");
  // What is sent of a long text is what was cut, once its URL is stripped: no half of an address.
  assert.equal(said(new Error(`${SITE}/?${"a".repeat(4070 - SITE.length)}= of ann@example.com`))[0][2].slice(-6), "a= of ");
  // Nothing is thrown into the page.
  looks(() => { throw new Error("no"); }, undefined, undefined, () => [long]);
  looks(() => {}, undefined, undefined, () => { throw new Error("no"); });
});

let count = 0;
/** A device that holds version 7 and was polled, and what it sent and wrote. */
function device(members = {}, isReached = true) {
  const runtime = {
    manifest: { version: "7" }, samples: {}, pages: new Map(), settings: { script: `${SITE}/xcache-sw.js` }, isOver: false,
    nameOf: (url) => url.split(/[?#]/)[0], listed: (url) => (url === `${SITE}/app.20261130.js` ? url : undefined),
    setAside: (url) => (url === `${SITE}/old.20261130.js` ? {} : undefined), sent: [], written: [], post: (document) => void runtime.sent.push(document),
    store: { write: async (some) => void runtime.written.push(structuredClone(some)) }, ...members,
  };
  reaches(runtime, isReached);
  return runtime;
}

/** A page that has failed; returns what it was asked to import. */
async function fails(runtime, said = {}, { path = "/", version = "7", lost = undefined, failure = "script-failed" } = {}) {
  const id = `page-${(count += 1)}`;
  const page = { url: SITE + path, version, lost };
  asked.set(id, []);
  runtime.pages.set(id, page);
  await asks(runtime, page, failure);
  const imports = asked.get(id).map(({ trial }) => trial);
  says(runtime, page, { kind: "script", message: "Error: a", stack: "", ...said });
  // What it says besides counts no more.
  says(runtime, page, { kind: "rejection", message: "more", stack: "" });
  return imports;
}

test("a page that failed is asked, and the origin told once for each page and kind", async () => {
  const runtime = device();
  const stack = `f@${SITE}/app.20261130.js:1:2\ng@${SITE}/app.20261131.js:1:2`;
  assert.deepEqual(await fails(runtime, { message: "Error: user 12345", stack }, { path: "/a/?q=7" }), [`${SITE}/xcache-samples.js`]);
  assert.deepEqual(runtime.sent, [{
    sample: {
      engine: engineOf(navigator.userAgent), kind: "script", message: "Error: user <n>", page: `${SITE}/a/`,
      stack: [`f@${SITE}/app.20261130.js:1:2`, `g@${SITE}/*:1:2`],
    },
    version: "7",
  }]);
  await fails(runtime, {}, { path: "/a/?q=8" });
  assert.equal(runtime.sent.length, 1);
  await fails(runtime, { kind: "rejection" }, { path: "/a/" });
  await fails(runtime, {}, { path: "/b/" });
  await fails(runtime, {}, { path: "/b/", failure: "page-failed", lost: [`${SITE}/x.js?t=1`] });
  assert.deepEqual(runtime.sent.slice(1).map(({ sample: { kind, page, message } }) => [kind, page, message]), [
    ["rejection", `${SITE}/a/`, "Error: a"], ["script", `${SITE}/b/`, "Error: a"],
    ["page", `${SITE}/b/`, `The page did not come up in time. Not loaded: ${SITE}/x.js?t=`],
  ]);
  // The next worker knows it.
  const next = device({ samples: structuredClone(runtime.written.at(-1).samples) });
  await fails(next, {}, { path: "/a/" });
  assert.equal(next.sent.length, 0);
  // A page of which both kinds are known isn't asked.
  assert.deepEqual(await fails(next, {}, { path: "/a/" }), []);
  Object.assign(next, { manifest: { version: "8" } });
  await fails(next, {}, { path: "/a/", version: "8" });
  assert.equal(next.samples.sent.at(-1), `8 script ${SITE}/a/`);
  // A page of the version before, by what that one listed.
  await fails(next, { stack: `f@${SITE}/app.20261130.js:1:2\ng@${SITE}/old.20261130.js:1:2` }, { path: "/c/" });
  assert.deepEqual(next.sent.map(({ version, sample: { stack } }) => [version, ...stack]), [["8"], ["7", `f@${SITE}/*:1:2`, `g@${SITE}/old.20261130.js:1:2`]]);
});

test("at most 16 of a version", async () => {
  for (const isReached of [true, false]) {
    const runtime = device({}, isReached);
    for (let page = 0; page < 20; page++) await fails(runtime, {}, { path: `/${page}/` });
    reaches(runtime, true);
    wants(runtime, "origin", {});
    assert.equal(runtime.sent.length, 16);
    assert.equal(runtime.written.at(-1).samples.sent.length, 16);
  }
});

test("what is made before the origin has answered a poll waits for that, and is forgotten if it wants none", async () => {
  for (const [data, sent] of [[{}, 1], [{ samples: 0 }, 0]]) {
    const runtime = device({}, false);
    await fails(runtime);
    await fails(runtime);
    assert.deepEqual([runtime.sent, runtime.written], [[], []]);
    wants(runtime, "mirror", data);
    reaches(runtime, true);
    wants(runtime, "origin", data);
    wants(runtime, "origin", {});
    assert.equal(runtime.sent.length, sent);
    await fails(runtime);
    assert.equal(runtime.sent.length, 1);
  }
});

test("nothing is told without a failure, off, or of a worker that is gone; fixed words where nothing is known", async () => {
  const page = { url: `${SITE}/`, version: "7" };
  const unasked = device();
  unasked.pages.set("page", page);
  says(unasked, page, { kind: "script", message: "Error: a", stack: "" });
  assert.deepEqual(unasked.sent, []);
  for (const members of [{ samples: { isOff: true } }, { isOver: true }]) {
    const runtime = device(members);
    assert.deepEqual(await fails(runtime), []);
    await fails(runtime, {}, { failure: "page-failed" });
    assert.deepEqual(runtime.sent, [], JSON.stringify(members));
  }
  const words = [];
  for (const [said, more] of [
    [{ message: "" }], [{ message: 7, kind: {}, stack: [] }], [{ message: "", kind: "rejection" }], [{}, { failure: "page-failed" }],
    [{ message: "", kind: undefined }, { lost: [`${SITE}/a.js`] }], [{ message: "Error: a" }, { lost: [`${SITE}/a.js`] }],
  ]) {
    const silent = device();
    await fails(silent, said, more);
    words.push(silent.sent[0].sample.message);
  }
  assert.deepEqual(words, [
    "A script of the page failed.", "A script of the page failed.", "A promise was rejected, and nothing handled it.", "The page did not come up in time.",
    `Not loaded: ${SITE}/a.js`, `Error: a. Not loaded: ${SITE}/a.js`,
  ]);
  // What is kept may be damaged.
  for (const sent of [5, "x", [null, 7], { a: 1 }]) {
    const damaged = device({ samples: { sent } });
    await fails(damaged);
    assert.equal(damaged.sent.length, 1);
  }
});

test("the origin turns them off and on, and the copy says nothing of it", async () => {
  const runtime = device();
  wants(runtime, "origin", { samples: 0 });
  assert.deepEqual(runtime.written, [{ samples: { isOff: true } }]);
  wants(runtime, "origin", { samples: 0 });
  wants(runtime, "mirror", {});
  assert.equal(runtime.written.length, 1);
  assert.deepEqual(await fails(runtime), []);
  wants(runtime, "origin", {});
  assert.equal(runtime.written.at(-1).samples.isOff, false);
  await fails(runtime);
  assert.equal(runtime.sent.length, 1);
  const last = runtime.written.length;
  for (const value of ["0", false, null, 1]) wants(runtime, "origin", { samples: value });
  assert.deepEqual([runtime.samples.isOff, runtime.written.length], [false, last]);
});
