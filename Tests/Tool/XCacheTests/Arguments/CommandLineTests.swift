import Testing
import TestSupport

@testable import xcache

/// Whole command lines, without a process and an origin.
@Suite struct CommandLineTests {
  let folder: Scratch

  init() throws { folder = try Scratch() }

  @Test func helpGoesToStandardOutput() {
    for command in XCache.commands {
      let help = CapturedTerminal.run([command.name, "--help"])
      #expect(help.code == .done && help.error.isEmpty && help.output == command.help + "\n")
      #expect(CapturedTerminal.run(["help", command.name]).output == help.output)
      #expect(CapturedTerminal.run([command.name, "x", "-h", "--nonsense"]).output == help.output)
    }
    let overview = CapturedTerminal.run(["--help"])
    #expect(overview.code == .done)
    for command in XCache.commands {
      #expect(overview.output.contains("  \(command.name) ") && overview.output.contains(command.summary))
    }
  }

  /// The output for the user of a shell: one line with the error, one about help; nothing on standard output.
  @Test(
    arguments: [
      ([], "Usage: xcache COMMAND [OPTIONS]"),
      (["publsh"], "unknown command publsh; did you mean publish?\nTry: xcache --help"),
      (
        ["status", "--servr", "x"],
        "unknown option --servr; did you mean --server?\nTry: xcache status --help"
      ),
      (["check", "--no-check"], "--no-check needs a value: --no-check RULE"),
      (["doctor"], "--data DIR is required"),
      (["backup", "--data", "x"], "--to DIR is required"),
      (["show", "1", "2"], "unexpected argument: 2"),
      (["token", "make"], "did you mean create?"),
      (["serve", "--data", "x", "--gc", "3am"], "03:00"),
      (["serve", "--data", "x", "--gc", "+3:00"], "--gc +3:00 is not a time of day such as 03:00"),
      (
        ["check", "x", "--exclude", "a//b"],
        "--exclude a//b is not a valid pattern: it is empty, has an empty part, or a [ isn't closed"
      ),
      (["serve", "--data", "x", "--listen", "example.com"], "127.0.0.1:8080"),
      (["serve", "--data", "x", "--threads", "0"], "--threads 0: "),
      (["completions", "tcsh"], "bash, zsh, fish or man"),
    ] as [([String], String)])
  func usage(words: [String], message: String) {
    let outcome = CapturedTerminal.run(words)
    #expect(outcome.code == .usage && outcome.output.isEmpty)
    #expect(outcome.error.contains(message), "\(outcome.error)")
  }

  @Test func version() {
    #expect(CapturedTerminal.run(["--version"]).output == "xcache \(XCache.version)\n")
    #expect(CapturedTerminal.run(["version"]).output == CapturedTerminal.run(["--version"]).output)
  }

  @Test func intactBuild() throws {
    try folder.write("dist/index.html", "<!doctype html><meta charset=utf-8><script src=app.js></script>")
    try folder.write("dist/app.js", "go()")
    let words = ["check", folder.path + "/dist", "--base-url", "https://m.example.com/shop/"]
    let outcome = CapturedTerminal.run(words)
    #expect(outcome.code == .done && outcome.output == "0 errors, 0 warnings in 2 files\n")
    let json = CapturedTerminal.run(words + ["--json"]).output
    #expect(json.contains(#""errors":0"#) && json.contains(#""files":2"#), "\(json)")
  }

  @Test func brokenBuild() throws {
    try folder.write("dist/index.html", "<!doctype html><meta charset=utf-8>\n<script src=App.js></script>")
    try folder.write("dist/app.js", "go()")
    let outcome = CapturedTerminal.run([
      "check", folder.path + "/dist", "--base-url", "https://m.example.com/shop/",
    ])
    #expect(outcome.code == .refused)
    #expect(outcome.output.contains("/dist/index.html:2:13: error: the script App.js is not in the bundle"))
    #expect(outcome.output.hasSuffix("1 error, 0 warnings in 2 files\n"))
  }

  @Test func prefetchConfig() throws {
    let page =
      #"{"url":"https://m.example.com/","interfaces":[{"api":"https://m.example.com/api","method":"GET"}]}"#
    try folder.write("good.json", "[\(page)]")
    let good = CapturedTerminal.run(["prefetch", "check", folder.path + "/good.json"])
    #expect(good.code == .done && good.output.contains("no problems found"))
    try folder.write("bad.json", page.replacing("interfaces", with: "interface"))
    let bad = CapturedTerminal.run(["prefetch", "check", folder.path + "/bad.json"])
    #expect(bad.code == .refused, "\(bad)")
    let none = CapturedTerminal.run(["prefetch", "check", folder.path + "/none.json"])
    #expect(none.code == .failed && none.error == "xcache: no such file: \(folder.path)/none.json\n")
  }
}
