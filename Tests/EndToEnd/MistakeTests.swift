import SocketServer
import System
import Testing
import TestSupport
import Values

/// Mistakes at the command line: the message tells what is wrong, where, and what to do; the exit code is for the shell, the document for
/// programs. The table is `Goldens/mistakes.json`.
@Suite("Mistakes") struct MistakeTests {
  /// A command line that fails.
  struct Row: Sendable {
    /// Split at spaces, except within single quotes.
    let run: String
    let exit: Int32
    /// The problem document's code.
    let code: String
    /// What the message must contain.
    let says: [String]
    /// What it must not contain: secrets, and words about something else.
    let never: [String]
    /// Variables that replace the usual ones.
    let env: [String: String]
    /// Files besides `site/a.js`.
    let files: [String: String]
    /// Commands that run before, and succeed.
    let first: [String]

    init(_ json: JSONValue) throws {
      func texts(_ key: String) -> [String: String] {
        Dictionary(
          uniqueKeysWithValues: (json[key]?.object?.members ?? []).map { ($0.key, $0.value.string ?? "") })
      }
      run = try #require(json["run"]?.string)
      exit = Int32(try #require(json["exit"]?.integer))
      code = try #require(json["code"]?.string)
      says = try #require(json["says"]?.array).compactMap(\.string)
      never = (json["never"]?.array ?? []).compactMap(\.string)
      (env, files) = (texts("env"), texts("files"))
      first = (json["first"]?.array ?? []).compactMap(\.string)
    }
  }

