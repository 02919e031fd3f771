// The worker's rules that need no browser: polls, bypassed pages, prefetching, ranges.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { named, withoutOthers } from "../../public/runtime/src/protocol/members.js";
import { matches, readPattern } from "../../public/runtime/src/protocol/patterns.js";
import { stemOf } from "../../public/runtime/src/protocol/urls.js";
import { rangeOf } from "../../public/runtime/src/worker/answers.js";
import { readClock, serverTime } from "../../public/runtime/src/worker/clock.js";
import { isOverdue, misses } from "../../public/runtime/src/worker/missed.js";
import { PollPolicy, takes } from "../../public/runtime/src/worker/polling.js";
import { isBypassed, isKilled, readPolicy } from "../../public/runtime/src/worker/policy.js";
import { prefetchRequests, readPrefetch } from "../../public/runtime/src/worker/prefetch.js";
import { dropAside, trim } from "../../public/runtime/src/worker/room.js";
import { Tally } from "../../public/runtime/src/worker/tally.js";

const settings = { server: "https://o.example.com", hasFallback: true };

test("polls keep the interval, which the operator may stretch; force skips it", () => {
  const polls = new PollPolicy(settings);
  assert.equal(polls.begin(1_000_000), "origin");
  assert.equal(polls.begin(1_029_999), undefined);
  assert.equal(polls.begin(1_029_999, true), "origin");
  assert.equal(polls.begin(1_059_999), "origin");
  polls.answered("origin", 300);
  assert.equal(polls.begin(1_359_998), undefined);
  assert.equal(polls.begin(1_359_999), "origin");
  for (const [asked, counts] of [[1, 30], [99_999, 3600], ["60", 30], [undefined, 30]]) {
    polls.answered("origin", asked);
    assert.equal(polls.saved.interval, counts);
  }
  // A clock that was set back doesn't stop polls.
  assert.equal(polls.begin(5), "origin");
});

test("five failures lead to the copy; the origin is asked again after 30 s to 10 min, and one good answer leads back", () => {
  const polls = new PollPolicy(settings);
  let now = 1_000_000;
  for (let count = 1; count <= 5; count++) {
    assert.equal(polls.begin((now += 31_000)), "origin");
    polls.failed("origin", now, 0.5);
  }
  assert.equal(polls.saved.source, "mirror");
  assert.equal(polls.begin(now + 29_999, true), "mirror");
  // A failure of the copy doesn't affect the origin's wait.
  polls.failed("mirror", now, 0.5);
  const waits = [];
  for (let count = 0; count < 7; count++) {
    now = polls.saved.originDue;
    assert.equal(polls.begin(now, true), "origin");
    polls.failed("origin", now, 0.5);
    waits.push((polls.saved.originDue - now) / 1000);
  }
  assert.deepEqual(waits, [60, 120, 240, 480, 600, 600, 600]);
  polls.failed("origin", now, 0);
  assert.equal(polls.saved.originDue - now, 480_000);
  polls.failed("origin", now, 1);
  assert.equal(polls.saved.originDue - now, 720_000);
  // The saved state is used by the next worker if the server is the same.
  assert.equal(new PollPolicy(settings, structuredClone(polls.saved)).saved.source, "mirror");
  assert.equal(new PollPolicy({ ...settings, server: "https://p.example.com" }, polls.saved).saved.source, "origin");
  assert.equal(new PollPolicy({ ...settings, hasFallback: false }, polls.saved).saved.source, "origin");
  polls.answered("origin", undefined);
  assert.deepEqual([polls.saved.source, polls.saved.failures], ["origin", 0]);
});

test("without a copy only the origin is polled", () => {
  const polls = new PollPolicy({ ...settings, hasFallback: false });
  for (let count = 1; count <= 9; count++) {
    assert.equal(polls.begin(count * 31_000), "origin");
    polls.failed("origin", count * 31_000, 0.5);
  }
});

test("a copy's version is taken only if it is newer, the origin's if it differs", () => {
  const held = { version: "9", digest: "a" };
  for (const [version, digest, from, wanted] of [
    ["10", "b", "mirror", true], ["9", "b", "mirror", false], ["8", "b", "mirror", false], ["10", "b", "origin", true],
    ["8", "b", "origin", true], ["9", "b", "origin", true], ["9", "a", "origin", false],
  ]) assert.equal(takes({ version, digest }, from, held), wanted, `${version} ${digest} ${from}`);
});

