import Manifests
import System
import Testing
import TestSupport
import Values

@testable import xcache

/// Commands that use only files, as whole command lines: `web`, `policy script`, and options of `serve`.
@Suite struct FileCommandTests {
  let folder: Scratch

  init() throws { folder = try Scratch() }

  private func text(_ name: String) throws -> String {
    String(decoding: try DurableFile.read("\(folder.path)/\(name)") ?? [], as: UTF8.self)
  }

  // MARK: web

  private func web(_ words: String...) -> (code: ExitCode, output: String, error: String) {
    CapturedTerminal.run(
      ["web"] + words + ["--dir", folder.path], environment: ["XDG_CONFIG_HOME": folder.path + "/none"])
  }

  private static let removed = "wrote xcache-sw.js\nwrote xcache-sw-packs.js\nwrote xcache.js\n"
  private static let written = removed + "wrote xcache-samples.js\n"

  private static func polls(_ scheme: String) -> String {
    "browsers with this build poll \(scheme)://o.example\n"
  }

  @Test func workerIsWritten() throws {
    let outcome = web(
      "init", "--app", "shop", "--server", "https://o.example", "--host", "*.cdn.example", "--limit", "50MB")
    #expect(
      outcome.code == .done
        && outcome.output.hasPrefix(Self.written + Self.polls("https") + "load it in each page: "))
    #expect(
      try text("xcache-sw.js").hasPrefix(
        #"self.xcacheSettings={"app":"shop","goesBack":true,"hosts":["*.cdn.example"],"limit":50000000,"server":"https://o.example"};"#
          + "\n"))
    #expect(try text("xcache.js").hasPrefix("self.xcacheSettings={};\n"))
    #expect(outcome.error.isEmpty)
  }

  /// Pages at any depth get the script once; other files don't change.
  @Test func pagesAreInjected() throws {
    try folder.write("index.html", "<script>1</script>")
    try folder.write("a/b/page.htm", "<head></head>")
    try folder.write("a/text.txt", "<script>")
    let words = ["init", "--app", "shop", "--server", "http://o.example", "--inject"]
    let first = CapturedTerminal.run(["web"] + words + ["--dir", folder.path])
    #expect(first.output == Self.written + "wrote a/b/page.htm\nwrote index.html\n" + Self.polls("http"))
    #expect(
      first.error == "warning: https pages can't load from http://o.example: give browsers an https URL\n")
    #expect(try text("index.html") == #"<script src="xcache.js" defer></script><script>1</script>"#)
    #expect(try text("a/b/page.htm") == #"<head><script src="../../xcache.js" defer></script></head>"#)
    #expect(try text("a/text.txt") == "<script>")
    #expect(
      CapturedTerminal.run(["web"] + words + ["--dir", folder.path]).output == Self.written
        + Self.polls("http"))
  }

  @Test func ownWorkerOfABuild() throws {
    try folder.write("sw.js", "self.addEventListener('fetch', answer)")
    let settings = ["--app", "shop", "--server", "https://o.example"]
    func run(_ more: String...) -> (code: ExitCode, output: String, error: String) {
      CapturedTerminal.run(["web", "init"] + settings + more + ["--dir", folder.path])
    }
    let unnamed = run()
    #expect(unnamed.code == .refused)
    #expect(
      unnamed.error
        == "xcache: the build already has a worker, sw.js, and a page can have only one: give --worker sw.js, which "
        + "imports this one with importScripts(\"xcache-sw.js\")\n")
    let named = run("--worker", "sw.js")
    #expect(
      named.code == .refused
        && named.error
          == "xcache: sw.js doesn't import the worker: add importScripts(\"xcache-sw.js\"); at its beginning, or use "
          + "--inject\n"
    )
    #expect(try text("xcache-sw.js").isEmpty)
    #expect(
      run("--worker", "sw.js", "--inject").output == Self.written + "wrote sw.js\n" + Self.polls("https"))
    #expect(try text("sw.js") == "importScripts(\"xcache-sw.js\");\nself.addEventListener('fetch', answer)")
    #expect(try text("xcache.js").hasPrefix(#"self.xcacheSettings={"worker":"sw.js"};"#))
    #expect(
      run("--worker", "sw.js", "--inject").output == Self.written + Self.polls("https")
        && run("--worker", "sw.js").code == .done)
  }

  /// Another file with that name isn't a service worker.
  @Test func otherFileWithTheWorkersName() throws {
    try folder.write("worker.js", "onmessage = work")
    #expect(web("init", "--app", "shop", "--server", "https://o.example").code == .done)
  }

  @Test func workerIsRemoved() throws {
    #expect(web("remove", "--create").output == Self.removed)
    #expect(try text("xcache.js") == "// xcache was removed from this site.\n")
    #expect(try text("xcache-sw.js").contains("unregister"))
    #expect(
      web("remove", "--json").output == #"{"written":["xcache-sw.js","xcache-sw-packs.js","xcache.js"]}"#
        + "\n")
  }

  /// Three files in a wrong folder would be deployed with it.
  @Test func removalWantsAWorker() throws {
    let outcome = web("remove")
    #expect(
      outcome.code == .refused
        && outcome.error
          == "xcache: \(folder.path) has no xcache-sw.js: give the folder that is published; after a fresh build, which "
          + "has none yet, add --create\n"
    )
    #expect(try DurableFile.read(folder.path + "/xcache.js") == nil)
  }

  @Test func removalNamesTheLineOfTheOwnWorker() throws {
    try folder.write("xcache-sw.js", "1")
    try folder.write("app.js", "// importScripts(\"xcache-sw.js\")")
    try folder.write("sw.js", "importScripts(\"xcache-sw.js\");")
    let outcome = web("remove")
    #expect(outcome.code == .done)
    #expect(
      outcome.error.hasSuffix(
        "sw.js has importScripts(\"xcache-sw.js\"): delete that line when no browser has the old worker any more, with "
          + "these files\n"), "\(outcome.error)")
    #expect(!outcome.error.contains("app.js"))
    #expect(
      web("remove", "--json").output
        == #"{"importedBy":["sw.js"],"written":["xcache-sw.js","xcache-sw-packs.js","xcache.js"]}"# + "\n")
  }

  /// A project's sources aren't changed, and what isn't part of the site isn't, either.
  @Test(arguments: [".git/config", "node_modules/a/index.js"])
  func projectsAreRefused(_ sign: String) throws {
    try folder.write(sign, "x")
    try folder.write("src/index.html", "<head></head>")
    let words = ["init", "--app", "shop", "--server", "https://o.example", "--inject"]
    func run(_ more: String...) -> (code: ExitCode, output: String, error: String) {
      CapturedTerminal.run(["web"] + words + more + ["--dir", folder.path])
    }
    let refused = run()
    #expect(
      refused.code == .refused && refused.error.contains("--force") && refused.error.contains("project"),
      "\(refused.error)")
    #expect(try text("src/index.html") == "<head></head>")
    #expect(run("--force").output.contains("wrote src/index.html"))
  }

  @Test func packagesAndHiddenFoldersAreLeftOut() throws {
    try folder.write("package.json", "{}")
    try folder.write("index.html", "<head></head>")
    for name in ["lib/node_modules/a/index.html", ".cache/index.html"] {
      try folder.write(name, "<head></head>")
    }
    let outcome = web("init", "--app", "shop", "--server", "https://o.example", "--inject")
    #expect(outcome.code == .done)
    #expect(outcome.output == Self.written + "wrote index.html\n" + Self.polls("https"))
    #expect(outcome.error.contains("has a package.json"), "\(outcome.error)")
    #expect(try text(".cache/index.html") == "<head></head>")
  }

  /// A CI job sees it: by its exit code, and in its document.
  @Test func pagesThatRefuseTheScriptFail() throws {
    let policy = "<meta http-equiv=Content-Security-Policy content=\"script-src 'none'\">"
    try folder.write("index.html", policy)
    try folder.write("part.html", "{% block a %}<p>{% endblock %}")
    let outcome = web("init", "--app", "shop", "--server", "https://o.example", "--inject", "--json")
    #expect(outcome.code == .failed)
    let document = try JSONValue.parse(Array(outcome.output.utf8))
    #expect(document["refused"] == ["index.html"] && document["skipped"] == ["part.html"])
    let warnings = document["warnings"]?.array?.compactMap(\.string) ?? []
    #expect(
      warnings.count == 3 && warnings[0].hasPrefix("index.html has a Content-Security-Policy"), "\(warnings)")
    #expect(warnings.last?.hasPrefix("part.html begins with a template's mark") == true, "\(warnings)")
  }

  @Test(arguments: [
    (["--limit", "0"], "--limit 0 is too small for a site; expected at least 1MB"),
    (["--limit", "10B"], "--limit 10B is too small for a site; expected at least 1MB"),
    (["--limit", "999KB"], "--limit 999KB is too small for a site; expected at least 1MB"),
    (["--limit", "lots"], "--limit lots is not a size such as 50MB"),
    (["--host", "*"], "--host *: hosts are names, or *.example.com"),
    (["--host", "a/b", "--host", "c"], "--host a/b c: hosts are names, or *.example.com"),
  ])
  func invalidWorkerSettings(words: [String], message: String) {
    let outcome = CapturedTerminal.run(
      ["web", "init", "--dir", folder.path, "--app", "shop", "--server", "https://o.example"] + words)
    #expect(outcome.code == .usage && outcome.error == "xcache: \(message)\nTry: xcache web --help\n")
  }

  // MARK: policy script

  /// A generated key signs what its public key verifies, and only its owner can read it.
  @Test func scriptsAreSigned() throws {
    let key = folder.path + "/key.pem"
    let made = CapturedTerminal.run(["policy", "script", "key", key])
    let publicKey = try #require(Base64.decode(String(made.output.dropLast())))
    #expect(made.code == .done && publicKey.count == Ed25519.keyCount)
    #expect(made.error.hasPrefix("use this as the app's scriptKey; \(key) is the private key"))
    #expect(try Kernel.status(key)?.mode == 0o600)
    let script = try folder.write("interceptor.js", "go()")
    let signed = CapturedTerminal.run(["policy", "script", "sign", script, "--key", key])
    let signature = try #require(Base64.decode(String(signed.output.dropLast())))
    #expect(Ed25519.verifies(signature, of: Array("go()".utf8), by: publicKey))
    #expect(!Ed25519.verifies(signature, of: Array("go() ".utf8), by: publicKey))
    let json = CapturedTerminal.run(["policy", "script", "sign", script, "--key", key, "--json"]).output
    #expect(
      json
        == #"{"publicKey":"\#(Base64.encode(publicKey))","sha256":"\#(SHA256.of(Array("go()".utf8)).hex)","#
        + #""signature":"\#(Base64.encode(signature))"}"# + "\n")
    let again = CapturedTerminal.run(["policy", "script", "key", key])
    #expect(again.code == .refused)
    #expect(again.error == "xcache: \(key) already exists and is not overwritten; choose another file name\n")
  }

  @Test func scriptAddedToAPolicy() throws {
    let key = folder.path + "/key.pem"
    #expect(CapturedTerminal.run(["policy", "script", "key", key]).code == .done)
    let script = try folder.write("a/interceptor.js", "go()")
    func adding(_ words: String...) throws -> (name: String?, message: String) {
      let arguments = try Arguments(
        ["script", "add", script] + words, options: PolicyCommand.command.options, environment: [:])
      let (request, message) = try PolicyScripts.adding(arguments)
      #expect(request.bytes == Base64.encode(Array("go()".utf8)))
      return (request.name, message)
    }
    let digest = SHA256.of(Array("go()".utf8)).hex
    let named = try adding("--key", key, "--name", "other")
    #expect(named.name == "other" && named.message == "script other, sha256 \(digest)")
    #expect(try adding("--key", key).name == "interceptor")
    let signature = Base64.encode([UInt8](repeating: 1, count: 64))
    #expect(try adding("--signature", signature).name == "interceptor")
    #expect(throws: UsageError.self) { try adding("--signature", signature, "--key", key) }
    #expect(throws: UsageError.self) { try adding("--signature", String(signature.dropLast(4))) }
    #expect(throws: UsageError.self) { try adding() }
  }

  @Test(arguments: [
    "", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
    "-----END PRIVATE KEY-----\nAAAA\n-----BEGIN PRIVATE KEY-----\n",
    "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n",
    "-----BEGIN PRIVATE KEY-----\nnot base64\n-----END PRIVATE KEY-----\n",
  ])
  func invalidKeys(text: String) throws {
    let key = try folder.write("key.pem", text)
    try Kernel.setMode(key, to: 0o600)
    let script = try folder.write("a.js", "go()")
    let outcome = CapturedTerminal.run(["policy", "script", "sign", script, "--key", key])
    #expect(outcome.code == .failed && outcome.output.isEmpty)
    #expect(outcome.error.hasPrefix("xcache: \(key) is not an Ed25519 key in PEM form, as "))
  }

  // MARK: serve

  private static func serve(_ words: [String], environment: [String: String] = [:]) throws -> Arguments {
    try Arguments(words, options: ServeCommand.command.options, environment: environment)
  }

  /// The destination of pushes: one word or two, on the command line or in the variable.
  @Test(
    arguments: [
      ([], "", "pull"), (["--cdn", "pull"], "", "pull"), (["--cdn", "push", "/www"], "", "folder /www"),
      ([], "push /www", "folder /www"), ([], "pull", "pull"), (["--cdn", "push /a b"], "", "folder /a b"),
    ] as [([String], String, String)])
  func pushDestinations(words: [String], variable: String, place: String) throws {
    let found = try ServeMirror.place(Self.serve(words, environment: ["XCACHE_CDN": variable]))
    switch found {
    case nil: #expect(place == "pull")
    case .folder(let path, _)?: #expect(place == "folder \(path)")
    case .s3?: Issue.record("no S3 was named")
    }
  }

  @Test(
    arguments: [
      (["--cdn", "sometimes"], "", "--cdn sometimes: expected pull or push DIR"),
      ([], "pull all", "XCACHE_CDN pull all: expected pull or push DIR"),
      (["--cdn", "push"], "", "DIR or s3://bucket/prefix after --cdn push is missing"),
      (["--cdn", "pull", "/www"], "", "unexpected argument: /www; did you mean --data /www?"),
      (["--cdn", "push /www", "/more"], "", "unexpected argument: /more; did you mean --data /more?"),
    ] as [([String], String, String)])
  func invalidPushDestinations(words: [String], variable: String, message: String) {
    let error = #expect(throws: UsageError.self) {
      try ServeMirror.place(Self.serve(words, environment: ["XCACHE_CDN": variable]))
    }
    #expect(error?.message == message)
  }

  @Test func formatsOfLogs() throws {
    for (option, words) in [("access-log-format", "common or json"), ("log-format", "text or json")] {
      let arguments = try Self.serve(["--\(option)", "xml"])
      let error = #expect(throws: UsageError.self) {
        if option == "log-format" {
          _ = try ServeLog.make(arguments, CapturedTerminal().terminal())
        } else {
          _ = try ServeLimits.accessLog(arguments) { _ in }
        }
      }
      #expect(error?.message == "--\(option) xml: expected \(words)")
    }
    #expect(ServeTLS.prometheusText(nil).isEmpty && ServeTLS.scheme(nil) == "http")
    let captured = CapturedTerminal()
    try ServeLog.make(try Self.serve(["--log-format", "json"]), captured.terminal())("error: no disk")
    #expect(captured.error.hasPrefix(#"{"level":"error","message":"no disk","time":"20"#))
  }

  @Test func certificateNeedsItsKey() throws {
    let error = #expect(throws: UsageError.self) {
      try ServeTLS.acceptor(Self.serve(["--tls-cert", "c.pem"])) { _ in }
    }
    #expect(error?.message == "--tls-cert needs --tls-key FILE, the certificate's private key")
    let other = #expect(throws: UsageError.self) {
      try ServeTLS.acceptor(Self.serve(["--tls-key", "k.pem"])) { _ in }
    }
    #expect(other?.message == "--tls-key needs --tls-cert FILE, the key's certificate")
  }

  // MARK: check

  @Test func disabledRules() throws {
    func options(_ words: String...) throws -> Set<String> {
      let arguments = try Arguments(words, options: CheckCommand.command.options, environment: [:])
      return Set(try CheckCommand.options(arguments, Settings()).off.map(\.rawValue))
    }
    #expect(try options() == [] && options("--no-check", "empty", "--no-check", "case") == ["empty", "case"])
    #expect(try options("--no-check", "empty", "--no-check", "all").count > 10)
    let near = #expect(throws: UsageError.self) { try options("--no-check", "emty") }
    #expect(near?.message == "--no-check emty is not a rule; did you mean empty?")
    let far = #expect(throws: UsageError.self) { try options("--no-check", "") }
    #expect(far?.message.hasPrefix("--no-check  is not a rule; it is one of missing, case, ") == true)
  }

  /// Errors come first, so that none is cut off in a long list.
  @Test func errorsComeFirst() throws {
    for index in 0..<50 { try folder.write("dist/a\(10 + index).png", "") }
    try folder.write("dist/z.html", "<!doctype html><meta charset=utf-8><script src=gone.js></script>")
    let words = ["check", folder.path + "/dist", "--base-url", "https://m.example.com/"]
    let lines = CapturedTerminal.run(words).output.split(separator: "\n")
    #expect(
      lines.count == 42 && lines[0].contains("/z.html:1:48: error: the script gone.js is not in the bundle"))
    #expect(lines[40] == "… and 11 more; --all lists them" && lines[41] == "1 error, 50 warnings in 51 files")
    #expect(CapturedTerminal.run(words + ["--all"]).output.split(separator: "\n").count == 52)
    let off = CapturedTerminal.run(words + ["--no-check", "missing", "--no-check", "empty"])
    #expect(off.code == .done && off.output == "0 errors, 0 warnings in 51 files\n")
  }
}
