// The worker's check against Tests/Conformance/trust/vectors.json, which a second implementation has made of docs/protocol.md §14.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { digestOf } from "../../public/runtime/src/protocol/entries.js";
import * as shared from "../../public/runtime/src/worker/shared.js";

// What xcache-sw-packs.js leaves for xcache-sw-trust.js.
globalThis.self = globalThis;
globalThis.xcachePacks = { shared };
const { check, isStale, proved, started } = await import("../../public/runtime/src/trust/check.js");
const documents = await import("../../public/runtime/src/trust/documents.js");
const { canonical, sha256, utf8 } = shared;

const vectors = JSON.parse(readFileSync(new URL("../Conformance/trust/vectors.json", import.meta.url), "utf8"));
const bytesOf = (text) => new Uint8Array(Buffer.from(text, "hex"));
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const pause = async () => {};

async function attempt(act) {
  try {
    return await act();
  } catch {
    return undefined;
  }
}

test("keys", async () => {
  for (const { what, key, id } of vectors.keys) assert.equal(await attempt(() => sha256(documents.keyOf(key))), id, what);
});

test("signatures", async () => {
  for (const { what, der, raw, key, message, verifies } of vectors.signatures) {
    const read = await attempt(() => documents.rawOf(bytesOf(der)));
    assert.equal(read && hex(read), raw, what);
    if (read) assert.equal(await documents.verifies(key, read, bytesOf(message)), verifies, what);
  }
});

test("messages", () => {
  for (const { type, payload, message } of vectors.messages) assert.equal(hex(documents.messageOf(type, bytesOf(payload))), message);
});

test("envelopes", async () => {
  const root = (await documents.read("root", vectors.checks.envelopes["1"])).value;
  for (const { what, envelope, fill = "", times = 0, rest = "", signers } of vectors.envelopes) {
    const signed = await attempt(() => documents.read("head", utf8(envelope + fill.repeat(times) + rest)));
    assert.deepEqual(signed && (await documents.signersOf(signed, root.heads, root.keys)), signers, what);
  }
});

test("documents", async () => {
  for (const { what, type, payload, error } of vectors.documents) {
    assert.equal((await attempt(() => documents.readPayload(type, utf8(payload)))) === undefined, error === true, `${type}: ${what}`);
  }
});

const { envelopes, resourcemaps, cases } = vectors.checks;

async function offerOf({ root, roots = [], head, releases = [], policy, prefetch, manifest }) {
  const map = manifest && new Map(Object.entries(resourcemaps[manifest.resourcemap]));
  return {
    root, roots: roots.map((name) => envelopes[name]), head: head && envelopes[head], releases: releases.map((name) => envelopes[name]),
    policy: policy && +policy, manifest: manifest && { version: manifest.version, digest: await digestOf(map, pause), map },
    prefetch: prefetch && {
      version: +prefetch.version, content: await sha256(utf8(canonical(prefetch.config))),
      statement: prefetch.statement && envelopes[prefetch.statement],
    },
  };
}

const stored = ({ root, head, floors, prefetchFloor, releases }) => ({
  root: root.number, head: head?.head.version ?? null, at: head?.head.at ?? null, signers: head?.signers ?? [],
  floors: Object.fromEntries([...floors].filter(([, floor]) => floor)), prefetchFloor,
  releases: Object.fromEntries([...releases].map(([bundle, { leaves, signers, statement }]) =>
    [bundle, { leaves, serial: statement.serial, signers }])),
});