test("patterns", () => {
  for (const [pattern, page, wanted] of [
    ["https://m.example.com/*", "https://m.example.com/", true],
    ["https://m.example.com/*", "http://m.example.com/", false],
    ["*://m.example.com/*", "http://m.example.com/x?y", true],
    ["https://*.example.com/pay*", "https://a.b.example.com/payment/1", true],
    ["https://*.example.com/pay*", "https://example.com/pay", true],
    ["https://*.example.com/*", "https://badexample.com/", false],
    ["https://*/a", "https://any.host/a", true],
    ["https://m.example.com:8443/*", "https://m.example.com/", false],
    ["https://m.example.com:443/*", "https://m.example.com/", true],
    ["https://m.example.com/a*b*c", "https://m.example.com/a-b-b-c", true],
    ["https://m.example.com/a*b*c", "https://m.example.com/a-c-b", false],
    ["https://m.example.com/ab*ba", "https://m.example.com/aba", false],
    ["https://m.example.com/p", "https://m.example.com/p?q=1", true],
    ["https://m.example.com/p?q=1", "https://m.example.com/p", false],
    ["https://m.example.com/p?q=*", "https://m.example.com/p?q=12", true],
    ["https://m.example.com/a%62c", "https://m.example.com/abc", true],
    ["HTTPS://M.example.com/x", "https://m.example.com/x", true],
    // An escaped * is no wildcard, and an empty query is one.
    ["https://m.example.com/a%2Ab", "https://m.example.com/a*b", true],
    ["https://m.example.com/a%2Ab", "https://m.example.com/aXb", false],
    ["https://m.example.com/ab?", "https://m.example.com/ab?", true],
    ["https://m.example.com/ab?", "https://m.example.com/ab", false],
    ["https://m.example.com/ab?*", "https://m.example.com/ab?", true],
    ["https://m.example.com/ab?*", "https://m.example.com/ab?#x", true],
  ]) assert.equal(matches(readPattern(pattern), page), wanted, `${pattern} ${page}`);
  for (const text of ["m.example.com/*", "ftp://a/*", "https://a", "https://a*.b/*", "https:///x", "https://a/#x", 7, null, "https://a/\n", `https://a/${"x".repeat(1100)}`, `https://a/${"\u00e9".repeat(400)}`]) {
    assert.equal(readPattern(text), undefined, String(text));
  }
});

test("the kill switch and bypass patterns end at their times", () => {
  const soon = Date.parse("2026-01-01T00:00:00Z");
  const data = {
    version: "3", intercept: false, until: "2026-01-01T00:00:00Z", bypass: ["https://a/*", "https://b/*", "https://c/*", "nonsense"],
    bypassUntil: { "https://b/*": null, "https://c/*": "2027-01-01T00:00:00Z" },
  };
  const policy = readPolicy({ code: 200, data });
  assert.deepEqual([isKilled(policy, soon - 1), isKilled(policy, soon)], [true, false]);
  for (const [page, at, wanted] of [
    ["https://a/", soon - 1, true], ["https://a/", soon, false], ["https://b/", soon * 2, true], ["https://c/", soon, true],
    ["https://c/", Date.parse("2027-01-01T00:00:00Z"), false],
  ]) assert.equal(isBypassed(policy, page, at), wanted, `${page} ${at}`);
  for (const document of [null, {}, { code: 404 }, { code: 200, data: { version: "3" } }, { code: 200, data: { version: 3, intercept: true } }]) {
    assert.equal(readPolicy(document), undefined);
  }
});

test("prefetch requests: queries and bodies", () => {
  const config = readPrefetch({
    code: 200,
    data: {
      version: "4",
      config: [
        {
          url: "https://m.example.com/p.html",
          interfaces: [
            { api: "https://m.example.com/info", method: "get", urlParam: true },
            { api: "https://m.example.com/list?x=1", method: "GET", urlParam: true },
            {
              api: "https://m.example.com/sink", method: "POST", bodyParam: true, body: { id: 1, keep: {} },
              paramTypes: { n: "number", id: "number" },
            },
            { api: "https://m.example.com/put", method: "PUT" }, { api: 7, method: "GET" }, null,
          ],
        },
        { url: "https://m.example.com/p.html?only=1", interfaces: [] }, "nonsense",
      ],
    },
  });
  assert.deepEqual(prefetchRequests(config, "https://m.example.com/p.html?n=12&id=x&a=1+2&a=3&e#top"), [
    { url: "https://m.example.com/info?n=12&id=x&a=1+2&a=3&e", method: "GET" },
    { url: "https://m.example.com/list?x=1&n=12&id=x&a=1+2&a=3&e", method: "GET" },
    { url: "https://m.example.com/sink", method: "POST", body: '{"a":"1 2","e":"","id":"x","keep":{},"n":12}' },
  ]);
  assert.deepEqual(prefetchRequests(config, "https://m.example.com/p.html?only=1"), []);
  assert.deepEqual(prefetchRequests(config, "https://m.example.com/other.html"), []);
});

