import Glibc
import System
import Testing
import Values

/// The `--help` texts are golden files; XCACHE_RECORD=1 writes them again.
@Suite("--help")
struct HelpTests {
  /// The commands that the program itself lists.
  static let commands: [String] = {
    guard let help = try? run("--help").output else { return [] }
    return help.split(separator: "\n").filter { $0.hasPrefix("  ") }.map { line in
      String(line.drop { $0 == " " }.prefix { $0 != " " })
    }
  }()

  private static func run(_ words: String...) throws -> Outcome {
    try Outcome(try Child([Binary.path] + words, environment: [:], in: "/"))
  }

  /// The folder of the golden files, next to this source.
  private static let folder = DurableFile.parent(of: #filePath) + "/Help"

  @Test("Every command's help equals the recorded one", arguments: [""] + commands)
  func golden(_ command: String) throws {
    let outcome = try command.isEmpty ? Self.run("--help") : Self.run(command, "--help")
    #expect(outcome.exitCode == 0 && outcome.errors.isEmpty)
    let file = "\(Self.folder)/\(command.isEmpty ? "xcache" : command).txt"
    if getenv("XCACHE_RECORD") != nil { try DurableFile.write(Array(outcome.output.utf8), to: file) }
    let recorded = String(decoding: try DurableFile.read(file) ?? [], as: UTF8.self)
    #expect(outcome.output == recorded, "\(file); XCACHE_RECORD=1 records it anew")
  }

  @Test("There is a recorded help for existing commands only")
  func onlyCommands() throws {
    #expect(Self.commands.contains("serve"))
    let recorded = try Folder.textNames(Self.folder).map { String($0.dropLast(".txt".count)) }
    #expect(Set(recorded) == Set(Self.commands + ["xcache"]))
  }

  @Test("The help is the same in every way of asking for it", arguments: commands)
  func otherWays(_ command: String) throws {
    let help = try Self.run(command, "--help").output
    #expect(try Self.run("help", command).output == help)
    #expect(try Self.run(command, "-h").output == help)
    #expect(try Self.run(command, "--help", "--nonsense").output == help)
    for outcome in try [
      Self.run("help", command, "--json"), Self.run(command, "--json", "--help", "--nonsense"),
    ] {
      let document = try JSONValue.parse(Array(outcome.output.utf8))
      #expect((document["help"]?.string).map { $0 + "\n" } == help)
    }
  }

  @Test("A missing command is a usage error, printed to standard error")
  func nothing() throws {
    let outcome = try Self.run()
    #expect(outcome.exitCode == 2 && outcome.output.isEmpty)
    #expect(outcome.errors == (try Self.run("--help").output))
  }

  @Test("The version, by each of its spellings")
  func version() throws {
    for words in ["--version", "-V", "version"] {
      #expect(try Self.run(words).output.hasPrefix("xcache 0."))
    }
    #expect(try Self.run("version", "--json").output.hasPrefix("{\"name\":\"xcache\",\"version\":\"0."))
    #expect(try Self.run("--json", "-V").output == Self.run("version", "--json").output)
  }

  @Test("Each command's help has examples with options that the command has", arguments: commands)
  func examples(_ command: String) throws {
    let help = try Self.run(command, "--help").output
    let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
    let examples = lines.drop { $0 != "Examples:" }.dropFirst().prefix { !$0.isEmpty }
      .filter { $0.hasPrefix("  xcache ") }
    #expect(!examples.isEmpty)
    for example in examples {
      #expect(example.hasPrefix("  xcache \(command)"))
      for word in example.split(separator: " ") where word.hasPrefix("--") {
        let option = word.prefix { $0 != "=" }
        #expect(
          lines.contains { $0.hasPrefix("  -") && "\($0) ".contains("\(option) ") },
          "\(word)")
      }
    }
  }
}