  private static func rows() throws -> [Row] {
    let file = DurableFile.parent(of: #filePath) + "/Goldens/mistakes.json"
    return try (JSONValue.parse(try DurableFile.read(file) ?? []).array ?? []).map(Row.init)
  }

  @Test("Each mistake has its message, exit code and document, and changes nothing") func table() throws {
    let rows = try Self.rows()
    #expect(rows.count >= 100)
    try Site.with { site in
      let bench = try Bench(site)
      let before = try bench.state()
      let faults = Locked<[String]>([])
      Parallel.forEach(rows.count, threads: 4) { index in
        let found: [String]
        do { found = try bench.faults(of: rows[index]) } catch { found = ["\(error)"] }
        if !found.isEmpty {
          faults.withLock { $0.append("xcache \(rows[index].run)\n  " + found.joined(separator: "\n  ")) }
        }
      }
      for fault in faults.withLock({ $0.sorted() }) { Issue.record("\(fault)") }
      #expect(try bench.state() == before)
      for (hint, environment) in bench.hints {
        let outcome = try bench.run(hint, environment)
        #expect(outcome.exitCode != 2, "xcache \(hint.line)\n\(outcome.errors)")
      }
    }
  }

  /// Commands that talk to a server of another kind, and the expected code.
  static let wrongServers = [
    ("status --server URL", "not-an-origin"), ("login URL", "not-an-origin"),
    ("pull --to phone --server URL", "not-an-origin"), ("mirror --server URL --to www", "not-an-origin"),
    ("mirror verify URL", "not-a-copy"), ("restore --from URL --data new", "not-a-copy"),
    ("audit verify --against URL", "not-a-copy"),
  ]

  @Test(
    "A server that answers everything with a page is reported in the same way by every command, with its address",
    arguments: wrongServers)
  func page(_ line: String, _ code: String) throws {
    let server = SocketServer { _ in .answer(body: Array("<!doctype html><title>Welcome".utf8)) }
    let scratch = try Scratch()
    let words = line.replacing("URL", with: server.url).split(separator: " ").map(String.init)
    let environment = ["HOME": scratch.path, "XCACHE_APP": "shop", "XCACHE_TOKEN": "t"]
    let outcome = try Outcome(
      try Child([Binary.path] + words + ["--json"], environment: environment, in: scratch.path))
    let problem = try JSONValue.parse(Array(outcome.output.utf8))
    #expect(outcome.exitCode == 1 && problem["code"]?.string == code, "\(outcome.output)")
    #expect(problem["detail"]?.string?.contains(server.url) == true, "\(outcome.output)")
    #expect(try Kernel.status(scratch.path + "/new") == nil, "a data folder was created")
  }

  /// Kinds that need damage, an outage or a second machine, and so aren't in the table.
  private static let notInTable: Set<String> = [
    "archive", "audit", "blocked", "clashes", "damaged", "divergent", "disk-full", "duplicate-url",
    "no-address", "no-pages", "source-maps", "reports-needed", "author-ended", "not-awaited", "not-compared",
    "nothing-left",
    "page-failed", "purged", "smoke", "still-live", "stopped",
    "schedule-damaged", "schedule-over", "too-many-freezes", "too-many-schedules", "unfit-file",
    "unknown-outcome", "unreadable",
    // These need a provider, two people or a CI job: Tests/Teams, and the suite "Signing in".
    "access-denied", "approval-needed", "expired-token", "id-token", "id-token-used", "identity-name-taken",
    "no-approval-needed", "no-identity", "no-sign-in", "not-approver", "own-act", "several-identities",
    "token-replayed", "unknown-identity", "wrong-audience",
  ]

  @Test("Each kind of fault has one exit code in every command, as the guide's table says")
  func exitCodes() throws {
    let guide = String(
      decoding: try DurableFile.read(Repository.root + "/docs/guide-commands.md") ?? [], as: UTF8.self)
    var codes: [String: Int32] = [:]
    for line in guide.split(separator: "\n") where line.hasPrefix("| `") {
      let cells = line.split(separator: "|").map { $0.filter { $0 != " " } }
      guard cells.count == 3, let exit = Int32(cells[1]) else { continue }
      for code in cells[0].split(separator: ",").map({ String($0.filter { $0 != "`" }) }) {
        #expect(codes.updateValue(exit, forKey: code) == nil, "\(code) is there twice")
      }
    }
    let rows = try Self.rows()
    for row in rows {
      #expect(codes[row.code] == row.exit, "xcache \(row.run): \(row.code), \(row.exit)")
    }
    let covered = Set(rows.map(\.code)).union(Self.notInTable)
    #expect(codes.keys.filter { !covered.contains($0) } == [], "no row of the table has these")
    #expect(Self.notInTable.filter { codes[$0] == nil } == [])
  }

  /// An origin with everything that the table's rows need.
  private struct Bench: Sendable {
    private let url: String
    private let data: String
    private let admin: String
    private let reader: String
    private let web: Web
    private let collected = Collected()

    /// The commands that messages suggested, with the environment of the failed command.
    private final class Collected: Sendable {
      let hints = Locked<[Hint: [String: String]]>([:])
    }

    var hints: [(Hint, [String: String])] {
      collected.hints.withLock { $0.sorted { $0.key.line < $1.key.line }.map { ($0.key, $0.value) } }
    }

    func run(_ hint: Hint, _ environment: [String: String]) throws -> Outcome {
      let scratch = try Scratch()
      try scratch.write("site/a.js", "3")
      return try Outcome(try Child([Binary.path] + hint.words, environment: environment, in: scratch.path))
    }

    init(_ site: Site) throws {
      (url, data, admin, web) = (site.url, site.data, site.token, site.web)
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "2"])
      for words in [
        ["channel", "create", "--app", "shop", "--channel", "frozen"],
        ["channel", "freeze", "--app", "shop", "--channel", "frozen", "--reason", "the sale"],
        ["channel", "create", "--app", "shop", "--channel", "hosts"],
        ["channel", "set", "--app", "shop", "--channel", "hosts", "--hosts", "m.example.org"],
        ["promote", "--app", "shop", "--from", "online", "--to", "rolling", "--create"],
        [
          "promote", "--app", "shop", "--from", "online", "--to", "rolling", "--version", "1", "--rollout",
          "5%",
        ],
      ] {
        let outcome = try Outcome(try site.start(words))
        try #require(outcome.exitCode == 0, "\(outcome.errors)")
      }
      let made = try site.run("token", "create", "reader", "--all-apps", "--no-expiry", "--scope", "read")
      try #require(made.exitCode == 0, "\(made.errors)")
      reader = made.output.filter { !$0.isWhitespace }
    }

