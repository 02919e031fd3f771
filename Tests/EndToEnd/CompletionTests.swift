import System
import Testing
import TestSupport

/// The output of `xcache completions`, which is generated from the tables of `--help`.
@Suite("Completions and the manual page")
struct CompletionTests {
  private static func completions(_ kind: String) throws -> Outcome {
    try Outcome(try Child([Binary.path, "completions", kind], environment: [:], in: "/"))
  }

  @Test("Every command and option of --help is included", arguments: ["bash", "zsh", "fish", "man"])
  func complete(_ kind: String) throws {
    let text = try Self.completions(kind).output
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

  /// A command line, and what bash must offer for its last word.
  static let typed: [([String], String)] = [
    (["xcache", "mir"], "mirror"),
    (["xcache", "help", "unp"], "unpublish"),
    (["xcache", "policy", ""], "show log set bypass kill resume script"),
    (["xcache", "policy", "script", ""], "add key remove sign"),
    (["xcache", "completions", ""], "bash zsh fish man"),
    (["xcache", "policy", "--app", "shop", "bypass", ""], "add list remove"),
    (["xcache", "pin", ""], "list remove"),
    (["xcache", "mirror", "ver"], "verify"),
    (["xcache", "serve", "--max-h"], "--max-head"),
    (["xcache", "serve", "--gc", ""], ""),
    (["xcache", "publish", "etc/host"], "etc/host.conf etc/hosts"),
    (["xcache", "serve", "--access-log", "etc/hosts"], "etc/hosts"),
    // Global options may come before the command.
    (["xcache", "-q", "mir"], "mirror"),
    (["xcache", "-q", "--json", "policy", "script", ""], "add key remove sign"),
    (["xcache", "--ver"], "--verbose --version"),
    (["xcache", "-"], "--help --json --no-color --quiet --verbose --version -V -h -q -v"),
    (["xcache", "-q", "--no-color", "serve", "--max-h"], "--max-head"),
    // Options with a fixed set of values.
    (["xcache", "token", "create", "--scope", ""], "admin publish read release"),
    (["xcache", "token", "create", "--scope", "=", "p"], "publish"),
    (["xcache", "token", "create", "--scope", "="], "admin publish read release"),
    (["xcache", "serve", "--log-format", "j"], "json"),
    (["xcache", "serve", "--cdn", "p"], "pull push"),
    (["xcache", "device", "dns", "--order", "s"], "service-first system-first"),
    (["xcache", "publish", "--no-check", "mis"], "missing"),
    (["xcache", "backup", "--to", "etc/host"], "etc/host.conf etc/hosts"),
    // Options of another verb aren't offered; before the verb is given, options of all verbs are.
    (["xcache", "channel", "freeze", "--re"], "--reason"),
    (["xcache", "channel", "set", "--re"], "--reports"),
    (["xcache", "channel", "--re"], "--reason --reports"),
    (["xcache", "token", "revoke", "ci", "--s"], "--server"),
    (["xcache", "mirror", "verify", "www", "--pr"], ""),
    (["xcache", "mirror", "--pr"], "--precompressed --prune"),
    (["xcache", "policy", "kill", "--f"], "--for"),
    (["xcache", "policy", "log", "--f"], ""),
  ]

  @Test("What bash offers", arguments: typed)
  func bash(_ words: [String], _ offered: String) throws {
    let scratch = try Scratch()
    for name in ["host.conf", "hosts", "other"] { try scratch.write("etc/\(name)", "") }
    try scratch.write("completion", try Self.completions("bash").output)
    let script = """
      source ./completion && COMP_WORDS=("$@") && COMP_CWORD=$(($# - 1)) && _xcache
      for word in "${COMPREPLY[@]}"; do echo "<$word>"; done
      """
    let child = try Child(
      ["bash", "-c", script, "_"] + words, environment: ["PATH": "/usr/bin:/bin"], in: scratch.path)
    #expect(try child.wait() == 0, "\(child.standardError)")
    // One candidate per line: bash would insert several on one line as they are.
    #expect(
      child.standardOutput.split(separator: "\n").sorted()
        == offered.split(separator: " ").map { "<\($0)>" }.sorted())
  }

  @Test(
    "Words are completed as words and paths as paths, also where a folder has the name of a word",
    arguments: [
      ("mirror ver", "verify "), ("publish etc/hos", "etc/hosts/"), ("backup --to etc/hos", "etc/hosts/"),
    ])
  func interactive(_ line: String, _ expected: String) throws {
    let scratch = try Scratch()
    for name in ["etc/hosts/a", "verify/a"] { try scratch.write(name, "") }
    try scratch.write("completion", try Self.completions("bash").output)
    // The suffix that readline adds is set by the completion's options.
    let script = """
      source ./completion
      compopt() { [[ $1 == -o ]] && behind+=" $2"; }
      COMP_WORDS=(xcache \(line)); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _xcache
      behind="$(complete -p xcache) $behind"
      for word in "${COMPREPLY[@]}"; do
        if [[ $behind == *filenames* && -d $word ]]; then echo "$word/"; else echo "$word "; fi
      done
      """
    let child = try Child(["bash", "-c", script], environment: ["PATH": "/usr/bin:/bin"], in: scratch.path)
    #expect(try child.wait() == 0, "\(child.standardError)")
    #expect(child.standardOutput == expected + "\n", "\(child.standardError)")
  }

  @Test("The manual page lists each environment variable once, with its option")
  func variables() throws {
    let text = try Self.completions("man").output
    let start = try #require(text.firstRange(of: ".SH ENVIRONMENT")?.upperBound)
    let section = text[start...].prefix(
      upTo: try #require(text[start...].firstRange(of: ".SH FILES")?.lowerBound))
    for name in ["XCACHE_SERVER", "XCACHE_TOKEN", "XCACHE_APP", "XCACHE_DATA", "XCACHE_MAX_HEAD", "NO_COLOR"]
    {
      #expect(section.ranges(of: ".B \(name)\n").count == 1, "\(name)")
    }
    #expect(section.contains("(\\-\\-max\\-head of serve)"))
  }

  @Test("An unknown shell is a usage error")
  func unknown() throws {
    let outcome = try Self.completions("tcsh")
    #expect(outcome.exitCode == 2 && outcome.errors.contains("tcsh"))
  }
}
