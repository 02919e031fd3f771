import System
import Testing

/// What `xcache completions` makes of the tables of `--help`.
@Suite("Completions and the manual page")
struct CompletionTests {
  private static func made(_ kind: String) throws -> Outcome {
    try Outcome(try Child([Binary.path, "completions", kind], environment: [:], in: "/"))
  }

  @Test("Each command and option of --help is there", arguments: ["bash", "zsh", "fish", "man"])
  func complete(_ kind: String) throws {
    let text = try Self.made(kind).output
    for command in HelpTests.commands {
      let help = try Outcome(try Child([Binary.path, command, "--help"], environment: [:], in: "/")).output
      let options = help.split(separator: "\n").compactMap { line -> Substring? in
        guard line.hasPrefix("  -"), let start = line.firstRange(of: "--")?.upperBound else { return nil }
        return line[start...].prefix { $0 != " " }
      }
      #expect(options.contains("help") && text.contains(command))
      for option in options {
        let written =
          switch kind {
          case "fish": "-l \(option) "
          case "man": "\\-\\-" + option.split(separator: "-").joined(separator: "\\-")
          default: "--\(option)"
          }
        #expect(text.contains(written), "\(command) --\(option)")
      }
    }
  }

  /// Words typed so far, and what bash must offer for the last one.
  static let typed: [([String], String)] = [
    (["xcache", "mir"], "mirror"),
    (["xcache", "help", "unp"], "unpublish"),
    (["xcache", "policy", ""], "show log set bypass kill resume script"),
    (["xcache", "policy", "script", ""], "add key remove sign"),
    (["xcache", "completions", ""], "bash zsh fish man"),
    (["xcache", "policy", "--app", "shop", "bypass", ""], "add remove"),
    (["xcache", "pin", ""], "list remove"),
    (["xcache", "mirror", "ver"], "verify"),
    (["xcache", "serve", "--max-h"], "--max-head"),
    (["xcache", "serve", "--gc", ""], ""),
    (["xcache", "publish", "etc/host"], "etc/host.conf etc/hosts"),
    (["xcache", "serve", "--access-log", "etc/hosts"], "etc/hosts"),
  ]

  @Test("What bash offers", arguments: typed)
  func bash(_ words: [String], _ offered: String) throws {
    let scratch = try Scratch()
    for name in ["host.conf", "hosts", "other"] { try scratch.write("etc/\(name)", "") }
    try scratch.write("completion", try Self.made("bash").output)
    let script = """
      source ./completion && COMP_WORDS=("$@") && COMP_CWORD=$(($# - 1)) && _xcache
      echo $(printf '%s\\n' "${COMPREPLY[@]}")
      """
    let child = try Child(
      ["bash", "-c", script, "_"] + words, environment: ["PATH": "/usr/bin:/bin"], in: scratch.path)
    #expect(try child.wait() == 0, "\(child.standardError)")
    let sorted = child.standardOutput.split(whereSeparator: \.isWhitespace).sorted()
    #expect(sorted == offered.split(separator: " ").sorted())
  }

  @Test("Another kind is a usage error")
  func unknown() throws {
    let outcome = try Self.made("tcsh")
    #expect(outcome.exitCode == 2 && outcome.errors.contains("tcsh"))
  }
}
