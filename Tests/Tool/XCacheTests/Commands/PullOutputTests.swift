import Manifests
import System
import Testing
import Values

@testable import xcache
@testable import XCacheDevice

/// The output of `pull` for an update, and the script that `web init` inserts into pages.
@Suite struct PullOutputTests {
  private static func report(_ kind: UpdateReport.Kind) -> UpdateReport {
    UpdateReport(kind, from: "8", to: "9")
  }

  @Test func noUpdate() {
    var early = Self.report(.notDue)
    early.wait = 1
    #expect(PullCommand.lines(early) == ["not due: the next poll is in 1 s (--force polls now)"])
    #expect(PullCommand.lines(early, isPull: false) == ["not due: the next poll is in 1 s"])
    // A pack that was interrupted went on without a poll.
    var pack = PackReport()
    pack.resumed = 1
    (early.pack, early.fetched, early.bytesFetched) = (pack, 12, 3_400_000)
    #expect(
      PullCommand.lines(early) == [
        "version 9: the download went on: 12 files, 3.4 MB; no poll, the next is due in 1 s (--force polls now)"
      ])
    early.pack?.failure = "it is damaged"
    #expect(
      PullCommand.lines(early).last
        == "the pack was unusable, so files were fetched one by one: it is damaged")
    var current = Self.report(.nothing)
    current.source = .fallback
    current.missing = 1
    #expect(
      PullCommand.lines(current) == [
        "the origin failed too often; using the static copy", "up to date: version 9",
        "1 listed file is missing; --complete fetches them",
      ])
    current.source = .origin
    current.missing = 2
    #expect(PullCommand.lines(current).last == "2 listed files are missing; --complete fetches them")
    current.lazy = 1
    #expect(
      PullCommand.lines(current).last
        == "1 lazy file isn't here: devices fetch it when a page asks, and --complete does")
    // Who reads the control page can't give an option.
    #expect(
      PullCommand.lines(current, isPull: false).suffix(2) == [
        "2 listed files are missing", "1 lazy file isn't here: devices fetch it when a page asks",
      ])
  }

  @Test(
    arguments: [
      (.pack, "by a pack"), (.patch, "by a patch"), (.whole, "by the whole manifest"),
    ] as [(UpdateReport.Kind, String)])
  func updates(kind: UpdateReport.Kind, how: String) {
    var report = Self.report(kind)
    (report.files, report.fetched) = (1, 1)
    #expect(
      PullCommand.lines(report) == [
        "version 8 → 9 \(how): 1 file, 0 B: 1 fetched, 0 copied, 0 kept; downloaded 0 B"
      ])
  }

  @Test func deltasOfAnUpdate() {
    var report = Self.report(.patch)
    (report.fetched, report.copied, report.kept, report.deltas, report.deltasFailed) = (2, 3, 4, 1, 1)
    (report.files, report.bytesFetched, report.bytesTotal) = (9, 1_500, 3_000)
    #expect(
      PullCommand.lines(report) == [
        "version 8 → 9 by a patch: 9 files, 3.0 KB: 2 fetched, 3 copied, 4 kept; downloaded 1.5 KB",
        "1 of them by a delta", "1 delta was unusable; whole files were fetched instead",
      ])
    (report.deltas, report.deltasFailed) = (2, 2)
    #expect(
      PullCommand.lines(report).suffix(2) == [
        "2 of them by deltas", "2 deltas were unusable; whole files were fetched instead",
      ])
  }

  // MARK: web init

  private static let line = #"<script src="xcache.js" defer></script>"#

  private static func injected(_ page: String, depth: Int = 0) -> String? {
    let outcome = PageInjection.injected(into: Array(page.utf8), depth: depth) {
      ["assets/a.js", "logo.svg"].contains($0)
    }
    guard case .line(let injected) = outcome else { return nil }
    return String(decoding: injected, as: UTF8.self)
  }

  /// Before the first script that runs, otherwise at the end of the head, otherwise after the doctype.
  @Test(arguments: [
    ("<head><SCRIPT src=a.js></SCRIPT></head>", "<head>|<SCRIPT src=a.js></SCRIPT></head>"),
    ("<head><title>é</title></HEAD><p>", "<head><title>é</title>|</HEAD><p>"),
    ("<!DOCTYPE html><p>", "<!DOCTYPE html>|<p>"), ("<p>", "|<p>"), ("", "|"), ("<!doctype", "|<!doctype"),
    (
      "<head><!--[if lt IE 9]><script src=old.js></script><![endif]--><script src=a.js></script>",
      "<head><!--[if lt IE 9]><script src=old.js></script><![endif]-->|<script src=a.js></script>"
    ),
    ("<!-- <script> --></head>", "<!-- <script> -->|</head>"),
    ("<!doctype html><!-- <script> </head>", "<!doctype html>|<!-- <script> </head>"),
    ("<!--><script>", "<!-->|<script>"),
  ])
  func pages(page: String, place: String) {
    #expect(Self.injected(page) == place.replacing("|", with: Self.line))
  }

  /// A template's condition could leave the line out, and a page of several heads needs it in each.
  @Test(arguments: [
    (
      "<html><head><title>{{ t }}</title>{% if a %}<script src=a.js></script>{% endif %}</head>",
      "<html><head>|<title>{{ t }}</title>{% if a %}<script src=a.js></script>{% endif %}</head>"
    ),
    (
      "<head>\n<meta charset=utf-8><% if (a) { %><script src=a.js></script><% } %>",
      "<head>\n<meta charset=utf-8>|<% if (a) { %><script src=a.js></script><% } %>"
    ),
    (
      "<head><?php if ($a): ?><script src=a.js></script><?php endif ?>",
      "<head>|<?php if ($a): ?><script src=a.js></script><?php endif ?>"
    ),
    ("<!doctype html><html lang=de>{{#if a}}<script>", "<!doctype html><html lang=de>|{{#if a}}<script>"),
    (
      "{% if a %}<head><script src=a.js></script></head>{% else %}<head></head>{% endif %}",
      "{% if a %}<head>|<script src=a.js></script></head>{% else %}<head>|</head>{% endif %}"
    ),
    (
      "{% if a %}<head><script src=xcache.js></script></head>{% else %}<head></head>{% endif %}",
      "{% if a %}<head><script src=xcache.js></script></head>{% else %}<head>|</head>{% endif %}"
    ),
    // No mark stands between.
    ("<head><script src=a.js></script>{{ t }}", "<head>|<script src=a.js></script>{{ t }}"),
    ("<p>{{ t }}", "|<p>{{ t }}"),
  ])
  func templates(page: String, place: String) {
    #expect(Self.injected(page) == place.replacing("|", with: Self.line))
  }

  @Test(arguments: [
    "{% extends \"base.html\" %}<script>1</script>", "{{#if a}}<p>{{/if}}",
    "\u{FEFF}\n<?php foot(); ?><script>",
    "<!-- part -->\n<%= yield %>",
  ])
  func partsOfPagesAreLeftAlone(page: String) {
    let outcome = PageInjection.injected(into: Array(page.utf8), depth: 0) { _ in false }
    #expect(outcome == .fragment)
  }

  /// A server fills it in for the line as for the page's own scripts.
  @Test(arguments: [
    ("nonce=\"{{ csp_nonce }}\"", " nonce=\"{{ csp_nonce }}\""),
    ("nonce='<%= n(\"a\") %>'", " nonce='<%= n(\"a\") %>'"),
    ("nonce=abc", " nonce=\"abc\""), ("nonce", ""),
    // The tokenizer sees the end of the value at the inner quote, or at the blank.
    ("nonce=\"{{ n(\"a\") }}\"", ""), ("nonce={{ n }}", ""),
  ])
  func nonces(attribute: String, copied: String) {
    let page = "<head><script \(attribute) src=a.js></script></head>"
    let line = Self.line.replacing(" defer", with: copied + " defer")
    #expect(Self.injected(page) == page.replacing("<head>", with: "<head>\(line)"))
    let policy = PagePolicy(of: Array((Self.injected(page) ?? "").utf8))
    #expect(policy.lacksNonce == (copied.isEmpty && attribute != "nonce"))
  }

  @Test func aCopiedNonceSatisfiesThePolicy() {
    let page =
      "<head><meta http-equiv=Content-Security-Policy content=\"script-src 'nonce-{{n}}'; worker-src 'self'\"><script nonce='{{n}}'>"
    #expect(PagePolicy(of: Array(page.utf8)).advice == ["add 'self' to script-src, which refuses xcache.js"])
    #expect(PagePolicy(of: Array((Self.injected(page) ?? "").utf8)).advice.isEmpty)
  }

  @Test func pagesWithTheScript() {
    #expect(Self.injected("<head>\(Self.line)</head>") == nil)
    #expect(Self.injected("<head><script src=../XCache.js></script></head>") == nil)
    // In a comment, it isn't loaded.
    #expect(Self.injected("<!--\(Self.line)--></head>") == "<!--\(Self.line)-->\(Self.line)</head>")
    #expect(Self.injected("<p>", depth: 2) == #"<script src="../../xcache.js" defer></script><p>"#)
  }

  /// A page with absolute references, as Vite writes them, gets an absolute one, as it may be served at any path.
  @Test(arguments: [
    (#"<script type="module" src="/assets/a.js"></script>"#, 0, "/xcache.js"),
    (#"<link href='/shop/logo.svg'><script src=x.js>"#, 1, "/shop/xcache.js"),
    ("<SCRIPT src=x.js></SCRIPT><img src=/shop/v2/assets/a.js?v=1>", 0, "/shop/v2/xcache.js"),
    (#"<link href="/assets/gone.js"><a href="/"><img src="//cdn/logo.svg">"#, 1, "../xcache.js"),
    (#"<!-- <link href="/logo.svg"> --><img src="assets/a.js">"#, 2, "../../xcache.js"),
    (#"<a href="/x/../logo.svg">"#, 0, "xcache.js"),
    ("<SCRIPT SRC = '/shop/assets/a.js'>", 1, "/shop/xcache.js"),
    ("<Base\tHREF = '/shop/'><img src=logo.svg>", 1, "/shop/xcache.js"),
    ("<base\nhref=/shop/index.html><img src=logo.svg>", 1, "/shop/xcache.js"),
    ("<base href=/shop/><img src=./logo.svg>", 1, "/shop/xcache.js"),
    ("<basefont href=/shop/><img src=logo.svg>", 1, "../xcache.js"),
  ])
  func scriptPathsFollowThePages(page: String, depth: Int, path: String) {
    #expect(Self.injected(page, depth: depth)?.contains(#"<script src="\#(path)" defer></script>"#) == true)
  }

  @Test(arguments: [
    ("default-src 'self'", []), ("script-src https:", []), ("img-src 'none'", []),
    ("default-src 'none'; script-src 'self' m.example.com; worker-src 'self'", []),
    ("script-src-elem 'nonce-x'; worker-src *", ["add 'self' to script-src-elem, which refuses xcache.js"]),
    ("script-src 'self'; worker-src blob:", ["add worker-src 'self': worker-src refuses xcache-sw.js"]),
    (
      "DEFAULT-SRC 'none'",
      [
        "add 'self' to default-src, which refuses xcache.js",
        "add worker-src 'self': default-src refuses xcache-sw.js",
      ]
    ),
    (
      "script-src 'self' 'strict-dynamic' 'nonce-x'",
      [
        "script-src has 'strict-dynamic', which allows no script by its URL: give the line of xcache.js a nonce"
      ]
    ),
    ("require-trusted-types-for 'script'; trusted-types a b", ["add xcache to trusted-types"]),
    ("require-trusted-types-for 'script'; trusted-types a xcache", []),
    ("require-trusted-types-for 'script'", []),
  ])
  func contentSecurityPolicies(policy: String, advice: [String]) {
    for (quote, policy) in [("\"", policy), ("'", policy.replacing("'", with: "&#39;"))] {
      let page = "<head><META content=\(quote)\(policy)\(quote) http-equiv=Content-Security-Policy><p>"
      #expect(PagePolicy(of: Array(page.utf8)).advice == advice)
    }
    #expect(PagePolicy(of: Array("<meta name=x content=\"\(policy)\">".utf8)).advice.isEmpty)
  }

  // MARK: serve

  @Test(arguments: [
    ("started", "info", "started"), ("error: no disk", "error", "no disk"), ("warning: x", "warning", "x"),
    ("errors: 7", "info", "errors: 7"), ("error:", "info", "error:"),
    ("error: error: x", "error", "error: x"),
  ])
  func logLines(line: String, level: String, message: String) {
    #expect(
      ServeLog.document(line, at: "T") == #"{"level":"\#(level)","message":"\#(message)","time":"T"}"#)
    #expect(
      ServeLog.document("a\n\"\u{1B}", at: "T") == #"{"level":"info","message":"a\n\"\u001b","time":"T"}"#)
  }

  /// A pipe writes a limited number of bytes atomically, and a truncated document would be invalid.
  @Test(arguments: [
    String(repeating: "x", count: 5000), "e" + String(repeating: "\u{301}", count: 9000),
    "error: " + String(repeating: "\u{1}", count: 3999),
    "warning: " + String(repeating: "\u{1F680}", count: 2000),
  ])
  func longLines(message: String) throws {
    let text = ServeLog.line(message, at: "T", isJSON: false)
    #expect((2000...ServeLog.longest).contains(text.utf8.count) && text.utf8.starts(with: "T ".utf8))
    let document = ServeLog.line(message, at: "T", isJSON: true)
    #expect((2000...ServeLog.longest).contains(document.utf8.count))
    let logged = try JSONValue.parse(Array(document.utf8))["message"]?.string
    #expect(logged?.hasSuffix("…") == true)
    #expect(ServeLog.line("short", at: "T", isJSON: false) == "T short")
  }
}
