// The worker's decoders against docs/vectors.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readChanges } from "../../public/runtime/src/protocol/changes.js";
import { md5, sha256 } from "../../public/runtime/src/protocol/digests.js";
import { applyPatch, digestOf } from "../../public/runtime/src/protocol/entries.js";
import { Fault } from "../../public/runtime/src/protocol/fault.js";
import { FirstPack } from "../../public/runtime/src/protocol/first.js";
import { canonical } from "../../public/runtime/src/protocol/json.js";
import { applyDelta, applyPack } from "../../public/runtime/src/protocol/packs.js";
import { Reader } from "../../public/runtime/src/protocol/reader.js";
import { appRange, appVersion, bucketOf, compareVersions, liesIn, readRule } from "../../public/runtime/src/protocol/rollouts.js";
import { rename, wordPairs } from "../../public/runtime/src/protocol/renaming.js";
import { download, matchKey } from "../../public/runtime/src/protocol/urls.js";
import { check } from "../../public/runtime/src/worker/fetching.js";
import { isPage } from "../../public/runtime/src/worker/prefetch.js";
import { ZstdError } from "../../public/runtime/src/zstd/decoder.js";
import { decide } from "./decide.mjs";

const folder = new URL("../../docs/vectors/", import.meta.url);
const file = (name) => new Uint8Array(readFileSync(new URL(name, folder)));
const load = (name) => JSON.parse(readFileSync(new URL(name, folder), "utf8"));
const pause = async () => {};
const limit = 128 << 20;
const bytesOf = (text) => new Uint8Array(Buffer.from(text, "hex"));

function edited(data, edits = []) {
  let bytes = Buffer.from(data);
  for (const edit of edits) {
    if ("xor" in edit) bytes[edit.at] ^= edit.xor;
    else if ("cut" in edit) bytes = bytes.subarray(0, edit.cut);
    else bytes = Buffer.concat([bytes, Buffer.from(edit.append, "hex")]);
  }
  return new Uint8Array(bytes);
}

/** The result of `act`, or "error" for a Fault or ZstdError; other errors are rethrown. */
async function attempt(act) {
  try {
    return await act();
  } catch (error) {
    if (error instanceof Fault || error instanceof ZstdError) return "error";
    throw error;
  }
}

test("canonical.json", async () => {
  for (const sample of load("canonical.json")) {
    // The worker uses JSON.parse, which loses the notation of numbers and duplicate keys: a manifest with either fails
    // the digest check.
    if (!("out" in sample) || /\d[.eE]|\d{17}|-0/.test(sample.in)) continue;
    assert.equal(canonical(JSON.parse(sample.in)), sample.out, sample.in);
  }
});

test("digests.json", async () => {
  for (const sample of load("digests.json")) {
    assert.equal(canonical(sample.resourcemap), sample.canonical);
    assert.equal(await digestOf(new Map(Object.entries(sample.resourcemap)), pause), sample.digest);
  }
});

test("urls.json", () => {
  const { match, pages } = load("urls.json");
  for (const { a, b, match: wanted } of match) assert.equal(matchKey(a) === matchKey(b), wanted, `${a} ${b}`);
  for (const { page, entry, match: wanted } of pages) assert.equal(isPage(page, entry), wanted, `${page} ${entry}`);
});

test("downloads.json", async () => {
  for (const sample of load("downloads.json")) {
    const place = `${sample.publicURL}/${sample.space}/${sample.appID}`;
    const made = await download(place, sample.manifestVersion, sample.resourceVersion, sample.sha256, sample.url);
    assert.equal(made, sample.download);
  }
});

test("patches.json", async () => {
  let counted = 0;
  for (const { base, patch, result, what } of load("patches.json")) {
    const made = await attempt(() => applyPatch(new Map(Object.entries(base)), patch, pause));
    if (made === "error") continue;
    assert.equal(canonical(Object.fromEntries(made)), canonical(result), what);
    counted += 1;
  }
  assert.ok(counted > 0, "no patch was applied");
});

function attemptNow(act) {
  try {
    return act();
  } catch (error) {
    if (error instanceof Fault) return "error";
    throw error;
  }
}

test("numbers.json", async () => {
  for (const { bytes, number } of load("numbers.json")) {
    const reader = new Reader(bytesOf(bytes));
    const read = await attempt(() => {
      const value = reader.number();
      return reader.left ? "error" : value;
    });
    assert.equal(read, number === undefined ? "error" : +number, bytes);
  }
});

test("renaming.json", async () => {
  for (const { urls, in: text, out } of load("renaming.json")) {
    const renamed = await rename(new TextEncoder().encode(text), wordPairs(urls), pause);
    assert.equal(new TextDecoder().decode(renamed), out);
  }
});

test("dcz.json", async () => {
  for (const { base, delta, edits, sha256: wanted, what } of load("dcz.json")) {
    const made = await attempt(async () => sha256(await applyDelta(edited(file(delta), edits), file(base), { pause, limit })));
    assert.equal(made, wanted ?? "error", what);
  }
});

