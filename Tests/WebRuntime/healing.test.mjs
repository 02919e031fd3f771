// What the worker takes for a crash of a page on trial: docs/protocol.md §11, "A device heals itself".
import assert from "node:assert/strict";
import test from "node:test";

let now = 1_800_000_000_000;
Date.now = () => now;
/** Pages that are open, by id. */
const open = new Map();
globalThis.self = { clients: { get: async (id) => open.get(id), matchAll: async () => [...open.values()] } };
/** Waits that are over at once; `meanwhile` is what happens in each. */
let meanwhile = () => {};
globalThis.setTimeout = (act, time) => {
  now += time;
  queueMicrotask(() => {
    meanwhile();
    act();
  });
};
const { fails, judges, watches } = await import("../../public/runtime/src/worker/judging.js");

const URL_A = "https://m.test/index.html";

function device() {
  open.clear();
  meanwhile = () => {};
  const runtime = {
    heal: {}, before: { version: "1" }, manifest: { version: "2" }, pages: new Map(), quiet: new WeakSet(), returned: [],
    store: { write: async () => {} }, late() {}, nameOf: (url) => url.split(/[?#]/)[0], counted: [],
    updater: () => ({
      returns: async (cause, url, isCounted) => void runtime.returned.push(isCounted ? [cause, url, isCounted] : [cause, url]),
      counts: async (page) => void runtime.counted.push(page),
    }),
  };
  return runtime;
}

let count = 0;
/** A page that has opened, and is open unless it is gone. */
function opens(runtime, { isGone = false, visibilityState = "visible", url = URL_A, ...members } = {}) {
  const id = `page-${(count += 1)}`;
  const page = { url, version: "2", at: now, began: now, answers: true, isLocal: true, isMarked: true, ...members };
  runtime.pages.set(id, page);
  const pings = [];
  if (!isGone) open.set(id, { id, url, visibilityState, postMessage: (message) => pings.push(message) });
  return { id, page, pings };
}

const asks = (runtime, members) => judges(runtime, { request: { url: URL_A, isReloadNavigation: false, ...members } });
const reload = { isReloadNavigation: true };

test("a reload of a page that isn't there is a crash, and two lead back", async () => {
  const runtime = device();
  for (const crashes of [1, 2]) {
    opens(runtime, { isGone: true });
    await asks(runtime, reload);
    assert.equal(runtime.heal.crashes, crashes);
  }
  assert.deepEqual(runtime.returned, [["start", URL_A]]);
});

test("a page that is gone says nothing when another one is opened, nor later", async () => {
  const runtime = device();
  const { page } = opens(runtime, { isGone: true });
  await asks(runtime);
  assert.equal(page.isMarked, false);
  await asks(runtime, reload);
  assert.equal(runtime.heal.crashes, undefined);
});

test("nor when a page is there that may be the one that is asked for anew", async () => {
  for (const other of [{}, { url: "https://m.test/pushed" }, { visibilityState: "hidden" }]) {
    const runtime = device();
    opens(runtime, { isGone: true });
    opens(runtime, other);
    await asks(runtime, reload);
    assert.equal(runtime.heal.crashes, undefined, JSON.stringify(other));
  }
});

test("a page that nobody sees, of another address, is none of these", async () => {
  const runtime = device();
  opens(runtime, { isGone: true });
  opens(runtime, { url: "https://m.test/other", visibilityState: "hidden" });
  await asks(runtime, { ...reload, url: `${URL_A}?again` });
  assert.equal(runtime.heal.crashes, 1);
});

test("nor is it the page that is asked for, if a later one of its address was on its way", async () => {
  const runtime = device();
  opens(runtime, { isGone: true });
  now += 10_000;
  const { page } = opens(runtime, { isGone: true, began: undefined });
  await asks(runtime, reload);
  assert.equal(runtime.heal.crashes, undefined);
  assert.equal(page.isMarked, true);
});

test("pages of one crash are one, and one of another version is none", async () => {
  const runtime = device();
  opens(runtime, { isGone: true, isSilent: true });
  opens(runtime, { isGone: true });
  await asks(runtime, reload);
  assert.equal(runtime.heal.crashes, 1);
  opens(runtime, { isGone: true, version: "1" });
  await asks(runtime, reload);
  assert.equal(runtime.heal.crashes, 1);
});

test("a page that was silent counts when it is closed, or after 20 seconds", async () => {
  const runtime = device();
  const { id, page } = opens(runtime, { isSilent: true, looks: 5 });
  // The computer sleeps.
  now += 86_400_000;
  await asks(runtime);
  assert.equal(runtime.heal.crashes, undefined);
  page.looks = 10;
  await asks(runtime);
  assert.equal(runtime.heal.crashes, 1);
  await asks(runtime);
  assert.equal(runtime.heal.crashes, 1);
  open.delete(id);
  opens(runtime, { isGone: true, isSilent: true });
  await asks(runtime);
  assert.deepEqual(runtime.returned, [["start", URL_A]]);
});

test("a page that answers nothing in four looks is silent, as long as it is open", async () => {
  const runtime = device();
  const { id, page, pings } = opens(runtime);
  let looks = 0;
  meanwhile = () => void ((looks += 1) === 6 && open.delete(id));
  await watches(runtime, page, id);
  assert.equal(page.isSilent, true);
  assert.equal(pings.length, 5);
});

test("one that answers isn't, nor one that is closed sooner, whatever the clock says", async () => {
  for (const answers of [true, false]) {
    const runtime = device();
    const { id, page } = opens(runtime);
    let looks = 0;
    meanwhile = () => {
      looks += 1;
      // The computer sleeps for a day.
      now += 86_400_000;
      if (answers && looks % 4 === 0) runtime.quiet.delete(page);
      if (!answers && looks === 5) open.delete(id);
    };
    await watches(runtime, page, id);
    assert.equal(page.isSilent, undefined);
  }
});

test("one that hasn't begun isn't: what it waits for isn't known", async () => {
  const runtime = device();
  const { id, page } = opens(runtime, { began: undefined });
  await watches(runtime, page, id);
  assert.equal(page.isSilent, undefined);
});

test("one that came up and is silent waits for its user, closed or open", async () => {
  for (const isGone of [true, false]) {
    const runtime = device();
    const { page } = opens(runtime, { isGone, isUp: true, isSilent: true, looks: 12 });
    await asks(runtime);
    assert.deepEqual([runtime.heal.crashes, page.isMarked], [undefined, false]);
  }
});

test("nor is one whose script answers nothing, as an older one", async () => {
  const runtime = device();
  const { id, page } = opens(runtime, { answers: false });
  await watches(runtime, page, id);
  assert.equal(page.isSilent, undefined);
});

test("routes that one page answers are this page", async () => {
  const runtime = device();
  runtime.nameOf = () => URL_A;
  const route = (number) => `https://m.test/runs/${number}`;
  for (const crashes of [1, 2]) {
    opens(runtime, { isGone: true, url: route(crashes) });
    await asks(runtime, { ...reload, url: route(crashes + 5) });
    assert.equal(runtime.heal.crashes, crashes);
  }
  assert.deepEqual(runtime.returned, [["start", URL_A]]);
  // A tab out of sight may be the one that is asked for anew.
  const other = device();
  other.nameOf = () => URL_A;
  opens(other, { url: route(1), visibilityState: "hidden", isMarked: false });
  opens(other, { isGone: true, url: route(2) });
  await asks(other, { ...reload, url: route(2) });
  assert.equal(other.heal.crashes, undefined);
});

test("the first page after going back decides by the same", async () => {
  const runtime = device();
  Object.assign(runtime, { before: undefined, heal: { skip: "3", isBack: true, cause: "start", url: URL_A } });
  opens(runtime, { isGone: true });
  await asks(runtime, reload);
  assert.deepEqual(runtime.heal, { spared: "3" });
});

test("a page that failed and one that crashed are two, as long as none has come up", async () => {
  const runtime = device();
  const { page } = opens(runtime, { hasFailed: true, isGone: true });
  await judges(runtime, { only: page });
  assert.deepEqual(runtime.returned, []);
  opens(runtime, { isGone: true });
  await asks(runtime, reload);
  assert.deepEqual(runtime.returned, [["start", URL_A]]);
  const other = device();
  other.heal = { isUp: true };
  const failed = opens(other, { hasFailed: true, isGone: true });
  await judges(other, { only: failed.page });
  opens(other, { isGone: true });
  await asks(other, reload);
  assert.deepEqual(other.returned, []);
});

test("a page that lacked a file for the network says nothing, before the return or after it", async () => {
  for (const heal of [{}, { skip: "3", isBack: true }]) {
    const runtime = device();
    runtime.heal = { ...heal };
    for (let count = 0; count < 2; count++) {
      const { page } = opens(runtime, { hasFailed: true, lacks: new Set(["m.test/app.js"]) });
      await judges(runtime, { only: page });
      assert.equal(page.isMarked, false);
    }
    assert.deepEqual(runtime.heal, heal);
    const { page } = opens(runtime, { hasFailed: true, lacks: new Set() });
    await judges(runtime, { only: page });
    assert.deepEqual(runtime.heal, heal.isBack ? { spared: "3" } : { failed: 1 });
  }
});

/** A page that seems to have failed. */
const seems = (runtime, members) => opens(runtime, { hasFailed: true, failedAt: now, ...members });

test("a page that is left before it is certain that it failed says nothing, whoever notices that", async () => {
  for (const isAsked of [false, true]) {
    const runtime = device();
    const { id, page } = seems(runtime, { seed: "a", isFailed: true });
    open.delete(id);
    if (isAsked) await asks(runtime);
    else await fails(runtime, page);
    await fails(runtime, page, id);
    assert.deepEqual([runtime.heal, page.hasFailed, page.isMarked, runtime.counted], [{}, false, false, []]);
  }
});

test("it is asked for while another one seems to have failed: that is left open", async () => {
  const runtime = device();
  const { id, page } = seems(runtime);
  await asks(runtime);
  assert.deepEqual(runtime.heal, {});
  await fails(runtime, page, id);
  assert.deepEqual(runtime.heal, { failed: 1 });
});

test("what fails is evidence before the device goes back, and the return is, if control would count its page", async () => {
  for (const isFailed of [true, undefined]) {
    const runtime = device();
    for (let count = 0; count < 2; count++) {
      const { id, page } = seems(runtime, { seed: "a", isFailed });
      await fails(runtime, page, id);
      await fails(runtime, page, id);
      await fails(runtime, page);
      assert.equal(runtime.counted.length, isFailed ? count + 1 : 0);
    }
    assert.deepEqual(runtime.returned, [isFailed ? ["page", URL_A, true] : ["page", URL_A]]);
  }
});

test("an unlisted script of the site's counts if the site hasn't got it", async () => {
  const url = "https://m.test/track.js";
  const html = { "content-type": "text/html" };
  for (const [answer, counts] of [[{ status: 404 }, true], [{ status: 410 }, true], [{ status: 200, headers: html }, true],
    [{ status: 200 }, false], [{ status: 503, headers: html }, false], [undefined, false]]) {
    globalThis.fetch = async () => {
      if (!answer) throw new TypeError("no network");
      return new Response(null, answer);
    };
    const runtime = device();
    const { id, page } = seems(runtime, { others: [url] });
    await fails(runtime, page, id);
    assert.deepEqual([runtime.heal.failed ?? 0, page.hasFailed], [counts ? 1 : 0, counts]);
  }
});