test("set-aside files are dropped after a day, or at once for space, also if the clock was set back; what an open page knows stays", async (t) => {
  const hour = 3600e3;
  const now = 1000 * hour;
  t.mock.method(Date, "now", () => now);
  globalThis.self = { clients: { matchAll: async () => [{ id: "open" }] } };
  t.after(() => delete globalThis.self);
  /** @type {[number, number, string[], boolean, boolean?][]} the versions of pages that are open; whether the file stays, and its note */
  const rows = [
    [24 * hour, now - hour, [], true], [24 * hour, now - 25 * hour, [], false], [24 * hour, now + hour, [], true],
    [24 * hour, now + 25 * hour, [], false], [0, now, [], false], [0, now - hour, [], false], [0, now + hour, [], false],
    [24 * hour, now - 25 * hour, ["5"], true], [24 * hour, now - 25 * hour, ["6"], false], [24 * hour, now - 25 * hour, ["3"], false],
    [0, now, ["5"], false, true],
  ];
  for (const [age, at, versions, stays, isNoted = stays] of rows) {
    const aside = new Map([["key", [{ entry: { download: "https://d/xcache/4/4/id/x" }, last: 5, at }]]]);
    const dropped = [];
    const runtime = {
      aside, manifest: { map: new Map() }, store: { write: async () => {} }, files: { drop: async (downloads) => void dropped.push(...downloads) },
      pages: new Map([["closed", { version: "5" }], ...versions.map((version) => ["open", { version }])]),
    };
    await dropAside(runtime, age);
    assert.equal(runtime.aside.size === 1, isNoted, `${age} ${at - now} ${versions}`);
    assert.deepEqual(dropped, stays ? [] : ["https://d/xcache/4/4/id/x"]);
  }
});

test("a poll interrupted by the end of the process counts as failed, a finished one doesn't", () => {
  let saved;
  let now = 1e12;
  const asked = [];
  for (let poll = 0; poll < 7; poll++) {
    const policy = new PollPolicy({ server: "a", hasFallback: true }, structuredClone(saved));
    asked.push(policy.begin((now += 31_000)));
    saved = policy.saved;
  }
  assert.deepEqual(asked, ["origin", "origin", "origin", "origin", "origin", "origin", "mirror"]);
  const well = new PollPolicy({ server: "a", hasFallback: true });
  for (let poll = 0; poll < 20; poll++) {
    assert.equal(well.begin((now += 31_000)), "origin");
    well.answered("origin", undefined, now);
  }
  assert.equal(well.saved.failures, 0);
});

test("failures are counted by days: on three at least, with none that is ahead of now", () => {
  const day = 24 * 3600e3;
  const after = (...days) => days.reduce((missed, at) => misses(missed, 1e12 + at * day), undefined);
  for (const [days, wanted] of [
    [[0], false], [[0, 31], false], [[0, 31, 31.001], false], [[0, 1, 31], true], [[0, 15, 29.9], false], [[0, 15, 29.9, 30], true],
    // A clock that went ahead, and came back.
    [[25_000, 0, 1, 2], false], [[0, 25_000, 25_001, 1, 2], false],
  ]) assert.equal(isOverdue(after(...days), 30), wanted, String(days));
  assert.deepEqual([0, 1, 2].map((days) => isOverdue(after(0, 1), days)), [false, true, false]);
});

test("a new server and a copy's answer leave the count of failed polls, an origin's and a newer version end it", () => {
  const polls = new PollPolicy({ ...settings });
  polls.failed("origin", 1e12, 0.5);
  const missed = { first: 1e12, last: 1e12, days: 1 };
  const next = new PollPolicy({ ...settings, server: "https://p.example.com" }, structuredClone(polls.saved));
  assert.deepEqual([next.saved.missed, next.saved.failures], [missed, 0]);
  next.answered("mirror", 30);
  assert.deepEqual(next.saved.missed, missed);
  next.answered("mirror", 30, true);
  assert.equal(next.saved.missed, undefined);
  polls.answered("origin", 30);
  assert.equal(polls.saved.missed, undefined);
});

