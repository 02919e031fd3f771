import System
import Testing
import Values

@testable import xcache

@Suite("Untrusted text on a terminal") struct SafeTextTests {
  private static let token = "xcache_0123456789ab_" + String(repeating: "aZ-_", count: 10) + "abc"

  @Test(
    "Control characters are escaped",
    arguments: [
      ("plain, ünïcode, 中文 ⏎ …", "plain, ünïcode, 中文 ⏎ …"), ("a\tb\nc", "a\tb\nc"),
      ("\u{1B}[2J\u{1B}]0;title\u{07}", "\\u001B[2J\\u001B]0;title\\u0007"),
      ("a\rb\u{7F}", "a\\u000Db\\u007F"),
      ("\u{9B}31m", "\\u009B31m"), ("gnp.\u{202E}exe", "gnp.\\u202Eexe"),
      ("\u{2066}\u{61C}x", "\\u2066\\u061Cx"),
      ("\u{0}", "\\u0000"),
      ("a\u{2028}b", "a\\u2028b"),
      // Untrusted text has no colours, even if it imitates ours.
      ("\u{1B}[31mred\u{1B}[0m", "\\u001B[31mred\\u001B[0m"), ("\u{1B}[8mhidden", "\\u001B[8mhidden"),
      ("\u{1B}[31", "\\u001B[31"), ("\u{1B}", "\\u001B"),
    ])
  func escaped(_ text: String, _ shown: String) { #expect(SafeText.escaped(text) == shown) }

  @Test("Our own colours reach the terminal, with untrusted text in between")
  func colours() {
    let captured = CapturedTerminal()
    let terminal = captured.terminal(usesColour: true)
    let hostile = "\u{1B}[1mx\u{1B}[0m"
    terminal.say("a \(terminal.colour(hostile, .red)) \(terminal.colour("b", .bold))")
    #expect(captured.output == "a \u{1B}[31m\\u001B[1mx\\u001B[0m\u{1B}[0m \u{1B}[1mb\u{1B}[0m\n")
    let plain = CapturedTerminal()
    plain.terminal().say(plain.terminal().colour(hostile, .red))
    #expect(plain.output == "\\u001B[1mx\\u001B[0m\n")
  }

  @Test("JSON documents escape control characters, and keep their values")
  func documents() throws {
    let document: JSONValue = [
      "gnp.\u{202E}exe": "\u{9B}31m\u{7F}\u{2066}\u{2028}\u{1B}\\u009B ünïcode 中文 …\n"
    ]
    let captured = CapturedTerminal()
    captured.terminal().say(json: document)
    #expect(
      captured.output
        == #"{"gnp.\u202Eexe":"\u009B31m\u007F\u2066\u2028\u001b\\u009B ünïcode 中文 …\n"}"# + "\n")
    #expect(try JSONValue.parse(Array(captured.output.utf8)) == document)
  }

  @Test(
    "A token in another case, percent-encoded or truncated is recognised",
    arguments: [
      "XCACHE_0123456789AB_aZ-_aZ-_aZ-_aZ-_", "xcache%5F0123456789ab%5faZ-_aZ-%5FaZ-_aZ",
      "Xcache_0123456789ab_aZ-_aZ-",
    ])
  func otherForms(_ text: String) {
    #expect(SafeText.tokenID(in: "x\(text)") == "0123456789ab")
    #expect(
      SafeText.withoutTokens("GET /a/\(text)?b \(text)")
        == "GET /a/xcache_0123456789ab_…?b xcache_0123456789ab_…")
  }

  @Test("Text that only begins like a token isn't one")
  func noTokens() {
    for text in [
      "xcache_tls_certificate_expires_timestamp_seconds", "xcache_0123456789ab_aZ-_aZ", "xcache%5", "XCACHE",
    ] {
      #expect(SafeText.tokenID(in: text) == nil && SafeText.withoutTokens(text) == text)
    }
  }

  @Test("Results, errors, hints, questions and progress are escaped")
  func everywhere() {
    let captured = CapturedTerminal()
    let terminal = captured.terminal(isInteractive: true)
    let hostile = "a\u{1B}[1A\u{7}b"
    terminal.say(hostile)
    terminal.say(list: [hostile], all: true)
    terminal.note(hostile)
    terminal.remark(hostile)
    terminal.ask(hostile)
    terminal.progress(hostile)
    #expect(captured.output == "a\\u001B[1A\\u0007b\na\\u001B[1A\\u0007b\n")
    let erase = "\r\u{1B}[K"
    #expect(
      captured.error.replacing(erase, with: "")
        == "a\\u001B[1A\\u0007b\na\\u001B[1A\\u0007b\na\\u001B[1A\\u0007ba\\u001B[1A\\u0007b")
  }

  @Test("An argument with control characters is shown without them")
  func arguments() {
    let run = CapturedTerminal.run(["status", "\u{1B}[2Jx"])
    #expect(run.code == .usage && run.error.contains("unexpected argument: \\u001B[2Jx"), "\(run.error)")
  }

  @Test("Only the id of a token is shown, whatever surrounds it")
  func tokens() {
    #expect(SafeText.withoutTokens("say \(Self.token).") == "say xcache_0123456789ab_….")
    #expect(
      SafeText.withoutTokens("ü\(Self.token)/\(Self.token)") == "üxcache_0123456789ab_…/xcache_0123456789ab_…"
    )
    for text in [
      "", "xcache_", "xcache_0123456789ab_", "xcache_0123456789ab_short",
      "xcache_0123456789zz_0123456789abcdefg",
      "xcache.json", "xcache_xcache_xcache_xcache_xcache_xcache_xcache",
    ] { #expect(SafeText.withoutTokens(text) == text) }
    // A truncated token still contains half of its secret.
    #expect(SafeText.withoutTokens(String(Self.token.dropLast(20))) == "xcache_0123456789ab_…")
    #expect(
      SafeText.withoutTokens("xcache_xcache_0123456789ab_0123456789abcdef") == "xcache_xcache_0123456789ab_…")
  }

  @Test(
    "A token given as a name is refused before anything is sent, and never repeated",
    arguments: [
      "login TOKEN", "token revoke TOKEN", "status --app TOKEN", "log --channel TOKEN --app shop", "TOKEN",
      "publish TOKEN", "pin 1 TOKEN", "mirror forget TOKEN", "rollback --all-bundles --steps 1 -m TOKEN",
      "show TOKEN --json", "policy script remove TOKEN", "login http://127.0.0.1:1/TOKEN",
      "status --server=TOKEN",
      "help TOKEN", "--TOKEN", "status --TOKEN", "serve --data TOKEN",
    ])
  func never(_ line: String) {
    let words = line.split(separator: " ").map { String($0).replacing("TOKEN", with: Self.token) }
    let run = CapturedTerminal.run(words, environment: ["XCACHE_SERVER": "http://127.0.0.1:1"])
    #expect(run.code == .usage, "\(run.error)")
    #expect(!run.error.contains(Self.token) && !run.output.contains(Self.token), "\(run.error)\(run.output)")
  }

  @Test("A variable that contains a token is named, with the id by which it can be revoked")
  func variable() {
    let environment = ["XCACHE_SERVER": "http://127.0.0.1:1", "XCACHE_APP": Self.token]
    let run = CapturedTerminal.run(["status"], environment: environment)
    #expect(
      run.code == .usage && run.error.contains("XCACHE_APP is a token")
        && run.error.contains("xcache token revoke 0123456789ab"), "\(run.error)")
  }
}
