import System
import Testing
import TestSupport

/// The first steps of the README work as they are written.
@Suite("README") struct ReadmeTests {
  private static let text: String = {
    let file = Repository.root + "/README.md"
    return String(decoding: (try? DurableFile.read(file)) ?? [], as: UTF8.self)
  }()

  /// The commands of the first steps, without those that build the program and the site.
  private static var commands: [String] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let section = lines.drop { $0 != "## First steps, on one machine" }.dropFirst().prefix {
      !$0.hasPrefix("## ")
    }
    return section.filter { $0.hasPrefix("    ") }.map { String($0.dropFirst(4)) }
      .filter { line in !["make ", "export PATH", "mkdir /tmp"].contains { line.hasPrefix($0) } }
  }

  @Test("The README has at most 150 lines") func short() {
    #expect(Self.text.split(separator: "\n", omittingEmptySubsequences: false).count <= 151)
  }

  @Test("The first steps, in order") func firstSteps() throws {
    let commands = Self.commands
    #expect(commands.contains("xcache serve --data data &"))
    // A port chosen by the kernel, since 8080 may be in use.
    let steps = commands.map { line in
      line == "xcache serve --data data &"
        ? "xcache serve --data data --listen 127.0.0.1:0 2> log &\n"
          + "until grep -q 'listens on' log; do sleep 0.05; done\n"
          + "url=$(sed -n 's/.*listens on \\(http[^,]*\\),.*/\\1/p' log)"
        : line.replacing("http://127.0.0.1:8080", with: "$url")
    }
    let script = "set -e\ntrap 'kill $!; wait' EXIT\nset -x\n" + steps.joined(separator: "\n")
    let scratch = try Scratch()
    let environment = [
      "PATH": DurableFile.parent(of: Binary.path) + ":/usr/bin:/bin", "HOME": scratch.path,
      "SWIFT_BACKTRACE": "enable=no",
    ]
    let outcome = try Outcome(
      try Child(["bash", "-c", script], environment: environment, in: scratch.path), seconds: 120)
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    let output = outcome.output
    for words in [
      "logged in to http://127.0.0.1:", "created the app", "Hello, version 1", "version 0 → 1",
      "wrote xcache.json",
      "version 1 → 2", "undoes in main: version 2 by admin", "shop online  version 3",
    ] { #expect(output.contains(words), "\(words) isn't in\n\(output)\n\(outcome.errors)") }
    let log = output.split(separator: "\n").suffix(3).map { $0.prefix { $0 != "-" } }
    #expect(
      log.count == 3 && output.contains("spring sale") && output.contains("the sale is over"), "\(output)")
  }
}
