import Manifests
import System
import Testing

/// Commands that texts name for their reader to paste: the program knows each of them, with its options.
@Suite("Hints") struct HintTests {
  /// A command line in a text.
  struct Line: Hashable, Comparable {
    /// Without the program's name.
    let text: String
    let file: String

    static func < (a: Line, b: Line) -> Bool { (a.file, a.text) < (b.file, b.text) }
  }

  private static let root: String = {
    var folder = #filePath
    for _ in 0..<3 { folder = DurableFile.parent(of: folder) }
    return folder
  }()

  private static func files(_ folder: String, _ ending: String) throws -> [(name: String, text: String)] {
    try Scratch.files(below: "\(root)/\(folder)").filter { $0.key.hasSuffix(ending) }.map {
      ("\(folder)/\($0.key)", String(decoding: $0.value, as: UTF8.self))
    }
  }

  // MARK: - Where they are

  /// In string literals of the sources: in backticks or single quotes, with what is interpolated.
  static func literals() throws -> [Line] {
    try files("Sources", ".swift").flatMap { file in
      let code = file.text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
        .joined(separator: "\n")
      // One text over several lines.
      return lines(in: code.replacing(/"\s*\+\s*"/, with: ""), file.name)
    }
  }

  /// In documents and in golden files.
  static func documents() throws -> [Line] {
    let readme = String(decoding: try DurableFile.read(root + "/README.md") ?? [], as: UTF8.self)
    let documents =
      try files("docs", ".md") + files("deploy", ".md") + files("Tests/EndToEnd/Goldens", ".txt")
      + files("Tests/Origin/OriginTests/Wire/Goldens", ".txt") + files("Tests/EndToEnd/Help", ".txt")
      + [("README.md", readme)]
    return documents.flatMap { lines(in: $0.text, $0.name) }
  }

  /// The examples of each command's help.
  static func examples() throws -> [Line] {
    try files("Tests/EndToEnd/Help", ".txt").flatMap { file in
      file.text.split(separator: "\n").filter { $0.hasPrefix("  xcache ") }.map { line in
        let end = line.firstRange(of: "  # ")?.lowerBound ?? line.endIndex
        return Line(text: String(line[..<end].dropFirst("  xcache ".count)), file: file.name)
      }
    }
  }

  private static func lines(in text: String, _ file: String) -> [Line] {
    let ticked = text.matches(of: /`xcache ([^`\n]+)`/).map { String($0.1) }
    let quoted = text.matches(of: /'xcache ([^'\n]+)'/).map { String($0.1) }
    return (ticked + quoted).map { Line(text: filled($0), file: file) }
      // What isn't a whole command: alternatives, options in brackets, and what is left out.
      .filter { !$0.text.contains { "|[…".contains($0) } && $0.text.first?.isLowercase == true }
  }

  /// The line with something in the place of each interpolation: a value after a space, and nothing where words may follow.
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

  /// A shell's words, up to where another program takes over.
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

  @Test("What the sources say to run can be run") func sources() throws {
    try check(try Self.literals(), least: 100)
  }

  @Test("What documents and golden files name can be run") func texts() throws {
    try check(try Self.documents(), least: 150)
  }

  @Test("Each example of the help can be run") func help() throws {
    try check(try Self.examples(), least: 60)
  }

  @Test(
    arguments: [
      (#"rollback\(target) --bundle \(newest)"#, "rollback --bundle 1"), ("status", "status"),
      (#"channel list\(Self.options(app))"#, "channel list"),
      (#"channel thaw\(channel.map { " --channel \($0)" } ?? "") x"#, "channel thaw x"),
    ])
  func whatIsInterpolatedIsFilled(line: String, filled: String) { #expect(Self.filled(line) == filled) }

  @Test(
    "A command that isn't known is noticed",
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

  /// What the program says if it doesn't know a command or one of its options; nil if it does. Nobody listens where it asks.
  private func fault(of line: String) throws -> String? {
    let scratch = try Scratch()
    var words = Self.words(line)
    // What would run for ever ends at a setting that can't be.
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