test("checks", async () => {
  const results = new Set();
  for (const { what, channel, builtIn, steps } of cases) {
    let state = await started(await documents.read("root", envelopes[builtIn]));
    let taken;
    for (const step of steps) {
      if (step.start) state = await started(await documents.read("root", envelopes[step.start]), state);
      else if (step.switch) state = { ...state, releases: taken };
      else if (step.proved) state = proved(state, channel);
      else {
        const verdict = await check(await offerOf(step), state, channel, pause);
        results.add(verdict.failure);
        assert.equal(verdict.failure ?? null, step.result, what);
        assert.equal(verdict.isCandidate === true, step.candidate === true, what);
        assert.equal(isStale(verdict.state, step.now), step.stale === true, what);
        assert.equal(verdict.releases !== undefined, !verdict.failure && step.manifest !== undefined, what);
        [state, taken] = [verdict.state, verdict.releases];
      }
      assert.deepEqual(stored(state), step.stored, what);
      // It outlives the worker in IndexedDB.
      state = structuredClone(state);
    }
  }
  assert.equal(results.size, 31);
});

test("contents", async () => {
  const signed = await documents.read("root", envelopes["1"]);
  const root = await started(signed);
  for (const { what, bundle, resourcemap, digest } of vectors.contents) {
    // The statement of a bundle that nobody signs, with the right content: its key is the first thing that is wrong.
    const content = (sum) => ({ statement: { app: signed.value.app, environment: signed.value.environment, channels: ["online"], content: sum }, signers: [], leaves: 0 });
    const map = new Map(Object.entries(resourcemap).filter(([, entry]) => entry.bundle === bundle));
    // A bundle without entries needs no statement.
    if (map.size === 0) continue;
    const version = { version: "1", digest: await digestOf(map, pause) };
    const failure = async (sum) => {
      const state = { ...root, head: { head: { ...version, at: 1 }, signers: [] }, releases: new Map([[bundle, content(sum)]]) };
      return (await check({ manifest: { ...version, map } }, state, "online", pause)).failure;
    };
    assert.equal(await failure(digest), "release-key", what);
    assert.equal(await failure("0".repeat(64)), "release-content", what);
  }
});

// What the vectors leave open.

const first = await documents.read("root", envelopes["1"]);
const { app } = first.value;
const statement = (content) => ({ app, channels: ["online"], content, serial: 5 });
const entry = { ctype: "text/plain", download: "https://m.example.com/x", md5: "0".repeat(32), sha256: "1".repeat(64), size: 1, version: "1" };
const ids = first.value.releases[0].keys;

/** A device that holds statements of bundles, and an offer of a manifest that has an entry of each. */
async function holding(bundles, grant) {
  const map = new Map(bundles.map((bundle) => [`https://m.example.com/${bundle}/a`, { ...entry, bundle }]));
  const manifest = { version: "1", digest: await digestOf(map, pause), map };
  const releases = new Map();
  for (const bundle of bundles) {
    const { ctype, sha256: sum, size } = entry;
    const content = await sha256(utf8(canonical({ resources: { [`https://m.example.com/${bundle}/a`]: { ctype, sha256: sum, size } } })));
    releases.set(bundle, { statement: statement(content), signers: ids, leaves: 0 });
  }
  const state = await started(first);
  const root = { ...state.root, releases: [{ bundles: ["*"], channels: ["*"], keys: ids, prefixes: ["*"], threshold: 1, ...grant }] };
  return [{ manifest }, { ...state, root, releases, head: { head: { app, ...manifest, at: 1, until: 2 }, signers: [] } }];
}

const failureOf = async (offer, state) => (await check(offer, state, "online", pause)).failure;

test("a grant of a bundle by its name is of no other one", async () => {
  for (const [bundles, failure] of [[["home"], undefined], [["home2"], "release-scope"], [["hom"], "release-scope"], [["home", "x"], "release-scope"]]) {
    assert.equal(await failureOf(...(await holding(bundles, { bundles: ["home"] }))), failure, bundles.join());
  }
  assert.equal(await failureOf(...(await holding(["act", "action"], { bundles: ["act*"] }))), undefined);
  assert.equal(await failureOf(...(await holding(["ac"], { bundles: ["act*"] }))), "release-scope");
});

