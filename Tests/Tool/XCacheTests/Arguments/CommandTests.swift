import Testing

@testable import xcache

/// Commands: their acts, options, help and variables.
@Suite struct CommandTests {
  private static func command(_ operands: String, options: [Option] = []) -> Command {
    Command(
      name: "door", operands: operands, summary: "open and close a door", examples: [], options: options,
      run: { _, _ in .done })
  }

  @Test(
    arguments: [
      ("", []), ("DIR…", []), ("[DIR|FILE.zip]", []), ("list | create", ["list", "create"]),
      ("list | lock add NAME | lock remove NAME", ["list", "lock", "lock add", "lock remove"]),
      ("default-app [NAME]", ["default-app"]), ("--from V --to V", []),
      ("V [REASON] | list | remove V", ["list", "remove"]),
    ] as [(String, [String])])
  func acts(operands: String, acts: [String]) {
    #expect(Self.command(operands).acts.map { $0.joined(separator: " ") } == acts)
  }

  private static func refusal(_ operands: String, _ words: [String]) -> String? {
    do throws(UsageError) {
      try command(operands).checkActs(words)
      return nil
    } catch {
      return error.message
    }
  }

  @Test(
    arguments: [
      (["list"], nil), ([], nil), (["lock", "add", "anything"], nil), (["lock"], nil),
      (["lst"], #"unknown command "door lst"; did you mean list?"#),
      (["ls"], #"unknown command "door ls"; did you mean list?"#),
      (["frobnicate"], #"unknown command "door frobnicate"; expected list or lock"#),
      (["lock", "ad"], #"unknown command "door lock ad"; did you mean add?"#),
      (["lock", "delete"], #"unknown command "door lock delete"; did you mean remove?"#),
    ] as [([String], String?)])
  func invalidActs(words: [String], message: String?) {
    #expect(Self.refusal("list | lock add NAME | lock remove NAME", words) == message)
  }

  /// Where an operand may replace an act, the command itself checks it.
  @Test func operandOrAct() { #expect(Self.refusal("V [REASON] | list", ["lst"]) == nil) }

  @Test func optionsOfOtherActs() throws {
    let options: [Option] = [
      .value("key", "FILE", "a key").only("lock", "open"), .flag("loud", "slam it"),
      .value("at", "TIME", "then").only("open"), .value("at", "PLACE", "there").only("lock"),
    ]
    let command = Self.command("open | lock | list", options: options)
    func refusal(_ words: String...) throws -> String? {
      let arguments = try Arguments(words, options: options, environment: [:])
      do throws(UsageError) {
        try command.checkOptions(arguments)
        return nil
      } catch {
        return error.message
      }
    }
    #expect(try refusal("list", "--loud") == nil && refusal("lock", "--key", "k", "--at", "x") == nil)
    #expect(
      try refusal("list", "--key", "k")
        == "--key can't be used with door list, only with door lock or door open")
    #expect(try refusal("list", "--at", "x") == "--at can't be used with door list, only with door open")
    #expect(try refusal("--key", "k") == nil)
  }

  @Test func helpLayout() {
    let command = Command(
      name: "door", operands: "DIR", summary: "open a door",
      examples: [
        .init("", "the first one"), .init("front --loud", "with a bang"),
        .init(String(repeating: "x", count: 60), "a long one"),
      ], notes: "A note.",
      options: [
        .value("key", "FILE", short: "k", environment: "DOOR_KEY", "the key"),
        .value("a-name-that-is-long-enough", "TEXT", "help"),
      ], run: { _, _ in .done })
    #expect(
      command.help.hasPrefix(
        """
        open a door

        Usage: xcache door DIR [OPTIONS]

        Examples:
          xcache door               # the first one
          xcache door front --loud  # with a bang
          # a long one
          xcache door \(String(repeating: "x", count: 60))

        Options:
          -k, --key FILE            the key [DOOR_KEY]
          --a-name-that-is-long-enough TEXT
                                    help
          --json                    print the result or the error as one JSON document

        """))
    #expect(command.help.hasSuffix("  -h, --help                show this help\n\nA note.\n"))
  }

  @Test func variablesOfOptions() {
    let options: [Option] = [
      .value("max-head", "BYTES", "x"), .flag("loud", "x"), .value("server", "URL", environment: "S", "x"),
    ]
    #expect(options.orFromEnvironment.map(\.environment) == ["XCACHE_MAX_HEAD", nil, "S"])
  }

  @Test(arguments: [([], ""), (["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")])
  func alternatives(words: [String], text: String) { #expect(words.alternatives == text) }

  /// Each option of each command has a help text, and no two options of an act share a name or letter.
  @Test(arguments: XCache.commands.map(\.name)) func optionsOfEachCommand(name: String) throws {
    let command = try XCache.command(name)
    let options = command.options + Command.common
    #expect(!command.summary.isEmpty && !command.examples.isEmpty)
    for (place, option) in options.enumerated() {
      #expect(!option.help.isEmpty && !option.help.hasSuffix("."), "--\(option.name)")
      for act in option.acts where !act.isEmpty { #expect(command.acts.contains([act]), "\(act)") }
      for other in options[(place + 1)...] {
        let isDistinct =
          !option.acts.isEmpty && !other.acts.isEmpty && Set(option.acts).isDisjoint(with: other.acts)
        #expect(isDistinct || option.name != other.name, "--\(option.name)")
        #expect(isDistinct || option.short == nil || option.short != other.short, "-\(option.name)")
      }
    }
  }

  /// Examples are valid: their options are the command's.
  @Test(arguments: XCache.commands.map(\.name)) func examplesAreValid(name: String) throws {
    let command = try XCache.command(name)
    for example in command.examples {
      // Quoted words may begin with a dash.
      // What follows a pipe or redirection belongs to the shell.
      let line = example.line.prefix { $0 != "|" && $0 != ">" }
      let words = line.split(separator: "'", omittingEmptySubsequences: false).enumerated().flatMap {
        $0 % 2 == 1 ? ["quoted"] : $1.split(separator: " ").map(String.init)
      }
      let arguments = try Arguments(words, options: command.options + Command.common, environment: [:])
      try command.checkActs(arguments.operands)
      try command.checkOptions(arguments)
    }
  }

  // MARK: The manual page

  @Test func manualPage() {
    let command = Command(
      name: "door", summary: "it's a door", examples: [.init("--loud", ".dotted")],
      notes: "'quoted' first\n.a request\\", options: [.flag("loud", "'tis loud")], run: { _, _ in .done })
    let text = ManualPage([("Doors & more", [command])], version: "1.0-x").text
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    #expect(lines[0] == #".TH XCACHE 1 "" "xcache 1.0\-x" "User Commands""#)
    #expect(lines.contains(".SH DOORS & MORE") && lines.contains(".SS xcache door"))
    #expect(lines.contains(#"\&'quoted' first"#) && lines.contains(#"\&.a request\e"#))
    #expect(lines.contains(#"\&'tis loud"#) && lines.contains(#"xcache door \-\-loud  # .dotted"#))
    // A line that begins with a dot must be a known man(7) request.
    let requests = Set(lines.filter { $0.hasPrefix(".") }.map { $0.prefix { $0 != " " } })
    #expect(requests.isSubset(of: [".TH", ".SH", ".SS", ".B", ".I", ".PP", ".EX", ".EE", ".TP"]))
    #expect(!lines.contains { $0.hasPrefix("'") })
  }

  @Test func completionsNameEverything() {
    let completions = Completions(XCache.commands)
    for command in XCache.commands {
      for (shell, text) in [("bash", completions.bash), ("zsh", completions.zsh), ("fish", completions.fish)]
      {
        #expect(text.contains(command.name), "\(shell)")
        for option in command.options {
          let name = shell == "fish" ? "-l \(option.name) " : "--\(option.name)"
          #expect(command.name == "help" || text.contains(name), "\(shell): \(command.name) --\(option.name)")
        }
      }
    }
  }

  /// Help texts may contain quotes and brackets, which shells interpret.
  @Test func completionsAreQuoted() {
    let option = Option.value("key", "FILE", #"the door's [key]: \"#)
    let completions = Completions([Self.command("", options: [option])])
    #expect(completions.zsh.contains(#"'*--key[the door'\''s \[key\]\: \\]:FILE:_files'"#))
    #expect(completions.fish.contains(#"-l key -r -F -d 'the door\'s [key]: \\'"#))
    #expect(completions.bash.contains("files=' --key '"))
  }
}
