// What the worker tells of a rollout: docs/protocol.md §12, docs/evidence.md.
import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";
import { armOf, bucketOf, readRule } from "../../public/runtime/src/protocol/rollouts.js";

const HOUR = 3600e3;
const INSTALL = "00112233445566778899aabbccddeeff";
let now = 1_800_000_000_000;
Date.now = () => now;
const conditions = { onLine: true };
Object.defineProperty(globalThis, "navigator", { value: conditions, configurable: true });
const { armBy, counts, reaches, tells } = await import("../../public/runtime/src/worker/evidence.js");

/** A device that holds version 1, in the place of the worker's runtime; `kept` is what outlives it. */
function device(kept = {}) {
  const runtime = {
    rollout: { install: INSTALL }, manifest: { version: "1" }, pages: new Map(), told: [], isOver: false,
    post: ({ evidence }) => runtime.told.push(evidence), ...kept,
    store: { write: async ({ rollout }) => void (runtime.kept = structuredClone(rollout)) },
  };
  return runtime;
}

async function polls(runtime, members) {
  const rule = { version: "2", seed: "a", share: 5000, ...members };
  await counts(runtime, {});
  const read = readRule(rule);
  Object.assign(runtime.rollout, armBy(runtime, read, await bucketOf(INSTALL, read.seed)), { rule });
  reaches(runtime, true);
  await counts(runtime, {});
}

let opened = 0;
async function opens(runtime, members = { isLocal: true }) {
  const page = { version: runtime.manifest.version, at: now, seed: runtime.rollout.arm?.seed, ...members };
  runtime.pages.set(`page-${(opened += 1)}`, page);
  await counts(runtime, {});
  return page;
}

async function fails(runtime, page) {
  Object.assign(page, { isFailed: true, hasFailed: true });
  await counts(runtime, { page });
}

/** Seeds by which the device is in each arm, at half of all buckets. */
const seeds = { candidate: [], control: [] };
for (let at = 0; seeds.candidate.length < 12 || seeds.control.length < 12; at++) seeds[armOf(await bucketOf(INSTALL, `s${at}`), 5000)].push(`s${at}`);
const [inside] = seeds.candidate;
const [outside] = seeds.control;

test("the arms of docs/vectors/evidence.json", () => {
  const { arms } = JSON.parse(fs.readFileSync(new URL("../../docs/vectors/evidence.json", import.meta.url)));
  for (const { bucket, share, arm } of arms) assert.equal(armOf(bucket, share) ?? null, arm, `${bucket} of ${share}`);
});

test("control opens once, with the first page after the poll", async () => {
  const one = device();
  await opens(one);
  await polls(one, { seed: outside });
  assert.deepEqual(one.told, []);
  await opens(one);
  await opens(one);
  await polls(one, { seed: outside });
  assert.deepEqual(one.told, [{ version: "2", arm: "control", opened: 1, failed: 0 }]);
});

test("the candidate's arm opens after the switch", async () => {
  const one = device();
  await polls(one, { seed: inside });
  await opens(one);
  assert.deepEqual(one.told, []);
  one.manifest = { version: "2", candidate: inside };
  await polls(one, { seed: inside });
  assert.deepEqual(one.told, []);
  await opens(one);
  assert.deepEqual(one.told, [{ version: "2", arm: "candidate", opened: 1, failed: 0 }]);
});

test("a failure counts once, within a day, with its age", async () => {
  const one = device();
  await polls(one, { seed: outside });
  await opens(one);
  now += 3.5 * HOUR;
  await fails(one, await opens(one));
  await fails(one, await opens(one));
  assert.deepEqual(one.told.slice(1), [{ version: "2", arm: "control", opened: 0, failed: 1, age: 3 }]);
  const late = device();
  await polls(late, { seed: outside });
  await opens(late);
  now += 24 * HOUR;
  await fails(late, await opens(late));
  assert.equal(late.told.length, 1);
});

test("without a network it is told later, also by another life of the worker", async () => {
  const one = device();
  await polls(one, { seed: outside });
  conditions.onLine = false;
  await fails(one, await opens(one));
  now += 2 * HOUR;
  conditions.onLine = true;
  assert.deepEqual(one.told, []);
  const next = device({ rollout: one.kept });
  await polls(next, { seed: outside });
  await polls(next, { seed: outside });
  assert.deepEqual(next.told, [{ version: "2", arm: "control", opened: 1, failed: 1, age: 2 }]);
  const again = device({ rollout: next.kept });
  await polls(again, { seed: outside });
  assert.deepEqual(again.told, []);
});

