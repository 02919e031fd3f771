import Glibc
import System
import Testing
import TestSupport

/// Commands and their output, compared with a golden file; XCACHE_RECORD=1 writes it again.
final class Transcript {
  private let site: Site
  private var text = ""

  init(_ site: Site) { self.site = site }

  /// Runs a command, which is split at spaces.
  func run(_ line: String) throws {
    let outcome = try Outcome(try site.start(line.split(separator: " ").map(String.init)))
    text += "$ xcache \(line)\n\(outcome.output)\(outcome.errors)"
    if outcome.exitCode != 0 { text += "exit code \(outcome.exitCode)\n" }
  }

  /// Runs a command twice: with output for people, and with `--json`.
  func show(_ line: String) throws {
    try run(line)
    try run(line + " --json")
  }

  func check(_ name: String, source: SourceLocation = #_sourceLocation) throws {
    let file = Repository.root + "/Tests/EndToEnd/Goldens/\(name).txt"
    let text = masked
    if getenv("XCACHE_RECORD") != nil { try DurableFile.write(Array(text.utf8), to: file) }
    let recorded = String(decoding: try DurableFile.read(file) ?? [], as: UTF8.self)
    let (new, old) = (text.split(separator: "\n"), recorded.split(separator: "\n"))
    for (index, line) in new.enumerated() where index >= old.count || old[index] != line {
      Issue.record(
        "\(name).txt, line \(index + 1)\n  was \(index < old.count ? old[index] : "nothing")\n  is  \(line)",
        sourceLocation: source)
    }
    #expect(new.count == old.count, "\(file); XCACHE_RECORD=1 records it anew", sourceLocation: source)
    for hint in Hint.all(in: self.text) {
      let outcome = try Outcome(try site.start(hint.words))
      #expect(outcome.exitCode != 2, "\(hint.line)\n\(outcome.errors)", sourceLocation: source)
    }
  }

  /// The text without what differs from run to run: times, ids and digests, durations, ports, folders, and the progress of background work.
  private var masked: String {
    text.replacing(site.scratch.path, with: "…").replacing(site.url, with: "http://origin")
      .replacing(/\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(\.\d{3})?/) {
        "0000-00-00\($0.1)00:00:00\($0.2 == nil ? "" : ".000")"
      }
      .replacing(/\b[0-9a-f]{12,64}\b/) { "<\($0.0.count) hex digits>" }
      .replacing(/("[a-zA-Z]*[mM]illiseconds"|"sentBytes"|"filesRead"):\d+/) { "\($0.1):0" }
      // The usage of the machine's disk.
      .replacing(/"disk":\{"hours":\[[^\]]*\],"now":\{[^}]*\}\}/, with: #""disk":{}"#)
      .replacing(/"problems":\[[^\]]*\]/, with: #""problems":[]"#)
      .replacing(/made in \d+ ms/, with: "made in 0 ms")
      .replacing(/(?m)^deltas     .*$/, with: "deltas     …")
      .replacing(/"files":\d+,"filesDone":\d+,"pending":(\d+|null)/, with: #""pending":0"#)
  }
}

/// A command that a message suggests in backticks.
struct Hint: Hashable {
  let line: String

  /// The distinct hints in a text.
  static func all(in text: String) -> [Hint] {
    let hints = text.matches(of: /`xcache ([^`\n]+)`/).map { Hint(line: String($0.1)) }
    return Array(Set(hints)).sorted { $0.line < $1.line }
  }

  /// Its words, with real values for placeholders. For commands that don't exit, only the help is requested.
  var words: [String] {
    let real = [
      "NAME": "main", "NAMES": "m.example.com", "CHANNEL": "test", "URL": "https://m.example.com/", "V": "1",
      "REASON": "why",
    ]
    let words = line.split(separator: " ").map { real[String($0)] ?? String($0) }
    return ["serve", "login"].contains(words[0]) ? [words[0], "--help"] : words
  }
}