test("a URL is covered by what it begins with", async () => {
  for (const [prefix, failure] of [["https://m.example.com/home/", undefined], ["https://m.example.com/", undefined],
    ["https://m.example.com/home/b/", "release-scope"], ["http://m.example.com/", "release-scope"]]) {
    assert.equal(await failureOf(...(await holding(["home"], { prefixes: [prefix] }))), failure, prefix);
  }
});

test("1,000 statements are read, and no more", async () => {
  const [offer, state] = await holding(["home"]);
  const statements = (count) => Array.from({ length: count }, (_, at) => {
    const payload = Buffer.from(canonical({ ...statement("0".repeat(64)), bundle: `other-${at}` })).toString("base64");
    return { payload, payloadType: "application/vnd.xcache.release+json", signatures: [] };
  });
  assert.equal(await failureOf({ ...offer, releases: statements(1000) }, state), undefined);
  assert.equal(await failureOf({ ...offer, releases: statements(1001) }, state), "release-form");
  for (const none of [{}, "x", 1, { length: 0 }]) assert.equal(await failureOf({ ...offer, releases: none }, state), "release-form");
});

test("a member of an envelope that comes twice, whichever counts", () => {
  const text = JSON.stringify(envelopes["1"]);
  assert.ok(documents.readEnvelope(utf8(text)));
  assert.throws(() => documents.readEnvelope(utf8(`{"payload":"",${text.slice(1)}`)));
  // A colon in a text is none of a member.
  assert.ok(documents.readEnvelope(utf8(`{"x":":\\":{",${text.slice(1)}`)));
});

test("a proved version raises no floor whose keys are none any more", async () => {
  const [, state] = await holding(["home"]);
  const held = new Map([...state.releases].map(([bundle, one]) => [bundle, { ...one, leaves: 5 }]));
  assert.equal(proved({ ...state, releases: held }, "online").floors.get("home"), 5);
  const gone = { ...state.root, releases: [] };
  assert.equal(proved({ ...state, root: gone, releases: held }, "online").floors.get("home"), undefined);
});

test("fallbacks are part of what is signed, and of what a key may give", async () => {
  const at = "https://m.example.com/home/a";
  /** The failure where an entry has one fallback, and another one was signed, by a key for `prefixes`. */
  const failure = async (given, wanted, prefixes) => {
    const [{ manifest }, state] = await holding(["home"], { prefixes });
    const { bundle, ...plain } = manifest.map.get(at);
    const map = new Map([[at, { ...plain, bundle, ...(given && { fallback: given }) }]]);
    const { ctype, sha256: sum, size } = entry;
    const content = { ...(wanted && { fallbacks: { [at]: wanted } }), resources: { [at]: { ctype, sha256: sum, size } } };
    const releases = new Map([["home", { ...state.releases.get("home"), statement: statement(await sha256(utf8(canonical(content)))) }]]);
    const head = { head: { ...state.head.head, digest: await digestOf(map, pause) }, signers: [] };
    return failureOf({ manifest: { ...manifest, digest: head.head.digest, map } }, { ...state, releases, head });
  };
  const own = [{ except: ["/home/api/*"], later: 1, prefix: "/home/" }];
  assert.equal(await failure(own, own, ["*"]), undefined);
  assert.equal(await failure(own, own, ["https://m.example.com/home/"]), undefined);
  for (const [given, wanted] of [[own, undefined], [undefined, own], [[{ prefix: "/home/" }], own], [[{ ...own[0], later: 2 }], own]]) {
    assert.equal(await failure(given, wanted, ["*"]), "release-content", JSON.stringify(given));
  }
  for (const prefix of ["/", "/hom/", "/homes/", "/home/../", "/home/%2e%2E/x/", "/%68ome/"]) {
    const wider = [...own, { prefix }];
    assert.equal(await failure(wider, wider, ["https://m.example.com/home/"]), "release-scope", prefix);
    assert.equal(await failure(wider, wider, ["https://m.example.com/home/", "https://m.example.com/"]), undefined, prefix);
  }
});