test("lists.json", async () => {
  const { base, cases, version } = load("lists.json");
  const entries = Object.entries(base).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const { bytes, magic, urls, what } of cases) {
    const read = () => readChanges(bytesOf(bytes), +version, entries, pause, magic === "XPK2");
    const made = await attempt(async () => (await read()).arrivals.map(({ url }) => url));
    assert.deepEqual(made, urls ?? "error", what);
  }
});

const { cases: packs, resourcemaps } = load("packs.json");

async function apply(sample, pack) {
  const base = resourcemaps[sample.base ?? sample.answer.base];
  const files = new Map(Object.values(base).map((entry) => [entry.sha256, file(`files/${entry.sha256}`)]));
  for (const missing of sample.missing ?? []) files.delete(missing);
  const held = { map: new Map(Object.entries(base)) };
  held.digest = await digestOf(held.map, pause);
  const map = await applyPack(pack, sample.answer, held, {
    pause, limit, file: async (digest) => files.get(digest),
    keep: async (url, entry, bytes) => {
      assert.equal(createHash("sha256").update(bytes).digest("hex"), entry.sha256);
      files.set(entry.sha256, bytes);
    },
  });
  return canonical(Object.fromEntries(map));
}

test("packs.json", async () => {
  for (const sample of packs) {
    const made = await attempt(() => apply(sample, edited(file(sample.pack), sample.edits)));
    assert.equal(made, sample.error ? "error" : canonical(resourcemaps[sample.answer.version]), sample.what);
  }
});

test("a flipped byte in a pack is detected or harmless", async () => {
  for (const sample of packs.filter(({ error, edits }) => !error && !edits)) {
    const pack = file(sample.pack);
    const right = canonical(resourcemaps[sample.answer.version]);
    for (let at = 0; at < pack.length; at++) {
      const made = await attempt(() => apply(sample, edited(pack, [{ at, xor: 0xff }])));
      assert.ok(made === "error" || made === right, `byte ${at} of ${sample.pack}`);
    }
  }
});

const firsts = load("first-packs.json");

/** The files of a first pack that a device without any has of it then, in the order in which they came. */
async function readFirst(sample, pack, piece, kept = []) {
  const entries = new Map(Object.values(firsts.resourcemaps[sample.resourcemap]).map((entry) => [entry.sha256.slice(0, 32), entry]));
  const sizes = new Map([...entries].map(([id, { size }]) => [id, size]));
  const reader = new FirstPack(sizes, async (id, bytes) => {
    const entry = entries.get(id);
    await check(entry, bytes, pause);
    assert.deepEqual(Buffer.from(bytes), Buffer.from(file(`files/${entry.sha256}`)));
    kept.push(entry.sha256);
  }, { pause, limit });
  // All of it is read, also behind the last file that is wanted.
  for (let at = 0; at < pack.length; at += piece) await reader.take(pack.subarray(at, at + piece));
  await reader.take(new Uint8Array(0), true);
  return kept;
}

test("first-packs.json", async () => {
  for (const sample of firsts.cases) {
    for (const piece of [1, 50, 1 << 20]) {
      const made = await attempt(() => readFirst(sample, edited(file(sample.pack), sample.edits), piece));
      assert.deepEqual(made, sample.error ? "error" : sample.files, sample.what);
    }
  }
});

test("a flipped byte in a first pack is detected or harmless", async () => {
  const [sample] = firsts.cases;
  const pack = file(sample.pack);
  for (let at = 0; at < pack.length; at++) {
    const kept = [];
    const made = await attempt(() => readFirst(sample, edited(pack, [{ at, xor: 0xff }]), 100, kept));
    assert.ok(made === "error" || kept.length >= sample.files.length - 1, `byte ${at}`);
  }
});

test("rollout.json", async () => {
  const { buckets, versions, ranges, rules, decisions } = load("rollout.json");
  for (const { bucket, install, seed } of buckets) assert.equal(await bucketOf(install, seed), bucket, `${install} ${seed}`);
  for (const { a, b, order } of versions) {
    const [left, right] = [appVersion(a), appVersion(b)];
    assert.equal(left && right && Math.sign(compareVersions(left, right)), order, `${a} ${b}`);
  }
  for (const sample of ranges) {
    assert.equal(attemptNow(() => liesIn(sample.app ?? undefined, appRange(sample.range))), sample.in ?? "error", JSON.stringify(sample));
  }
  for (const { rule, error } of rules) assert.equal(attemptNow(() => readRule(rule)) === "error", error === true, JSON.stringify(rule));
  for (const sample of decisions) assert.equal(await decide(sample), sample.in ?? "error", JSON.stringify(sample));
});

test("md5, of every length up to three blocks and of large ones", async () => {
  for (const length of [...Array(200).keys(), 65_536, 1_000_003]) {
    const bytes = new Uint8Array(randomBytes(length));
    assert.equal(await md5(bytes, pause), createHash("md5").update(bytes).digest("hex"), `${length} bytes`);
  }
});
