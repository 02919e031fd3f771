// First packs as the worker reads them, of make_first.py in the folder XCACHE_FRAMES, and as an update uses them.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Fault } from "../../public/runtime/src/protocol/fault.js";
import { FirstPack } from "../../public/runtime/src/protocol/first.js";
import { isWorth, offerOf } from "../../public/runtime/src/worker/first.js";
import { ZstdError } from "../../public/runtime/src/zstd/decoder.js";

const folder = process.env.XCACHE_FRAMES ?? "";
const needs = { skip: !folder };
const pause = async () => {};
const limit = 128 << 20;
const load = (name) => ({
  pack: new Uint8Array(readFileSync(`${folder}/${name}.xpk`)), list: JSON.parse(readFileSync(`${folder}/${name}.json`, "utf8")),
});
const sum = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Reads a pack in pieces; returns the sums of the files that were kept, in their order, and how many bytes it took. */
async function read(pack, wanted, { piece = pack.length, most = limit, kept = [] } = {}) {
  const sizes = new Map(wanted.map(({ sha256, size }) => [sha256.slice(0, 32), size]));
  const reader = new FirstPack(sizes, async (id, bytes) => {
    assert.ok(sizes.has(id) && sum(bytes).startsWith(id), "a file of other bytes");
    kept.push(sum(bytes));
  }, { pause, limit: most });
  let at = 0;
  while (at < pack.length && !reader.isDone) {
    await reader.take(pack.subarray(at, at + piece));
    at += piece;
  }
  if (!reader.isDone) await reader.take(new Uint8Array(0), true);
  return { kept, taken: Math.min(at, pack.length) };
}

test("a first pack in pieces of any size", needs, async () => {
  const { pack, list } = load("first");
  const all = list.map(({ sha256 }) => sha256);
  for (const piece of [1, 13, 100, 5000, 1 << 20]) assert.deepEqual((await read(pack, list, { piece })).kept, all, `${piece} bytes`);
});

test("what isn't wanted is passed over, and behind the last file that is nothing is taken", needs, async () => {
  const { pack, list } = load("first");
  const { kept, taken } = await read(pack, [list[1], list[3]], { piece: 100 });
  assert.deepEqual(kept, [list[1].sha256, list[3].sha256]);
  assert.ok(taken < pack.length / 3, `${taken} of ${pack.length} bytes`);
  assert.equal((await read(pack, [], { piece: 100 })).taken, 200);
});

test("a damaged pack ends with an error; what came before is right", needs, async () => {
  const { pack, list } = load("first");
  const all = list.map(({ sha256 }) => sha256);
  const refused = async (bytes, what, options) => {
    const kept = [];
    await assert.rejects(read(bytes, list, { piece: 1000, kept, ...options }), (error) => error instanceof Fault || error instanceof ZstdError, what);
    assert.deepEqual(kept, all.slice(0, kept.length), what);
    return kept.length;
  };
  for (const end of [3, 20, 60, 200, 20_000, pack.length - 1]) await refused(pack.subarray(0, end), `${end} bytes`);
  assert.ok((await refused(pack.subarray(0, 60_000), "the middle")) >= 2, "nothing of a pack that ends too early was kept");
  await refused(Uint8Array.from([...pack, 0]), "a byte more");
  const edited = (at, byte) => Uint8Array.from(pack, (old, index) => (index === at ? byte : old));
  await refused(edited(3, 0x32), "another kind");
  await refused(edited(4, 0), "version 0");
  await refused(edited(5, 0), "no files");
  await refused(edited(5, 6), "a file less than are listed");
  await refused(edited(5, 8), "a file more than are listed");
  const [first, second] = list.map(({ sha256 }) => Buffer.from(pack).indexOf(Buffer.from(sha256.slice(0, 32), "hex")));
  await refused(edited(second + 16, pack[second + 16] ^ 1), "another size");
  // An empty file has no bytes that could be wrong.
  const twice = Uint8Array.from([...pack.subarray(0, 5), 8, 128 + 17, 1, ...pack.subarray(first, first + 17), ...pack.subarray(first)]);
  await refused(twice, "a file twice");
  await refused(pack, "more than it may stand for", { most: 400_000 });
  // Sizes of files that aren't wanted count, too.
  await assert.rejects(read(edited(second + 16, pack[second + 16] ^ 1), list.slice(6)));
});

test("80 MB take the memory of a window and a file", needs, async (context) => {
  const { pack, list } = load("large");
  const bytes = list.reduce((all, { size }) => all + size, 0);
  const used = () => process.memoryUsage().arrayBuffers / 1e6;
  globalThis.gc?.();
  const [before, begun] = [used(), performance.now()];
  let [most, count] = [0, 0];
  const sizes = new Map(list.map(({ sha256, size }) => [sha256.slice(0, 32), size]));
  const reader = new FirstPack(sizes, async (id, file) => {
    assert.ok(sum(file).startsWith(id));
    if (++count % 20 === 0) globalThis.gc?.();
    most = Math.max(most, used() - before);
  }, { pause, limit });
  for (let at = 0; at < pack.length; at += 1 << 16) await reader.take(pack.subarray(at, at + (1 << 16)));
  await reader.take(new Uint8Array(0), true);
  assert.equal(count, list.length);
  context.diagnostic(`${Math.round(bytes / (performance.now() - begun) / 1000)} MB/s with the check of SHA-256; ${most.toFixed(1)} MB at most`);
  if (globalThis.gc) assert.ok(most < 16, `${most} MB`);
});

test("which first packs are used", () => {
  const download = "https://o.example.com/xcache/shop/pack/0-12-0123456789abcdef.xpk";
  assert.deepEqual(offerOf({ download, size: 10, other: 1 }), { download, size: 10 });
  for (const wrong of [
    undefined, null, "0", [], {}, { download }, { size: 10 }, { download, size: 0 }, { download, size: "10" }, { download, size: 1.5 },
    { download: download.replace("0-12", "1-12"), size: 10 }, { download: download.replace("0-12", "0-0"), size: 10 },
    { download: download.replace("https:", "ftp:"), size: 10 }, { download: `${download}#x`, size: 10 }, { download: 5, size: 10 },
    { download: download.slice(download.indexOf("/xcache")), size: 10 }, { download: download.replace("abcdef", "abcde"), size: 10 },
  ]) assert.equal(offerOf(wrong), undefined, JSON.stringify(wrong));
  const files = (...sizes) => sizes.map((size, index) => [`${index}`, { sha256: `${index}`, size }]);
  assert.ok(isWorth({ size: 99 }, files(25, 25, 25, 25)));
  assert.ok(!isWorth({ size: 100 }, files(25, 25, 25, 25)), "as large as the files");
  assert.ok(!isWorth({ size: 1 }, files(500, 500, 500)), "three files");
  assert.ok(!isWorth({ size: 1 }, [...files(500, 500, 500), ["x", { sha256: "0", size: 500 }]]), "a file of two URLs");
});
