/// A script that esbuild made of two files of TypeScript (0.17, --bundle --minify --sourcemap), and its source map. In V8 it fails with the
/// frames `r` at column 78, `n` at column 155 and none at column 160, all in line 1.
package enum BuiltScript {
  package static let text = #"""
    (()=>{function r(e){let t=0;for(let o of e)t+=o.price*o.count;if(t>1e3)throw new TypeError("too much: "+t);return t}function n(e){document.title="Total "+r(e)}n([{price:600,count:2}]);})();
    //# sourceMappingURL=app.js.map

    """#

  package static let map =
    #"{"version":3,"sources":["src/cart.ts","src/page.ts"],"sourcesContent":["export interface Item { price: number; count: number }\n\n// \"quoted\" comment, and a tab\there\nexport function totalOf(items: Item[]): number {\n  let total = 0\n  for (const item of items) total += item.price * item.count\n  if (total > 1000) throw new TypeError('too much: ' + total)\n  return total\n}\n","import { totalOf, Item } from './cart'\n\nfunction renderCart(items: Item[]) {\n  document.title = 'Total ' + totalOf(items)\n}\n\nrenderCart([{ price: 600, count: 2 }])\n"],"mappings":"MAGO,SAASA,EAAQC,EAAuB,CAC7C,IAAIC,EAAQ,EACZ,QAAWC,KAAQF,EAAOC,GAASC,EAAK,MAAQA,EAAK,MACrD,GAAID,EAAQ,IAAM,MAAM,IAAI,UAAU,aAAeA,CAAK,EAC1D,OAAOA,CACT,CCNA,SAASE,EAAWC,EAAe,CACjC,SAAS,MAAQ,SAAWC,EAAQD,CAAK,CAC3C,CAEAD,EAAW,CAAC,CAAE,MAAO,IAAK,MAAO,CAAE,CAAC,CAAC","names":["totalOf","items","total","item","renderCart","items","totalOf"]}"#
}
