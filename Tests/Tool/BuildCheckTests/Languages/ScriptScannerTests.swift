import Testing

@testable import BuildCheck

@Suite struct ScriptScannerTests {
  static let cases: [(script: String, found: [String])] = [
    ("import './a.js'", ["staticImport ./a.js"]),
    ("import\"./a.js\";import'./b.js';", ["staticImport ./a.js", "staticImport ./b.js"]),
    ("import a from './a.js'", ["staticImport ./a.js"]),
    ("import{a as b,default as c}from\"./a.js\";", ["staticImport ./a.js"]),
    ("import * as a from './a.js'", ["staticImport ./a.js"]),
    ("import a, {b} from './a.js' with {type: 'json'}", ["staticImport ./a.js"]),
    ("import from from './a.js'", ["staticImport ./a.js"]),
    ("import {\n  a, // 'x'\n  b /* from './x.js' */\n} from './a.js'", ["staticImport ./a.js"]),
    ("import {'a b' as c} from './a.js'", ["staticImport ./a.js"]),
    ("export * from './a.js'", ["staticImport ./a.js"]),
    ("export * as a from './a.js'", ["staticImport ./a.js"]),
    ("export {a} from './a.js'; export {b}; './c.js'", ["staticImport ./a.js"]),
    ("export const from = './a.js'", []),
    ("export default from => './a.js'", []),
    ("import('./a.js')", ["dynamicImport ./a.js"]),
    ("const a = () => import(/* webpackChunkName: 'x' */ `./a.js`)", ["dynamicImport ./a.js"]),
    ("import('./a.js', {with: {type: 'json'}})", ["dynamicImport ./a.js"]),
    ("import('./' + a)", []),
    ("import(`./${a}.js`)", []),
    ("a.import('./a.js')", []),
    ("a?.import('./a.js')", []),
    ("import.meta.url", []),
    ("new URL('a.png', import.meta.url)", ["moduleURL a.png"]),
    ("new URL(`a.png`,import.meta.url).href", ["moduleURL a.png"]),
    ("new URL('a.png', location.href)", []),
    ("new URL(a, import.meta.url)", []),
    ("x = \"import './a.js'\"", []),
    ("x = 'it\\'s'; import('./a.js')", ["dynamicImport ./a.js"]),
    ("x = `import './a.js' ${import('./b.js')} import('./c.js')`", ["dynamicImport ./b.js"]),
    ("x = `${`${a}`}`; import('./a.js')", ["dynamicImport ./a.js"]),
    ("x = `${{a: `}`}}`; import('./a.js')", ["dynamicImport ./a.js"]),
    ("// import './a.js'\n", []),
    ("/* import './a.js' */", []),
    ("x = /import '.\\/a.js'/; y = /[/'\"]/; import('./a.js')", ["dynamicImport ./a.js"]),
    ("x = a / b; import('./a.js'); y = c / d", ["dynamicImport ./a.js"]),
    ("if (a) /'/.test(b); import('./a.js')", ["dynamicImport ./a.js"]),
    ("x = (a) / 2; y = '/'; import('./a.js')", ["dynamicImport ./a.js"]),
    ("return /['\"`]/.test(x), import('./a.js')", ["dynamicImport ./a.js"]),
    ("x = {a: 1} / 2; y = \"/\"; import('./a.js')", ["dynamicImport ./a.js"]),
    ("function f() {}\n/'/.test(x); import('./a.js')", ["dynamicImport ./a.js"]),
    ("a++ / 2; b = '/'; import('./a.js')", ["dynamicImport ./a.js"]),
    ("x = a.return / 2; y = '/'; import('./a.js')", ["dynamicImport ./a.js"]),
    ("x = 1.5e+3 / 2; y = '/'; import('./a.js')", ["dynamicImport ./a.js"]),
    ("import './\\u0061\\x2ejs'", ["staticImport ./a.js"]),
    ("import './\\u{61}.js'", ["staticImport ./a.js"]),
    ("if (a) { import './a.js' }", []),
    ("{ export {a} from './a.js' }", []),
    ("#!/usr/bin/env node 'x\nimport './a.js'", ["staticImport ./a.js"]),
    ("x = 'a\nimport('./a.js')", ["dynamicImport ./a.js?"]),
    ("x()\n//# sourceMappingURL=a.js.map\n", ["sourceMap a.js.map"]),
    ("x = '//# sourceMappingURL=a.js.map'", []),
    ("class A { #b = 1; c() { return this.#b / 2 } }; import('./a.js')", ["dynamicImport ./a.js"]),
    (
      "const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=[\"./a.js\",\"../b.css\",\"c.css\"])))=>i.map(i=>d[i]);",
      ["moduleStyle ../b.css"]
    ),
    ("x = __vite__mapDeps([0, './a.css'])", []),
    ("import a, b, c, d;import('./a.js')", ["dynamicImport ./a.js"]),
  ]

  @Test(arguments: 0..<cases.count) func references(index: Int) {
    let (script, found) = Self.cases[index]
    #expect(ScriptScanner.content(Array(script.utf8)).references.map(\.shown) == found, "\(script)")
  }
}
