import Glibc
import System
import Testing
import TestSupport
import Values

/// `xcache smoke`, `preview` and `publish --smoke`, with a stand-in for the engine that can fail on request.
@Suite("Smoke tests of pages") struct SmokeTests {
  static let engine = DurableFile.parent(of: #filePath) + "/Engine/stand_in.py"

  static let page = "<!doctype html><title>Shop</title><body>hello<script src=a.js></script>"

  /// A folder with a build, and the notes that the stand-in writes.
  struct Bench {
    let scratch: Scratch
    let environment: [String: String]
    var notes: String { scratch.path + "/notes" }

    init(_ files: Files, mode: String = "") throws {
      scratch = try Scratch()
      try scratch.folder("dist", files)
      for name in ["tmp", "notes", "pictures"] { try Kernel.makeFolder("\(scratch.path)/\(name)") }
      environment = [
        "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": scratch.path, "TMPDIR": scratch.path + "/tmp",
        "SWIFT_BACKTRACE": "enable=no", "XCACHE_WEBKIT": SmokeTests.engine, "XCACHE_WEBKIT_MODE": mode,
        "XCACHE_WEBKIT_NOTES": scratch.path + "/notes",
      ]
    }

    func start(_ words: String...) throws -> Child {
      try Child([Binary.path] + words, environment: environment, in: scratch.path)
    }

    func smoke(_ more: String...) throws -> Outcome {
      let child = try Child(
        [Binary.path, "smoke", "dist"] + more + ["--base-url", Site.base], environment: environment,
        in: scratch.path)
      return try Outcome(child, seconds: 120)
    }

    func note(_ name: String) throws -> String {
      String(decoding: try DurableFile.read("\(notes)/\(name)") ?? [], as: UTF8.self)
    }

    /// Expects that no folder and no process is left.
    func expectNothingLeft(_ comment: Comment? = nil) throws {
      #expect(try Folder.textNames(scratch.path + "/tmp") == [], comment)
      for name in ["pid", "grandchild"] {
        guard let id = pid_t(try note(name)) else { continue }
        #expect(Wait.until(10) { kill(id, 0) != 0 || SmokeTests.isOver(id) }, "\(name) \(id) still runs")
      }
    }
  }

  /// Whether a process has ended, though its parent may not have waited for it yet.
  static func isOver(_ id: pid_t) -> Bool {
    let status = String(decoding: (try? DurableFile.read("/proc/\(id)/stat")) ?? [], as: UTF8.self)
    return status.isEmpty || status.contains(") Z ")
  }

  @Test("A build whose pages load passes, and leaves nothing behind") func fine() throws {
    let bench = try Bench([
      "index.html": Self.page, "a.js": "1", "part.html": "<p>part", "help/index.html": Self.page,
      "help/a.js": "2",
    ])
    let outcome = try bench.smoke("--screenshots", "pictures")
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    let lines = outcome.output.split(separator: "\n")
    #expect(
      lines.count == 3 && lines[0].hasPrefix("fine    \(Site.base)/index.html  2 requests"),
      "\(outcome.output)")
    #expect(lines[1].contains("/help/index.html") && lines[2].hasPrefix("2 pages fine, "))
    #expect(
      try Folder.textNames(bench.scratch.path + "/pictures") == ["1-index.html.png", "2-index.html.png"])
    let settings = try JSONValue.parse(Array(bench.note("settings").utf8))
    #expect(settings["confined"]?.bool == true && settings["offline"]?.bool == false)
    #expect(settings["hosts"]?.array == ["m.example.com"] && settings["width"]?.integer == 390)
    try bench.expectNothingLeft()
  }

  /// A build, and the expected message.
  static let failing: [(files: Files, says: [String])] = [
    (
      ["index.html": "<!doctype html><body>x<script>throw \"x is not a function\"</script>"],
      ["\(Site.base)/index.html:7:5: error: x is not a function [script]"]
    ),
    (["index.html": page], ["error: script \(Site.base)/a.js isn't in the build [missing]"]),
    (
      ["index.html": "<!doctype html><body><!--x--></body>"],
      ["error: nothing can be seen on the page [blank]"]
    ),
    (
      [
        "index.html": "<!doctype html><body>x<!--api /user--><!--console oops--><img src=/other/x.png>",
        "b.html": page,
      ],
      [
        "note: fetch https://m.example.com/user: not sent: a smoke test contacts no server",
        "index.html:3: note: console: oops",
        "note: image https://m.example.com/other/x.png", "1 of 2 pages failed: 1 error, 3 notes",
      ]
    ),
  ]

  @Test("A page that doesn't load gives exit code 3 and the reason", arguments: failing)
  func fails(_ files: Files, _ says: [String]) throws {
    let bench = try Bench(files)
    let outcome = try bench.smoke()
    #expect(outcome.exitCode == 3, "\(outcome.output)\(outcome.errors)")
    for words in says { #expect(outcome.output.contains(words), "\(outcome.output)") }
    let json = try JSONValue.parse(Array(bench.smoke("--json").output.utf8))
    #expect(json["code"]?.string == "smoke" && json["exitCode"]?.integer == 3)
    #expect(json["failedPages"]?.integer == 1 && json["pages"]?.array?.isEmpty == false)
    try bench.expectNothingLeft()
  }

  /// Faults of the engine, and the expected message.
  static let faults: [(mode: String, says: [String])] = [
    ("die-first", ["xcache-webkit exited before it was ready: exit code 1", "the display is on fire"]),
    ("refuse", ["xcache-webkit: Xvfb isn't installed: apt-get install xvfb"]),
    (
      "no-display",
      ["xcache-webkit: Xvfb, the display that pages are painted on, didn't start: it can't create its socket"]
    ),
    ("garbage-first", ["wrote something that isn't an answer: Gtk-WARNING"]),
    ("no-ready", ["no valid \"ready\"", "make webkit"]),
    ("garbage", ["wrote something that isn't an answer: {\"id\":1,"]),
    ("flood", ["a line of more than 67.1 MB"]),
    ("member", ["no valid \"requests\""]), ("unasked", ["sent an answer that nobody asked for: id 99"]),
    ("no-picture", ["a picture that isn't a PNG file"]),
  ]

  @Test(
    "An engine that dies, hangs or writes nonsense gives exit code 1 and the reason", arguments: faults)
  func misbehaves(_ mode: String, _ says: [String]) throws {
    let bench = try Bench(["index.html": Self.page, "b.html": Self.page, "a.js": "1"], mode: mode)
    // 67 MB can take longer than a second on a busy machine.
    let outcome = try bench.smoke(
      "--timeout", mode == "flood" ? "30" : "1", "--parallel", "2", "--screenshots", "pictures", "--json")
    let problem = try JSONValue.parse(Array(outcome.output.utf8))
    #expect(outcome.exitCode == 1 && problem["code"]?.string == "engine", "\(outcome.output)")
    for words in says { #expect(problem["detail"]?.string?.contains(words) == true, "\(outcome.output)") }
    #expect(!outcome.errors.contains("\u{1b}"))
    try bench.expectNothingLeft("\(mode)")
  }

  /// Faults of the engine on some pages, the pages that fail, and the expected message.
  static let pageFaults: [(mode: String, pages: [String], failed: [String], says: [String])] = [
    ("die", [], ["b.html"], ["exited on it: signal 9", "segmentation fault in the renderer"]),
    ("keeps-pipe", [], ["index.html", "b.html"], ["exited on it: signal 9"]),
    (
      "hang", ["index.html"], ["index.html"],
      ["didn't answer about \(Site.base)/index.html within 21 s and was stopped"]
    ),
  ]

  @Test(
    "A page on which the engine dies or hangs fails; the other pages are opened", arguments: pageFaults)
  func failsOnPages(_ mode: String, _ pages: [String], _ failed: [String], _ says: [String]) throws {
    let bench = try Bench(["index.html": Self.page, "b.html": Self.page, "a.js": "1"], mode: mode)
    let words = [Binary.path, "smoke", "dist"] + pages
    let child = try Child(
      words + ["--timeout", "1", "--parallel", "2", "--base-url", Site.base, "--json"],
      environment: bench.environment, in: bench.scratch.path)
    let outcome = try Outcome(child, seconds: 120)
    let document = try JSONValue.parse(Array(outcome.output.utf8))
    #expect(
      outcome.exitCode == 3 && document["code"]?.string == "smoke", "\(outcome.output)\(outcome.errors)")
    let wrong = (document["pages"]?.array ?? []).filter { $0["isFine"]?.bool == false }
    #expect(wrong.map { $0["url"]?.string } == failed.map { "\(Site.base)/\($0)" }, "\(outcome.output)")
    for words in says {
      #expect(wrong.last?["failure"]?.string?.contains(words) == true, "\(outcome.output)")
    }
    try bench.expectNothingLeft("\(mode)")
  }

  @Test("Of many pages, failed ones are listed first; missing resources of pages are reported") func many()
    throws
  {
    var files = Files(uniqueKeysWithValues: (10..<70).map { ("p\($0).html", Self.page) })
    files["a.js"] = "1"
    files["part.html"] = "<p>part"
    files["p69.html"] = "<!doctype html><body>x<script>throw \"broken\"</script>"
    let outcome = try Bench(files).smoke("--max-pages", "60")
    let lines = outcome.output.split(separator: "\n")
    #expect(
      outcome.exitCode == 3 && lines.first?.hasPrefix("failed  \(Site.base)/p69.html") == true,
      "\(outcome.output)")
    #expect(
      lines.count < 50 && lines.last?.hasPrefix("1 of 60 pages failed: 1 error") == true, "\(outcome.output)")
    #expect(
      outcome.errors.contains("not opened: \(Site.base)/part.html: no doctype"), "\(outcome.errors)"
    )
  }

  @Test(
    "Late, huge and unordered answers, with noise, from an engine that doesn't exit",
    arguments: [
      "reverse", "huge", "noise", "stubborn",
    ])
  func unusualAnswers(_ mode: String) throws {
    let bench = try Bench(
      ["index.html": Self.page + "<!--slow 0.3-->", "b.html": Self.page, "a.js": "1"], mode: mode)
    let outcome = try bench.smoke("--parallel", "2", "--json")
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    let pages = try JSONValue.parse(Array(outcome.output.utf8))["pages"]?.array ?? []
    // In the order of the pages, not of the answers.
    #expect(pages.map { $0["url"]?.string } == ["\(Site.base)/index.html", "\(Site.base)/b.html"])
    try bench.expectNothingLeft("\(mode)")
  }

  @Test("Ctrl-C ends the engine and removes its folders", arguments: [SIGINT, SIGTERM, SIGHUP])
  func interrupted(_ signal: Int32) throws {
    let bench = try Bench(["index.html": Self.page, "a.js": "1"], mode: "hang")
    let child = try bench.start("smoke", "dist", "--base-url", Site.base)
    #expect(try Wait.until(60) { try !bench.note("jobs").isEmpty })
    #expect(try Folder.textNames(bench.scratch.path + "/tmp").count == 1)
    child.signal(signal)
    #expect(try child.wait() == 128 + signal)
    #expect(child.standardOutput.isEmpty && child.standardError.isEmpty, "\(child.standardError)")
    try bench.expectNothingLeft()
  }

  @Test("The engine gets no token and no descriptor, and it ends when xcache is killed")
  func secrets() throws {
    let bench = try Bench(["index.html": Self.page, "a.js": "1"], mode: "hang")
    let secret = "xcache_0123456789ab_" + String(repeating: "0123456789abcdef", count: 4)
    let environment = bench.environment.merging(["XCACHE_TOKEN": secret, "AWS_SECRET_ACCESS_KEY": "s3cret"]) {
      $1
    }
    let child = try Child(
      [Binary.path, "smoke", "dist", "--base-url", Site.base], environment: environment,
      in: bench.scratch.path)
    #expect(try Wait.until(60) { try !bench.note("jobs").isEmpty })
    for name in try Folder.textNames(bench.notes) {
      let text = try bench.note(name)
      #expect(!text.contains(secret) && !text.contains("s3cret"), "\(name)")
    }
    let descriptors = try JSONValue.parse(Array(bench.note("descriptors").utf8)).array ?? []
    #expect(
      descriptors.count == 3 && descriptors.allSatisfy { $0.string?.hasPrefix("pipe:") == true },
      "\(descriptors)")
    child.signal(SIGKILL)
    _ = try child.wait()
    guard let id = pid_t(try bench.note("pid")) else { return #expect(Bool(false), "no process") }
    #expect(Wait.until(10) { kill(id, 0) != 0 || Self.isOver(id) })
  }

  @Test("If the engine isn't installed, or its path is wrong, the message has a hint")
  func missing() throws {
    let bench = try Bench(["index.html": Self.page])
    for (variables, says) in [
      (["PATH": "/nonexistent"], ["isn't installed", "make webkit", "XCACHE_WEBKIT"]),
      (["XCACHE_WEBKIT": "/nonexistent/x"], ["XCACHE_WEBKIT is /nonexistent/x, which is not a program"]),
    ] {
      var environment = bench.environment.merging(variables) { $1 }
      if variables["XCACHE_WEBKIT"] == nil { environment["XCACHE_WEBKIT"] = nil }
      // A copy of the program, so that no engine is found next to it.
      let copy = "\(bench.scratch.path)/bin/xcache"
      try Kernel.makeFolder(bench.scratch.path + "/bin")
      try? Kernel.remove(copy)
      if try !Kernel.link(Binary.path, to: copy) {
        try bench.scratch.write("bin/xcache", try DurableFile.read(Binary.path) ?? [])
        try Kernel.setMode(copy, to: 0o755)
      }
      let child = try Child(
        ["/usr/bin/env", copy, "smoke", "dist", "--base-url", Site.base, "--json"], environment: environment,
        in: bench.scratch.path)
      let outcome = try Outcome(child)
      let problem = try JSONValue.parse(Array(outcome.output.utf8))
      #expect(outcome.exitCode == 1 && problem["code"]?.string == "no-engine", "\(outcome.output)")
      for words in says { #expect(problem["detail"]?.string?.contains(words) == true, "\(outcome.output)") }
    }
  }

  @Test(
    "Pages can be given by path or URL if they are in the build; a build without pages has none")
  func pages() throws {
    let bench = try Bench(["index.html": Self.page, "a.js": "1", "b.html": Self.page])
    let named = try bench.smoke("/b.html?x=1#/cart", "\(Site.base)/index.html#top", "--json")
    let pages = try JSONValue.parse(Array(named.output.utf8))["pages"]?.array ?? []
    #expect(
      pages.map { $0["url"]?.string } == ["\(Site.base)/b.html?x=1#/cart", "\(Site.base)/index.html#top"])
    for word in ["c.html", "https://m.example.com/c.html", "https://m.example.org/index.html"] {
      let outcome = try bench.smoke(word)
      #expect(
        outcome.exitCode == 1 && outcome.errors.contains("\(word) isn't a page of the build"),
        "\(outcome.errors)")
    }
    let most = try bench.smoke("--max-pages", "1")
    #expect(
      most.exitCode == 0 && most.output.contains(", 1 more not opened (--max-pages)"),
      "\(most.output)")
    let index = try bench.smoke("/", "--index", "--json")
    let root = try JSONValue.parse(Array(index.output.utf8))["pages"]?.array?.first
    #expect(root?["url"]?.string == "\(Site.base)/", "\(index.output)\(index.errors)")
    try bench.scratch.write("xcache.json", #"{"smoke": {"ignore": ["b.*"]}}"#)
    #expect(try bench.smoke().output.contains("1 page fine, "))
    #expect(try bench.smoke("b.html").output.hasPrefix("fine    \(Site.base)/b.html"))
    let none = try Bench(["a.js": "1"])
    let outcome = try none.smoke()
    #expect(outcome.exitCode == 1 && outcome.errors.contains("the build has no page"), "\(outcome.errors)")
  }
}