    /// The state that mistakes must not change.
    func state() throws -> String {
      try web.ask("/configure.json?app=shop").text
        + web.ask("/api/v1/apps", "GET", ["Authorization": "Bearer \(admin)"]).text
    }

    /// What is wrong with a mistake's message, exit code or document.
    func faults(of row: Row) throws -> [String] {
      let says = row.says.map(filled)
      var faults: [String] = []
      let plain = try outcome(row, "")
      if plain.exitCode != row.exit { faults.append("exit code \(plain.exitCode), not \(row.exit)") }
      if !plain.output.isEmpty { faults.append("it prints a result: \(plain.output)") }
      for words in says where !plain.errors.contains(words) { faults.append("it doesn't say \(words)") }
      for words in row.never where plain.errors.contains(words) { faults.append("it says \(words)") }
      if row.exit == 2, row.code == "usage", !plain.errors.contains("\nTry: xcache ") {
        faults.append("it doesn't say where the help is")
      }
      if !faults.isEmpty { faults.append("it says: \(plain.errors)") }
      let json = try outcome(row, " --json")
      if json.exitCode != row.exit { faults.append("exit code \(json.exitCode) with --json") }
      guard let problem = try? JSONValue.parse(Array(json.output.utf8)) else {
        return faults + ["no document with --json: \(json.output)"]
      }
      if problem["code"]?.string != row.code { faults.append("code \(problem["code"]?.string ?? "none")") }
      if problem["exitCode"]?.integer != Int64(row.exit) { faults.append("another exitCode in the document") }
      let detail = problem["detail"]?.string ?? ""
      for words in row.never where json.output.contains(words) { faults.append("the document says \(words)") }
      for words in says where !detail.contains(words) { faults.append("detail lacks \(words): \(detail)") }
      return faults
    }

    private func outcome(_ row: Row, _ more: String) throws -> Outcome {
      let scratch = try Scratch()
      try scratch.write("site/a.js", "3")
      for (name, text) in row.files { try scratch.write(name, text) }
      var environment = [
        "PATH": "/usr/bin:/bin", "HOME": scratch.path, "XDG_CACHE_HOME": scratch.path + "/cache",
        "XDG_CONFIG_HOME": scratch.path + "/config", "SWIFT_BACKTRACE": "enable=no", "XCACHE_SERVER": url,
        "XCACHE_TOKEN": admin, "XCACHE_APP": "shop",
      ]
      for (name, value) in row.env { environment[name] = filled(value) }
      for line in row.first {
        let child = try Child([Binary.path] + Self.words(line), environment: environment, in: scratch.path)
        let outcome = try Outcome(child)
        if outcome.exitCode != 0 { throw Child.Failed(description: outcome.errors) }
      }
      let words = Self.words(filled(row.run + more))
      let outcome = try Outcome(try Child([Binary.path] + words, environment: environment, in: scratch.path))
      // If the environment itself is the mistake, the suggested command would fail too.
      if row.code != "settings", row.files.isEmpty {
        for hint in Hint.all(in: outcome.errors) { collected.hints.withLock { $0[hint] = environment } }
      }
      return outcome
    }

    private func filled(_ text: String) -> String {
      text.replacing("{url}", with: url).replacing("{port}", with: "\(web.port)")
        .replacing("{data}", with: data).replacing("{read}", with: reader)
    }

    private static func words(_ line: String) -> [String] {
      line.split(separator: "'", omittingEmptySubsequences: false).enumerated().flatMap { place, part in
        place % 2 == 1 ? [String(part)] : part.split(separator: " ").map(String.init)
      }
    }
  }
}
