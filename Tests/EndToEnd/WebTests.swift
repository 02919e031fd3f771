import Glibc
import Manifests
import SocketServer
import System
import Testing
import TestSupport
import Values

@Suite("xcache web")
struct WebTests {
  private static let page = "<!doctype html><html><head><title>x</title></head><body></body></html>"

  private static let removed = "wrote xcache-sw.js\nwrote xcache-sw-packs.js\nwrote xcache.js\n"
  private static let wrote = removed + "wrote xcache-samples.js\n"

  private static func run(_ scratch: Scratch, _ words: String...) throws -> Outcome {
    try Outcome(Child([Binary.path, "web"] + words, environment: [:], in: scratch.path))
  }

  private static func text(_ scratch: Scratch, _ name: String) throws -> String {
    String(decoding: try DurableFile.read("\(scratch.path)/\(name)") ?? [], as: UTF8.self)
  }

  @Test("init writes the worker with its settings, and its script into each page, once")
  func initialises() throws {
    let scratch = try Scratch()
    try scratch.folder(
      "dist",
      ["index.html": Self.page, "help/a/index.HTML": Self.page, "help/b.html": "<SCRIPT src=x.js></SCRIPT>"])
    let words = [
      "web", "init", "--dir", "dist", "--app", "shop", "--server", "https://x.example.com/base/",
      "--fallback",
      "https://cdn.example.com", "--host", "*.static.example.com", "--limit", "50MB", "--stale-after", "7",
      "--inject",
    ]
    let polls =
      "browsers with this build poll https://x.example.com/base\n"
    let first = try Outcome(Child([Binary.path] + words, environment: [:], in: scratch.path))
    #expect(first.exitCode == 0, "\(first.errors)")
    #expect(first.output == Self.wrote + "wrote help/b.html\nwrote index.html\n" + polls)
    let worker = try Self.text(scratch, "dist/xcache-sw.js")
    let head = #"""
      self.xcacheSettings={"app":"shop","fallback":"https://cdn.example.com","goesBack":true,"hosts":["*.static.example.com"],"limit":50000000,"server":"https://x.example.com/base","staleAfter":7};
      """#
    #expect(worker.hasPrefix(head + "\n(()=>{"), "\(worker.prefix(300))")
    #expect(try Self.text(scratch, "dist/xcache.js").hasPrefix("self.xcacheSettings={};\n"))
    // The embedded files equal those in the repository.
    let built = try DurableFile.read("\(Repository.root)/public/runtime/dist/xcache-sw.js")
    #expect(built.map { worker == head + "\n" + String(decoding: $0, as: UTF8.self) } == true)
    for name in ["xcache-sw-packs.js", "xcache-samples.js"] {
      let built = try DurableFile.read("\(Repository.root)/public/runtime/dist/\(name)")
      let written = try DurableFile.read("\(scratch.path)/dist/\(name)")
      #expect(built != nil && built == written)
    }
    #expect(
      try Self.text(scratch, "dist/index.html")
        == "<!doctype html><html><head><title>x</title><script src=\"xcache.js\" defer></script></head><body></body></html>"
    )
    #expect(
      try Self.text(scratch, "dist/help/b.html")
        == "<script src=\"../xcache.js\" defer></script><SCRIPT src=x.js></SCRIPT>")
    let again = try Outcome(Child([Binary.path] + words, environment: [:], in: scratch.path))
    #expect(again.output == Self.wrote + polls)
    let never = try Outcome(
      Child([Binary.path] + words + ["--no-go-back"], environment: [:], in: scratch.path))
    #expect(
      never.output == Self.wrote + polls
        + "they don't go back to the version before if pages of a new one fail\n")
    #expect(try !Self.text(scratch, "dist/xcache-sw.js").prefix(500).contains("goesBack"))
  }

  @Test("A build's own worker is refused unless it is named; then it imports the runtime's")
  func ownWorker() throws {
    let scratch = try Scratch()
    try scratch.folder(
      "dist", ["index.html": Self.page, "sw.js": "self.addEventListener('fetch', () => {})"])
    let settings = ["--app", "shop", "--server", "https://x.example.com"]
    func run(_ more: String...) throws -> Outcome {
      try Outcome(
        Child(
          [Binary.path, "web", "init", "--dir", "dist"] + settings + more, environment: [:], in: scratch.path)
      )
    }
    let refused = try run()
    #expect(refused.exitCode == 3 && refused.errors.contains("--worker sw.js"), "\(refused.errors)")
    #expect(try DurableFile.read("\(scratch.path)/dist/xcache-sw.js") == nil)
    #expect(try run("--worker", "sw.js").exitCode == 3)
    #expect(try run("--worker", "sw.js", "--inject").exitCode == 0)
    #expect(try Self.text(scratch, "dist/sw.js").hasPrefix("importScripts(\"xcache-sw.js\");\nself.add"))
    #expect(
      try Self.text(scratch, "dist/xcache.js").hasPrefix("self.xcacheSettings={\"worker\":\"sw.js\"};\n"))
    #expect(try run("--worker", "sw.js").exitCode == 0)
  }

  @Test(
    "init --inject reports pages it can't change: none, UTF-16, a policy that forbids the script; a second run changes nothing"
  )
  func warnsOfPages() throws {
    let scratch = try Scratch()
    let words = ["--app", "shop", "--server", "https://x.example.com", "--inject"]
    func run(_ folder: String, _ more: String...) throws -> Outcome {
      try Outcome(
        Child(
          [Binary.path, "web", "init", "--dir", folder] + words + more, environment: [:], in: scratch.path))
    }
    try scratch.folder("empty", ["readme.txt": "no page"])
    let empty = try run("empty")
    #expect(empty.exitCode == 0 && empty.errors.contains("empty has no page"), "\(empty.errors)")
    let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'nonce-x'\">"
    try scratch.folder("dist", ["index.html": policy, "a/wide.html": "\u{0}"])
    try DurableFile.write([0xFF, 0xFE, 0x3C, 0x00], to: "\(scratch.path)/dist/a/wide.html")
    let polls = "browsers with this build poll https://x.example.com\n"
    let first = try run("dist")
    #expect(first.exitCode == 1 && first.output == Self.wrote + "wrote index.html\n" + polls)
    #expect(first.errors.contains("index.html has a Content-Security-Policy"), "\(first.errors)")
    #expect(first.errors.contains("a/wide.html is UTF-16"), "\(first.errors)")
    #expect(try DurableFile.read("\(scratch.path)/dist/a/wide.html") == [0xFF, 0xFE, 0x3C, 0x00])
    let again = try run("dist")
    #expect(again.output == Self.wrote + polls && again.errors == first.errors)
    for worker in ["a/sw.js", "../sw.js", "xcache-sw.js"] {
      let refused = try run("dist", "--worker", worker)
      #expect(refused.exitCode == 2 && refused.errors.contains("by its name"), "\(refused.errors)")
    }
  }

  @Test(
    "init --inject inserts the script where browsers run it, with a URL that fits the page's base",
    arguments: [
      (
        "<head><template><script src=a.js></script></template></head>",
        "<head><template><script src=a.js></script></template>[]</head>"
      ),
      (
        "<style>/* <script> <!-- */</style><script src=a.js></script>",
        "<style>/* <script> <!-- */</style>[]<script src=a.js></script>"
      ),
      ("<head><meta content='<script>'></head>", "<head><meta content='<script>'>[]</head>"),
      ("<head></head><p>my-xcache.js or /xcache.js", "<head>[]</head><p>my-xcache.js or /xcache.js"),
      ("<script src=/my-xcache.js></script>", "[]<script src=/my-xcache.js></script>"),
      ("<script src='/x/xcache.js?1'></script>", "<script src='/x/xcache.js?1'></script>"),
      ("<script>import(\"./xcache.js\")</script>", "<script>import(\"./xcache.js\")</script>"),
      (
        "<base href=\"/shop/\"><script src=app.js></script>",
        "<base href=\"/shop/\">[/shop/]<script src=app.js></script>"
      ),
      (
        "<base href=\"https://cdn.test/\"><script src=app.js></script>",
        "<base href=\"https://cdn.test/\"><script src=app.js></script>"
      ),
      (
        "<template><template></template><script></script></template></head>",
        "<template><template></template><script></script></template>[]</head>"
      ),
    ])
  func injects(_ page: String, _ expected: String) throws {
    let scratch = try Scratch()
    try scratch.folder("dist", ["index.html": page, "app.js": "1"])
    let outcome = try Self.run(
      scratch, "init", "--dir", "dist", "--app", "shop", "--server", "https://x.example.com", "--inject")
    #expect(outcome.exitCode == (page.contains("cdn.test") ? 1 : 0), "\(outcome.errors)")
    var wanted = expected
    for prefix in ["", "/shop/"] {
      wanted = wanted.replacing("[\(prefix)]", with: "<script src=\"\(prefix)xcache.js\" defer></script>")
    }
    #expect(try Self.text(scratch, "dist/index.html") == wanted)
    #expect(outcome.errors.contains("<base href>") == page.contains("cdn.test"), "\(outcome.errors)")
  }

  @Test("init --inject fails for a page whose base URL is a template, and names it")
  func failsForTemplates() throws {
    let scratch = try Scratch()
    try scratch.folder(
      "dist", ["index.html": "<base href='{{ base_url }}/'><script src=./app.js></script>", "app.js": "1"])
    let outcome = try Self.run(
      scratch, "init", "--dir", "dist", "--app", "shop", "--server", "https://x.example.com", "--inject",
      "--json")
    #expect(outcome.exitCode == 1 && outcome.errors.contains("index.html"), "\(outcome.errors)")
    #expect(outcome.output.contains("\"skipped\":[\"index.html\"]"), "\(outcome.output)")
  }

  @Test("init --inject reports that it doesn't follow symbolic links")
  func reportsSymbolicLinks() throws {
    let scratch = try Scratch()
    try scratch.folder("dist", ["app.js": "1"])
    try scratch.folder("other", ["page.html": Self.page])
    #expect(symlink("../other/page.html", "\(scratch.path)/dist/index.html") == 0)
    let outcome = try Self.run(
      scratch, "init", "--dir", "dist", "--app", "shop", "--server", "https://x.example.com", "--inject")
    #expect(outcome.errors.contains("index.html is a symbolic link"), "\(outcome.errors)")
    #expect(try Self.text(scratch, "other/page.html") == Self.page)
  }

  @Test(
    "The import is inserted after directives; a comment isn't an import, and other bytes don't change",
    arguments: [
      ("'use strict'; go()", "'use strict';\n[]\n go()"),
      ("// a\n\"use strict\"\ngo()", "// a\n\"use strict\"\n[]\n\ngo()"),
      ("// importScripts(\"xcache-sw.js\")\ngo()", "[]\n// importScripts(\"xcache-sw.js\")\ngo()"),
      ("\"a\".length", "[]\n\"a\".length"), ("import('./x.js')", "[]\nimport('./x.js')"),
      (
        "/* a */ importScripts('https://m.test/xcache-sw.js')",
        "/* a */ importScripts('https://m.test/xcache-sw.js')"
      ),
    ])
  func insertsImport(_ worker: String, _ expected: String) throws {
    let scratch = try Scratch()
    try scratch.folder("dist", ["index.html": Self.page])
    let rest: [UInt8] = [0x0A, 0x2F, 0x2F, 0xE9, 0xFF]
    try DurableFile.write(Array(worker.utf8) + rest, to: "\(scratch.path)/dist/sw.js")
    let outcome = try Self.run(
      scratch, "init", "--dir", "dist", "--app", "shop", "--server", "https://x.example.com", "--inject",
      "--worker",
      "sw.js")
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    let wanted = expected.replacing("[]", with: "importScripts(\"xcache-sw.js\");")
    #expect(try DurableFile.read("\(scratch.path)/dist/sw.js") == Array(wanted.utf8) + rest)
  }

  @Test(
    "A worker that is a module is refused",
    arguments: ["import { a } from './a.js';", "go();import\"./a.js\"", "go();\nexport default 1"])
  func refusesModules(_ worker: String) throws {
    let scratch = try Scratch()
    try scratch.folder("dist", ["index.html": Self.page, "sw.js": worker])
    let outcome = try Self.run(
      scratch, "init", "--dir", "dist", "--app", "shop", "--server", "https://x.example.com", "--inject",
      "--worker",
      "sw.js")
    #expect(outcome.exitCode == 3 && outcome.errors.contains("sw.js is a module"), "\(outcome.errors)")
    #expect(try Self.text(scratch, "dist/sw.js") == worker)
  }

  @Test(
    "publish warns if a build with the worker has an index.html that isn't published under its folder's URL")
  func warnsOfIndex() throws {
    try Site.with { site in
      let folder = try site.scratch.folder(
        "web", ["index.html": Self.page, "xcache-sw.js": "1", "xcache-sw-packs.js": "1"])
      func publish(_ more: String...) throws -> Outcome {
        try Outcome(
          try site.start(
            [
              "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base,
              "--now",
            ] + more)
        )
      }
      let without = try publish()
      #expect(without.exitCode == 0 && without.errors.contains("Use --index"), "\(without.errors)")
      #expect(try !publish("--index").errors.contains("Use --index"))
    }
  }

  @Test("remove writes a worker that unregisters the runtime")
  func removes() throws {
    let scratch = try Scratch()
    try scratch.folder("dist", ["index.html": Self.page])
    #expect(try Self.run(scratch, "remove", "--dir", "dist").exitCode == 3)
    let outcome = try Self.run(scratch, "remove", "--dir", "dist", "--create")
    #expect(outcome.exitCode == 0 && outcome.output == Self.removed)
    #expect(try Self.text(scratch, "dist/xcache-sw.js").contains("unregister"))
    #expect(try Self.text(scratch, "dist/xcache.js").hasPrefix("//"))
    #expect(try Self.text(scratch, "dist/xcache-sw-packs.js").hasPrefix("//"))
    #expect(try DurableFile.read("\(scratch.path)/dist/xcache-samples.js") == nil)
  }

  @Test(
    "Missing options and files are named",
    arguments: [
      ([], "expected web init or web remove"), (["stop"], "unknown command \"web stop\""),
      (["init"], "--dir DIR"),
      (["init", "--dir", "dist"], "--app NAME"), (["init", "--dir", "dist", "--app", "a"], "--server URL"),
      (["init", "--dir", "gone", "--app", "a", "--server", "http://x"], "no such folder: gone"),
      (["init", "--dir", "dist", "--app", "a", "--server", "http://x", "--host", "*"], "hosts are names"),
      (["init", "--dir", "dist", "--app", "a", "--server", "http://x", "--limit", "many"], "is not a size"),
      (
        ["init", "--dir", "dist", "--app", "a", "--server", "http://x", "--stale-after", "-1"],
        "is not a number of days"
      ),
    ])
  func refuses(_ words: [String], _ says: String) throws {
    let scratch = try Scratch()
    try scratch.folder("dist", ["index.html": Self.page])
    let outcome = try Outcome(Child([Binary.path, "web"] + words, environment: [:], in: scratch.path))
    #expect(outcome.exitCode != 0 && outcome.errors.contains(says), "\(outcome.errors)")
  }

  @Test(
    "publish compares a site that answers after 300 ms, also in a dry run and if nothing changes, and remarks that it can't"
  )
  func comparesSite() throws {
    try Site.with { site in
      var server: SocketServer? = SocketServer { request in
        let policy = request.path.hasSuffix(".js") ? "default-src 'self'" : "script-src 'self'"
        let answer: [SocketServer.Step] = .answer(
          200, [("Content-Security-Policy", policy), ("Cache-Control", "no-store")])
        return [.sleep(milliseconds: 300)] + answer
      }
      let base = "\(server?.url ?? "")/"
      let folder = try site.scratch.folder("web", ["index.html": Self.page])
      #expect(try site.run("web", "init", "--dir", folder, "--app", "shop", "--inject").exitCode == 0)
      func publish(_ more: [String] = []) throws -> (warnings: [String], errors: String) {
        let words = [
          "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", base,
          "--index", "--json",
        ]
        let outcome = try Outcome(try site.start(words + more))
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        let document = try JSONValue.parse(Array(outcome.output.utf8))
        return (document["warnings"]?.array?.compactMap(\.string) ?? [], outcome.errors)
      }
      for more in [["--dry-run"], [], []] {
        let (warnings, errors) = try publish(more)
        #expect(warnings.contains { $0.contains("add \(site.url) to connect-src") }, "\(warnings)")
        for page in [base, base + "index.html"] {
          #expect(
            warnings.contains { $0.hasPrefix("\(page) has Content-Security-Policy from") }, "\(warnings)")
          #expect(warnings.contains { $0.contains("\(page) is answered with Cache-Control: no-store") })
        }
        #expect(warnings.allSatisfy { errors.contains("warning: \($0)\n") })
        #expect(!errors.contains("weren't compared"))
      }
      server = nil
      let (warnings, errors) = try publish()
      #expect(warnings.isEmpty && errors.contains("weren't compared with those of the site"), "\(errors)")
    }
  }

  @Test("publish warns if a build lacks the worker that the previous release had")
  func warns() throws {
    try Site.with { site in
      var files: Files = ["index.html": Self.page, "xcache-sw.js": "1", "xcache-sw-packs.js": "1"]
      func publish() throws -> Outcome {
        let folder = try site.scratch.folder("web", files)
        return try Outcome(
          try site.start([
            "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base,
            "--now",
            "--index",
          ]))
      }
      #expect(try !publish().errors.contains("service worker"))
      files["xcache-sw-packs.js"] = nil
      let without = try publish()
      #expect(
        without.exitCode == 0 && without.errors.contains("without xcache-sw-packs.js"), "\(without.errors)")
      files["xcache-sw.js"] = nil
      let second = try publish()
      #expect(second.exitCode == 0 && second.errors.contains("had a service worker"), "\(second.errors)")
      files["other.js"] = "2"
      #expect(try !publish().errors.contains("service worker"))
    }
  }
}