test("a page's URL is parsed once, however many patterns a policy has", () => {
  const bypass = Array.from({ length: 40_000 }, (_, i) => `https://m.test/${i}/*`);
  const policy = readPolicy({ code: 200, data: { version: "1", intercept: true, bypass } });
  const { URL: own } = globalThis;
  let made = 0;
  globalThis.URL = class extends own {
    constructor(...words) {
      super(...words);
      made += 1;
    }
  };
  try {
    assert.equal(isBypassed(policy, "https://m.test/39999/x", 0), true);
    assert.equal(isBypassed(policy, "https://m.test/none", 0), false);
  } finally {
    globalThis.URL = own;
  }
  assert.equal(made, 2);
});

test("unneeded members of a document are skipped, whatever they contain", async () => {
  const named = new Set(["version", "bypass"]);
  const pruned = async (text) => JSON.parse(await withoutOthers(new TextEncoder().encode(text), named, async () => {}));
  const others = ['"\\\\\\"}],{"', "[[[]],{}]", '{"version":"9"}', "-1.5e3", "null", '"\u00e9\\u0041"', '{"a":"]","b":["}"]}'];
  for (const other of others) {
    for (const place of [`${other},"version":"1","bypass":["a}",{"b":[1]}]`, `0,"bypass":["a}",{"b":[1]}],"version":"1","z":${other}`]) {
      const text = ` { "x" : ${other} , "code":200,"data": {"y" :${place} } ,"w":${other}}\n`;
      const { code, data, ...rest } = JSON.parse(text);
      assert.deepEqual(await pruned(text), { code, data: { version: data.version, bypass: data.bypass } });
      assert.deepEqual(Object.keys(rest), ["x", "w"]);
      // Truncated documents are invalid.
      for (const count of [1, 5, text.length >> 1, text.length - 2]) await assert.rejects(pruned(text.slice(0, count)));
    }
  }
  // The last duplicate counts, as in JSON.parse; names may contain escapes.
  assert.deepEqual(await pruned('{"data":{"version":"1","\\u0076ersion":"2"}}'), { data: { version: "2" } });
  assert.deepEqual(await pruned('{"code":200,"data":7}'), { code: 200, data: 7 });
  for (const wrong of ['{"a":1,}', "{,}", '{"a" 1}', '{"a":1}x', '{"a":"', "[", '{"code":1 2}', '{"a":1', "{}{}"]) await assert.rejects(pruned(wrong), wrong);
});

test("versions named before an answer breaks off or becomes invalid are used", async () => {
  const read = (text) => named(typeof text === "string" ? new TextEncoder().encode(text) : text, async () => {});
  const answer = '{"code":200,"data":{"policy":"7","x":"\\"}","prefetch":"3","update":false,"version":"1"}}';
  for (let count = 0; count <= answer.length; count++) {
    const [policy, prefetch] = ['"7",', '"3",'].map((value) => answer.slice(0, count).includes(value));
    const expected = { ...(policy ? { policy: "7" } : {}), ...(prefetch ? { prefetch: "3" } : {}) };
    assert.deepEqual((await read(answer.slice(0, count))) ?? {}, expected, answer.slice(0, count));
  }
  assert.deepEqual(await read('\ufeff{"code":200,"data":{"policy":"7","interval":NaN,"x":'), { policy: "7" });
  assert.deepEqual(await read(`{"code":200,"data":{"x":${"[".repeat(500)}${"]".repeat(500)},"policy":"7"`), {});
  assert.deepEqual(await read(`{"code":200,"data":{"x":${"[".repeat(500)}${"]".repeat(500)},"policy":"7",`), { policy: "7" });
  for (const none of ["", "<html>", '{"code":20', '{"code":404,"data":{"policy":"7",', '{"data":{"policy":"7",', new Uint8Array([0xff, 0xfe])]) {
    assert.equal(await read(none), undefined, String(none));
  }
});