test("what can't be noted isn't told", async () => {
  const one = device();
  await polls(one, { seed: outside });
  const { write } = one.store;
  one.store.write = async () => { throw new Error("full"); };
  await opens(one);
  assert.deepEqual(one.told, []);
  // Nor is a failure of what nobody heard of.
  one.store.write = write;
  await fails(one, await opens(one));
  assert.deepEqual(one.told, []);
});

test("the arm stays while the rollout is paused or remade, and a seed counts once", async () => {
  const one = device();
  await polls(one, { seed: outside });
  await opens(one);
  await polls(one, { seed: outside, share: 0, version: "3" });
  await fails(one, await opens(one));
  assert.deepEqual(one.told.slice(1), [{ version: "3", arm: "control", opened: 0, failed: 1, age: 0 }]);
  await polls(one, { seed: seeds.control[1] });
  await opens(one);
  // A copy that is behind.
  await polls(one, { seed: outside });
  await opens(one);
  await polls(one, { seed: seeds.control[1] });
  await opens(one);
  assert.equal(one.told.length, 3);
});

test("who is chosen, out of range, left, or in beyond its bucket is in neither arm", async () => {
  /** @type {[object, object][]} */
  const cases = [
    [{ rollout: { install: INSTALL, groups: ["qa"] } }, { seed: outside, groups: ["qa"] }],
    [{ rollout: { install: INSTALL, app: "3" } }, { seed: outside, app: ">=4" }],
    [{ rollout: { install: INSTALL, left: inside } }, { seed: inside }],
    [{ manifest: { version: "2", candidate: outside } }, { seed: outside }],
    [{}, { seed: outside, share: 0 }],
  ];
  for (const [kept, rule] of cases) {
    const one = device(kept);
    await polls(one, rule);
    await fails(one, await opens(one));
    assert.deepEqual(one.told, [], JSON.stringify([kept, rule]));
  }
});

test("a page that may still render isn't counted yet, and one that rendered isn't at all", async () => {
  const one = device();
  await polls(one, { seed: outside });
  const page = await opens(one);
  Object.assign(page, { isFailed: true, hasFailed: true });
  await counts(one, {});
  page.hasFailed = false;
  now += HOUR;
  await counts(one, {});
  assert.equal(one.told.length, 1);
  // The worker was ended before it could look again.
  page.hasFailed = true;
  await counts(one, {});
  assert.equal(one.told.length, 2);
});

test("a page of the network counts only if it fails from the device", async () => {
  const one = device();
  await polls(one, { seed: outside });
  for (const why of ["unlisted", "killed", "bypassed", "stale", "missing", "late"]) await opens(one, { from: "network", why });
  assert.deepEqual(one.told, []);
  await opens(one, { from: "network", why: "failed" });
  assert.deepEqual(one.told, [{ version: "2", arm: "control", opened: 1, failed: 1 }]);
});

test("going back is a failure of the candidate alone", async () => {
  const one = device({ manifest: { version: "2", candidate: inside } });
  await polls(one, { seed: inside });
  await opens(one);
  one.manifest = { version: "1" };
  await fails(one, await opens(one));
  assert.equal(one.told.length, 1);
  await counts(one, { left: inside });
  assert.deepEqual(one.told.slice(1), [{ version: "2", arm: "candidate", opened: 0, failed: 1, age: 0 }]);
});

test("a page that lacked a file for the network is none that failed", async () => {
  const runtime = device();
  await polls(runtime, { seed: outside });
  const page = await opens(runtime);
  page.lacks = new Set(["m.test/app.js"]);
  await fails(runtime, page);
  assert.deepEqual(runtime.told.map(({ failed }) => failed), [0]);
  page.lacks.clear();
  await fails(runtime, page);
  assert.deepEqual(runtime.told.map(({ failed }) => failed), [0, 1]);
});

test("that the device went back is told once, and only when the origin has answered", () => {
  const said = [];
  const runtime = { heal: { skip: "2", cause: "start", url: "https://m.test/" }, post: (document) => said.push(document) };
  tells(runtime);
  assert.deepEqual(said, []);
  reaches(runtime, true);
  conditions.onLine = false;
  tells(runtime);
  assert.deepEqual(said, []);
  conditions.onLine = true;
  tells(runtime);
  tells(runtime);
  assert.deepEqual(said, [{ reason: "returned", version: "2", url: "https://m.test/", cause: "start" }]);
});
