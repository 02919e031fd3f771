import Manifests
import System
import Testing
import TestSupport

/// Command lines that texts tell readers to run: the program knows each command and option in them.
@Suite("Hints") struct HintTests {
  /// A command line in a text.
  struct Line: Hashable, Comparable {
    /// Without the program's name.
    let text: String
    let file: String

    static func < (a: Line, b: Line) -> Bool { (a.file, a.text) < (b.file, b.text) }
  }

  private static func files(_ folder: String, _ ending: String) throws -> [(name: String, text: String)] {
    try Scratch.contents("\(Repository.root)/\(folder)").filter { $0.key.hasSuffix(ending) }.map {
      ("\(folder)/\($0.key)", String(decoding: $0.value, as: UTF8.self))
    }
  }

  // MARK: - Finding command lines

  /// In string literals of the sources: in backticks or single quotes, with interpolations.
  static func literals() throws -> [Line] {
    try files("Sources", ".swift").flatMap { file in
      let code = file.text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
        .joined(separator: "\n")
      // Joins literals that are concatenated over several lines.
      return lines(in: code.replacing(/"\s*\+\s*"/, with: ""), file.name)
    }
  }

  /// In documents and golden files.
  static func documents() throws -> [Line] {
    let readme = String(decoding: try DurableFile.read(Repository.root + "/README.md") ?? [], as: UTF8.self)
    let documents =
      try files("docs", ".md") + files("deploy", ".md") + files("Tests/EndToEnd/Goldens", ".txt")
      + files("Tests/Origin/OriginTests/Wire/Goldens", ".txt") + files("Tests/EndToEnd/Help", ".txt")
      + [("README.md", readme)]
    return documents.flatMap { lines(in: $0.text, $0.name) }
  }

  /// The examples in each command's help.
  static func examples() throws -> [Line] {
    try files("Tests/EndToEnd/Help", ".txt").flatMap { file in
      file.text.split(separator: "\n").filter { $0.hasPrefix("  xcache ") }.map { line in
        let end = line.firstRange(of: "  # ")?.lowerBound ?? line.endIndex
        return Line(text: String(line[..<end].dropFirst("  xcache ".count)), file: file.name)
      }
    }
  }

  private static func lines(in text: String, _ file: String) -> [Line] {
    let inBackticks = text.matches(of: /`xcache ([^`\n]+)`/).map { String($0.1) }
    let inQuotes = text.matches(of: /'xcache ([^'\n]+)'/).map { String($0.1) }
    return (inBackticks + inQuotes).map { Line(text: filled($0), file: file) }
      // Skips what isn't a whole command: alternatives, optional parts and ellipses.
      .filter { !$0.text.contains { "|[…".contains($0) } && $0.text.first?.isLowercase == true }
  }

  /// The line with interpolations replaced: by a value after a space, and by nothing where more words may follow.
  static func filled(_ line: String) -> String {
    var out = ""
    var rest = line[...]
    while let start = rest.firstRange(of: #"\("#) {
      out += rest[..<start.lowerBound]
      rest = rest[start.upperBound...]
      var depth = 1
      while depth > 0, let letter = rest.popFirst() {
        if letter == "(" { depth += 1 }
        if letter == ")" { depth -= 1 }
      }
      if out.hasSuffix(" ") { out += "1" }
    }
    return out + rest
  }

  /// Splits a line into words like a shell, up to a pipe or redirection.
  static func words(_ line: String) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    for letter in line {
      if letter == quote {
        quote = nil
      } else if quote == nil, letter == "'" || letter == "\"" {
        (quote, word) = (letter, word ?? "")
      } else if quote == nil, letter == " " {
        if let done = word { words.append(done) }
        word = nil
      } else {
        word = (word ?? "") + String(letter)
      }
    }
    words += word.map { [$0] } ?? []
    return Array(words.prefix { ![">", "<", "|", "&"].contains($0) })
  }

  // MARK: - Tests

  @Test("Commands in the sources can be run") func sources() throws {
    try check(try Self.literals(), least: 100)
  }

  @Test("Commands in documents and golden files can be run") func texts() throws {
    try check(try Self.documents(), least: 150)
  }

  @Test("Examples in the help can be run") func help() throws {
    try check(try Self.examples(), least: 60)
  }

  @Test(
    arguments: [
      (#"rollback\(target) --bundle \(newest)"#, "rollback --bundle 1"), ("status", "status"),
      (#"channel list\(Self.options(app))"#, "channel list"),
      (#"channel thaw\(channel.map { " --channel \($0)" } ?? "") x"#, "channel thaw x"),
    ])
  func interpolationsAreReplaced(line: String, filled: String) { #expect(Self.filled(line) == filled) }

  @Test(
    "An unknown command is detected",
    arguments: ["publsh", "publish --bundel x", "policy kll", "log x y"])
  func mistakes(line: String) throws { #expect(try fault(of: line) != nil) }

  private func check(_ lines: [Line], least: Int) throws {
    #expect(lines.count >= least, "\(lines.count)")
    let distinct = Dictionary(grouping: lines, by: \.text).sorted { $0.key < $1.key }
    let faults = Locked<[String]>([])
    Parallel.forEach(distinct.count, threads: 2) { index in
      let (text, places) = distinct[index]
      do {
        guard let fault = try fault(of: text) else { return }
        faults.withLock { $0.append("\(places[0].file): xcache \(text)\n  \(fault)") }
      } catch {
        faults.withLock { $0.append("\(places[0].file): xcache \(text)\n  \(error)") }
      }
    }
    for fault in faults.withLock({ $0.sorted() }) { Issue.record("\(fault)") }
  }

  /// The program's message if it doesn't know the command or one of its options, otherwise nil. No server listens at the address it gets.
  private func fault(of line: String) throws -> String? {
    let scratch = try Scratch()
    var words = Self.words(line)
    // Commands that would never exit fail because of an invalid setting.
    if words[0] == "serve" { words += ["--listen", "nowhere"] }
    let environment = [
      "PATH": "/usr/bin:/bin", "HOME": scratch.path, "SWIFT_BACKTRACE": "enable=no", "XCACHE_APP": "shop",
      "XCACHE_SERVER": "http://127.0.0.1:9", "XCACHE_TOKEN": "t",
    ]
    let outcome = try Outcome(
      try Child(["timeout", "8", Binary.path] + words, environment: environment, in: scratch.path))
    let says = [
      "unknown option", "unknown command", "unexpected argument", "can't be used with",
      "doesn't take a value",
    ]
    return says.contains(where: outcome.errors.contains) ? outcome.errors : nil
  }
}