test("the server's time is known only from two dates that advanced like the device's clock", () => {
  const hour = 3600e3;
  const own = 1_800_000_000_000;
  const ahead = (readings) => {
    let clock;
    for (const [source, server, at] of readings) clock = readClock(clock, source, own + server, own + at);
    return own + readings.at(-1)[2] - serverTime(clock, own + readings.at(-1)[2]);
  };
  const first = ["origin", -5 * hour, 0];
  assert.equal(ahead([first]), 0);
  assert.equal(ahead([first, ["origin", -5 * hour + 31e3, 31e3]]), 5 * hour);
  assert.equal(ahead([first, ["origin", -5 * hour + 40e3, 31e3]]), 5 * hour - 9e3);
  assert.equal(ahead([["origin", 3 * hour, 0], ["origin", 4 * hour, hour]]), -3 * hour);
  // Cached; too close or too far apart; from two servers; less than two hours.
  for (const second of [["origin", -5 * hour, 31e3], ["origin", -5 * hour + 42e3, 31e3], ["origin", -5 * hour + 19e3, 19e3],
    ["origin", -2.9 * hour, 2.1 * hour], ["mirror", -5 * hour + 31e3, 31e3]]) assert.equal(ahead([first, second]), 0, String(second));
  assert.equal(ahead([["origin", -1.9 * hour, 0], ["origin", -1.9 * hour + 31e3, 31e3]]), 0);
  // It stays known until there is a newer reading or the clock is set back.
  const known = [first, ["origin", -5 * hour + 31e3, 31e3]];
  assert.equal(ahead([...known, ["origin", -5 * hour, 62e3]]), 5 * hour);
  assert.equal(ahead([...known, ["origin", 0, 0]]), 0);
  assert.equal(ahead([...known, ["origin", 3 * hour, 4 * hour], ["origin", 3 * hour + 31e3, 4 * hour + 31e3]]), 0);
  const clock = readClock(readClock(undefined, "origin", own - 5 * hour, own), "origin", own - 5 * hour + 31e3, own + 31e3);
  assert.deepEqual([own + 31e3, own + 30e3, own].map((at) => at - serverTime(clock, at)), [5 * hour, 0, 0]);
});

test("a file that is used while others are trimmed stays", async () => {
  const map = new Map(["a", "b", "c", "d"].map((download) => [download, { download, size: 100 }]));
  const used = new Map([["a", 1], ["b", 2], ["c", 3], ["d", 4]]);
  const dropped = [];
  const drop = async (downloads) => {
    dropped.push(...downloads);
    if (downloads.length > 0) used.set("b", 5);
  };
  const files = { used, drop, present: async () => new Set(map.keys()) };
  await trim({ files, manifest: { map }, aside: new Map(), settings: { limit: 200 }, store: { write: async () => {} } });
  assert.deepEqual(dropped, ["a", "c"]);
});

test("ranges are cut as by the native runtimes", () => {
  const source = readFileSync(new URL("../Common/HTTPTests/Semantics/SemanticsTests.swift", import.meta.url), "utf8");
  const table = [...source.matchAll(/\("([^"\n]*)", (\d+), \.(single\((\d+)\.\.<(\d+)\)|whole|unsatisfiable|several\(.*?\]\))\)/g)];
  assert.ok(table.length >= 27, `${table.length} rows of ByteRangesTests`);
  for (const [, text, length, kind, start, end] of table) {
    // Both answer one range alone.
    const expected = text.includes(",") || /^(whole|several)/.test(kind) ? undefined : kind === "unsatisfiable" ? null : [+start, +end];
    assert.deepEqual(rangeOf(text, +length), expected, `${text} of ${length}`);
  }
  for (const [text, expected] of [
    ["bytes=0-99999999999", [0, 10]], ["bytes = 0-1", undefined], ["bytes =0-1", undefined], ["bytes= 0-1", [0, 2]], ["bytes=0 -1", undefined],
    ["bytes=0- 1", undefined], ["bytes=0-1 ", [0, 2]], ["bytes=0-1,", [0, 2]], ["bytes=, 0-1", [0, 2]], ["bytes=,", undefined], ["", undefined],
  ]) assert.deepEqual(rangeOf(text, 10), expected, text);
  assert.equal(rangeOf(null, 10), undefined);
});

test("where polls are counted, each batch says how many, and 0 alone makes none (D-186)", () => {
  const when = { share: 10_000, isLast: true, now: 1_000_000 };
  const tally = new Tally();
  assert.equal(tally.take("1", { ...when, countsPolls: true }), undefined);
  tally.add("local");
  assert.deepEqual(tally.take("1", { ...when, countsPolls: true }), { counts: { local: 1, polls: 0 }, version: "1" });
  tally.add("polls");
  assert.deepEqual(tally.take("1", { ...when, countsPolls: true }), { counts: { polls: 1 }, version: "1" });
  tally.add("local");
  assert.deepEqual(tally.take("1", when), { counts: { local: 1 }, version: "1" });
});

test("a script's stem is its URL without the hash of its content", () => {
  const site = "https://app.example.com/assets/";
  const stems = {
    "index-DkHk2_x-.js": "index-.js", "main.b3a1f2c9.js": "main..js", "1234.0a1b2c3d.chunk.js": "1234..chunk.js",
    "0a1b2c3d4e.js": ".js", "app.js": "app.js", "app.js?v=1.12345678": "app.js?v=1.12345678",
  };
  for (const [name, stem] of Object.entries(stems)) assert.equal(stemOf(site + name), site + stem);
});
