"""Workers that are stopped at each step of an update; and damaged stores."""
from bench import App, case, until
from steps import CACHE, second

# From its nth operation on, the worker's storage operations never complete, as if the browser stopped the worker there.
STOPS = """(() => {
  let left = %d;
  const ends = () => { if (--left < 0) self.isAtEnd = true; return left < 0; };
  for (const name of ['put', 'delete', 'keys', 'match']) {
    const own = Cache.prototype[name];
    Cache.prototype[name] = function (...words) { return ends() ? new Promise(() => {}) : own.apply(this, words); };
  }
  const { transaction } = IDBDatabase.prototype;
  IDBDatabase.prototype.transaction = function (...words) {
    return ends() ? { objectStore: () => ({ put() {} }) } : transaction.apply(this, words);
  };
})()"""


@case("a worker that ends at any step of an update: the page opens whole, and the next worker makes the update")
def _(bench):
    app = App(bench)
    tab = app.visited()
    version = step = 1
    while True:
        second(bench, app, version + 1, add={f"new{version + 1}.txt": b"new " * version})
        bench.worker(app).eval(STOPS % (step - 1))
        tab.eval("window.isDone = false; xcache.update({force: true}).then(() => { window.isDone = true; }); true")
        worker = bench.worker(app)
        until(lambda: worker.eval("self.isAtEnd === true") or tab.eval("window.isDone"), f"step {step}")
        isLast = not worker.eval("self.isAtEnd === true")
        bench.stop_worker(tab)
        app.web.stop()
        tab.open(app.base)
        opened = tab.until("window.version")
        assert opened in (version, version + 1), (step, opened)
        assert tab.eval("lazy()") == f"lazy {opened}" and tab.title() == f"version {opened}", step
        app.web.start()
        version += 1
        app.hold(tab)
        tab.open(app.base)
        assert tab.until("window.version") == version, step
        if isLast:
            break
        step += 1
    assert step > 8, f"{step} steps: an update has more"


@case("a database with something else in it: pages open, and the next update mends it")
def _(bench):
    app = App(bench)
    tab = app.visited()
    app.release(2)
    app.hold(tab)
    for number, (key, value) in enumerate((
            ("manifest", "7"), ("manifest", "{version: '2', digest: 'x'}"), ("manifest", "{version: '2', digest: 'x', map: new Map([['a', null]])}"),
            ("manifest", "{version: '2', digest: 'x', map: {}}"), ("aside", "new Map([['x', [null]]])"), ("aside", "'x'"), ("pages", "7"),
            ("backlog", "7"), ("health", "7"), ("used", "7"), ("tally", "7"), ("poll", "7"), ("policy", "7"), ("prefetch", "{data: 7}"),
            ("rollback", "'x'"), ("stranger", "1")), 3):
        tab.eval(f"""indexedDB.databases().then(([{{ name }}]) => new Promise((done) => {{
          indexedDB.open(name).onsuccess = ({{ target: {{ result }} }}) => {{
            const transaction = result.transaction('kept', 'readwrite');
            transaction.objectStore('kept').put({value}, '{key}');
            transaction.oncomplete = () => {{ result.close(); done(true); }};
          }}; }}))""")
        bench.stop_worker(tab)
        tab.open(app.base)
        assert tab.until("window.version") == number - 1, (key, value)
        app.release(number)
        app.hold(tab)
        tab.open(app.base)
        assert tab.until("window.version") == number and tab.state()["counts"]["local"] > 0, (key, value)


@case("every file in the cache is damaged, or another one's: the page opens, and the cache is whole again")
def _(bench):
    app = App(bench)
    tab = app.visited()
    for damage in ("new Response('damaged')", "new Response('')", "new Response(await (await c.match(all[0])).arrayBuffer())",
                   "new Response('x', {status: 404})"):
        tab.eval(f"""(async () => {{ const c = await {CACHE}; const all = await c.keys();
          for (const k of all) await c.put(k, {damage}); return true; }})()""")
        bench.stop_worker(tab)
        tab.open(app.base)
        tab.until("window.version === 1")
        assert tab.eval("lazy()") == "lazy 1"
        assert tab.fetch("help.html")["status"] == 200 and tab.fetch("xcache.js")["status"] == 200
        until(lambda: tab.update() and tab.state()["held"] == tab.state()["listed"], "every file")
        bench.stop_worker(tab)
        app.web.stop()
        bench.proxy.stop()
        tab.open(app.base)
        tab.until("window.version === 1")
        app.web.start()
        bench.proxy.start()
