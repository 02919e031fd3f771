// Pages that answer the routes of single-page apps: what an entry's `fallback` may be, and which page answers (docs/protocol.md §3 and §11).
import assert from "node:assert/strict";
import test from "node:test";
import { applyPatch, digestOf, readMap } from "../../public/runtime/src/protocol/entries.js";
import { checkFallbacks, fallbackOf as answering, routesOf } from "../../public/runtime/src/protocol/fallbacks.js";

const pause = async () => {};
const SITE = "https://m.test:8443";
const page = (path, ...fallback) => [SITE + path, { ctype: "text/html", fallback }];
const fallbackOf = (pages, url) => answering(routesOf(new Map(pages)), url);

test("what can be a fallback", () => {
  const most = Array.from({ length: 4 }, (_, n) => ({ prefix: `/${n}/`, except: Array.from({ length: 8 }, (_, m) => `/${n}/${m}/*`) }));
  for (const fallback of [undefined, [{ prefix: "/" }], most, [{ prefix: "//x/", later: [1] }], [{ prefix: "/caf\u00e9/", except: ["/*.*", "/a?b=*"] }]]) {
    assert.doesNotThrow(() => checkFallbacks(fallback), JSON.stringify(fallback));
  }
  for (const fallback of [
    null, {}, [], ["/"], [null], [[]], [{}], [{ prefix: 7 }], [{ prefix: "" }], [{ prefix: "app/" }], [{ prefix: "/app" }], [{ prefix: "/?/" }],
    [{ prefix: "/#/" }], [{ prefix: "/a\n/" }], [{ prefix: "/a\t/" }], [{ prefix: "https://m.test/" }], [{ prefix: "/" }, { prefix: "/" }],
    [{ prefix: "/a/../" }, { prefix: "/" }], [{ prefix: `/${"x".repeat(4096)}/` }], [...most, { prefix: "/4/" }],
    [{ prefix: "/", except: null }], [{ prefix: "/", except: "/x" }], [{ prefix: "/", except: [7] }], [{ prefix: "/", except: ["x"] }],
    [{ prefix: "/", except: ["/#x"] }], [{ prefix: "/", except: ["/a\tb"] }], [{ prefix: "/", except: ["/\n"] }],
    [{ prefix: "/", except: [`/${"x".repeat(1024)}`] }], [{ prefix: "/", except: [`/${"\u00e9".repeat(400)}`] }], [{ prefix: "/", except: most[0].except.concat("/9") }],
  ]) assert.throws(() => checkFallbacks(fallback), JSON.stringify(fallback));
});

test("an entry with one that can't be is refused, whole or by a patch", async () => {
  const entry = {
    ctype: "text/html", download: "https://m.test/x/1/1/a/index.html", md5: "0".repeat(32), sha256: "1".repeat(64), size: 1, version: "1",
  };
  const url = "https://m.test/index.html";
  const map = await readMap({ [url]: { ...entry, fallback: [{ prefix: "/" }] } }, pause);
  await assert.rejects(readMap({ [url]: { ...entry, fallback: [] } }, pause));
  await assert.rejects(applyPatch(map, { [url]: { fallback: [{ prefix: "x" }] } }, pause));
  // A list is replaced as a whole, and null takes it away.
  const other = await applyPatch(map, { [url]: { fallback: [{ prefix: "/a/" }] } }, pause);
  assert.deepEqual(other.get(url).fallback, [{ prefix: "/a/" }]);
  const without = await applyPatch(map, { [url]: { fallback: null } }, pause);
  assert.equal(await digestOf(without, pause), await digestOf(new Map([[url, entry]]), pause));
});

test("the longest prefix answers that nothing excepts a URL from, and of several pages the first", () => {
  const pages = [
    page("/z.html", { prefix: "/" }, { prefix: "/app/", except: ["/app/api/*", "/app/*.*", "/app/old?id=*"] }),
    page("/b.html", { prefix: "/app/docs/", except: ["/app/docs/raw/*"] }, { prefix: "/same/" }),
    page("/a.html", { prefix: "/same/", except: ["/same/b/*"] }, { prefix: "/%7Eme/" }),
    page("/a!.html", { prefix: "/same/" }),
    ["http://m.test/c.html", { ctype: "text/html", fallback: [{ prefix: "/app/docs/raw/" }] }],
    [`${SITE}/d.html`, { ctype: "text/html" }],
  ];
  for (const [path, wanted] of [
    ["/", "z"], ["/x", "z"], ["/app", "z"], ["/app/", "z"], ["/app/1?x.y", "z"], ["/app/docs/", "b"], ["/app/docs/a.b", "b"], ["/app/docs/raw/1", "z"],
    ["/app/docs/raw/1.x", "z"], ["/same/", "a!"], ["/same/b/1", "a!"], ["/~me/1", "a"], ["/%7Eme/1", "a"], ["/%7eme/1", "a"], ["/~m%65/1#x", "a"],
  ]) assert.equal(fallbackOf(pages, SITE + path), `${SITE}/${wanted}.html`, path);
  const alone = [page("/i.html", ...pages[0][1].fallback.slice(1))];
  for (const [path, wanted] of [
    ["/app/", true], ["/app/1", true], ["/app/old", true], ["/app/old?x&id=1", true], ["/app/a?b.c", true], ["/app/apis", true], ["/app/#a.b", true],
    ["/", false], ["/app", false], ["/App/", false], ["/x/app/", false], ["/app/api/", false], ["/app/%61pi/x", false], ["/app/a.js", false],
    ["/app/a.b/c", false], ["/app/old?id=1", false], ["/?/app/", false],
  ]) assert.equal(fallbackOf(alone, SITE + path), wanted ? `${SITE}/i.html` : undefined, path);
  for (const other of ["https://m.test/app/1", "http://m.test:8443/app/1", "https://m.test:84430/app/1", "https://x.m.test:8443/app/1", "https://a@m.test:8443/app/"]) {
    assert.equal(fallbackOf(alone, other), undefined, other);
  }
  assert.equal(fallbackOf([], `${SITE}/app/`), undefined);
});

test("only a page of HTML answers", () => {
  for (const [ctype, answers] of [
    ["text/html", true], [" text/html;x", true], ["Text/HTML;charset=UTF-8", true], ["application/xhtml+xml ; a=b", true], ["text/html5", false], ["text/plain;text/html", false],
    ["application/xml", false], ["", false], ["text/html-x", false],
  ]) assert.equal(fallbackOf([[`${SITE}/x`, { ctype, fallback: [{ prefix: "/" }] }]], `${SITE}/1`) !== undefined, answers, ctype);
});
