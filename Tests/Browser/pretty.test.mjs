// Texts that the console formats have every token that they had:   node --expose-internals --test Tests/Browser/pretty.test.mjs [FILE…]
//
// With files (bundles as they are published), their tokens are compared, too. The tokens are read by the parser that node has built in.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { formatted, isDense, ScriptTokens } from "../../public/console/pretty.js";

const { parse } = createRequire(import.meta.url)("internal/deps/acorn/acorn/dist/acorn");
const here = new URL(".", import.meta.url).pathname;

/** The tokens of a script, as a parser that isn't ours reads them. */
function tokens(text) {
  const all = [];
  parse(text, { ecmaVersion: "latest", sourceType: "module", onToken: (one) => all.push(`${one.type.label} ${text.slice(one.start, one.end)}`) });
  return all;
}

function literals(text) {
  const [own, theirs] = [[], []];
  const reader = new ScriptTokens(text);
  for (let kind = reader.next(); kind; kind = reader.next()) if (kind === "pattern" || kind === "string") own.push(reader.token);
  parse(text, { ecmaVersion: "latest", sourceType: "module", onToken: (one) => {
    if (one.type.label === "regexp" || one.type.label === "string") theirs.push(text.slice(one.start, one.end));
  } });
  return [own, theirs];
}

const padding = `/*${" ".repeat(500)}*/`;
const withoutBlanks = (text) => text.replace(/\s/g, "");

const scripts = {
  divisions: "var a=b/c/d,e=(f)/g/h,i=j[0]/k/l,m=n++/o/p,q={}.x/r/s",
  patterns: "var a=/b;c/g,d=[/e\\/{f}/],g=h?/[/\"']/:/k/u;if(l)/m{/.test(n);while(0)/o}/.exec(p)",
  afterWords: "function a(b){return/;/.test(b)}var c=typeof/d/;for(const e of/f{/)g(e)",
  afterBlocks: "function a(){}/b{/.test(c);if(d){}/e;/.test(f)",
  afterObjects: "var a=function(){}/b/c,d=class{}/e/f,g=(()=>{})/h/i",
  templates: "var a=`b;{${c?`d}${e({f:1})}`:/`/.source}\n   g  ${h}`,i=j`k`;l(`${m}`)",
  choices: "var a=b?.5:c?d?.e:f?.[0],g=h??i",
  numbers: "var a=1..toString(),b=1.5e-7,c=0xe+1,d=1_000n,e=.5",
  // `+ +` and `- -` are no increments.
  signs: "var a=b+ +c,d=e- -f,g=h+ ++i,j=k-- - --l,m=!n--",
  classes: "class A{#a=1;static{b()}get c(){return this.#a/2}static*d(){yield[/e}/]}async*f(){}}",
  names: "var \\u0061b=1,ünï=2,$=3,_=4;a.return/5/6;a.if(7)/8/9",
  comments: "a()//b;{\n/*c{*/d()/**/;e()<!1",
  returns: "function a(){return\nb}var c=1\n/d/e",
  jsx: "var a=(0,b.jsx)(\"div\",{className:`c ${d}`,children:[(0,b.jsx)(e,{...f,g:h=>{i(h)}}),\"j; {k}\"]})",
  labels: "a:for(var b=0,c;b<9;b++){for(;;)continue a}do d();while(e);switch(f){case/g/.h:case 1:i;default:j}",
};

for (const [name, text] of Object.entries(scripts)) {
  test(`script: ${name}`, () => {
    const dense = `${padding};${text}`;
    const lines = formatted(dense, "text/javascript");
    assert.ok(lines.length > 1);
    assert.deepEqual(tokens(lines.join("\n")), tokens(dense));
    const [own, theirs] = literals(dense);
    assert.deepEqual(own, theirs);
  });
}

test("styles, data and markup keep their characters", () => {
  const cases = {
    "text/css": "@media(min-width:1px){a:hover,b>c{background:url(data:image/png;base64,{};,);content:\"};{\\\"\"}}/*;}*/d{--e:{f:1};g:url( 'h)i' )}",
    "application/json": "{\"a\":[1,-2.5e+3,{},[],{\"b}\":\"c\\\"],{\"}],\"d\":null}",
    "text/html": "<!doctype html><p title='a>b'>c <b>d</b><!-- <e> --><script>var f=\"<g>\",h=1;i(j)</script><style>k{l:m}</style><pre>n\n  o</pre><br><input value=p>",
    "image/svg+xml": "<?xml version=\"1.0\"?><svg><g><path d='M0 0'/></g><script>alert(1)</script></svg>",
  };
  for (const [type, text] of Object.entries(cases)) {
    const dense = type === "application/json" ? `[${text},"${"x".repeat(500)}"]` : `${text}${type === "text/css" ? padding : `<!--${"x".repeat(500)}-->`}`;
    const lines = formatted(dense, type);
    assert.ok(lines.length > 3, type);
    assert.equal(withoutBlanks(lines.join("\n")), withoutBlanks(dense), type);
  }
});

test("texts that people wrote, and other types, stay as they are", () => {
  assert.equal(isDense("a\n".repeat(1000)), false);
  assert.equal(formatted("a;b;c", "text/javascript"), null);
  assert.equal(formatted("x".repeat(1000), "text/plain"), null);
});

test("hostile texts take no square of their length", () => {
  const cases = { "{": "text/javascript", "/": "text/javascript", "`${": "text/javascript", "(": "text/javascript", "a=/[": "text/javascript", "\"\\": "text/javascript", "\\u{": "text/javascript",
    "/*": "text/css", "url(": "text/css", "u(\\": "text/css", "<script>": "text/html", "<a b='": "text/html", "<!--": "text/html", "<script></scrip": "text/html", "</": "text/html", "[": "application/json", "\"": "application/json" };
  for (const [part, type] of Object.entries(cases)) {
    const seconds = (characters) => { const text = part.repeat(characters / part.length); const start = performance.now(); formatted(text, type); return (performance.now() - start) / 1000; };
    seconds(50_000);
    const [small, large] = [seconds(100_000), seconds(800_000)];
    // Eight times the text; sixty-four times would be the square.
    assert.ok(large < 1 || large < small * 40, `${part}: ${small} s, then ${large} s`);
  }
});

const bundles = [`${here}../../public/runtime/dist/xcache-sw-packs.js`, ...process.argv.slice(2)];
for (const path of bundles) {
  test(`bundle: ${path.split("/").at(-1)}`, () => {
    const text = readFileSync(path, "utf8");
    const type = path.endsWith(".css") ? "text/css" : path.endsWith(".html") ? "text/html" : path.endsWith(".json") ? "application/json" : "text/javascript";
    const lines = formatted(text, type);
    if (!lines) { assert.equal(isDense(text), false); return; }
    assert.equal(withoutBlanks(lines.join("\n")), withoutBlanks(text));
    if (type !== "text/javascript") return;
    assert.deepEqual(tokens(lines.join("\n")), tokens(text));
    const [own, theirs] = literals(text);
    assert.deepEqual(own, theirs);
  });
}
