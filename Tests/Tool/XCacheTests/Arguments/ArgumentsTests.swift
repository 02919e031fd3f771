import Testing

@testable import xcache

@Suite struct ArgumentsTests {
  private static let options: [Option] = [
    .value("message", "TEXT", short: "m", "why"),
    .value("server", "URL", environment: "XCACHE_SERVER", "where"),
    .value("trust-proxy", "CIDR", environment: "XCACHE_TRUST_PROXY", "whom"),
    .value("limit", "N", environment: "XCACHE_LIMIT", "how many"),
    .flag("json", "as JSON"),
    .flag("dry-run", "nothing"),
  ]

  private static func parse(_ words: String..., environment: [String: String] = [:]) throws -> Arguments {
    try Arguments(words, options: options, environment: environment)
  }

  /// The error for a command line, or nil if it is valid.
  private static func refusal(_ words: [String]) -> String? {
    do throws(UsageError) {
      _ = try Arguments(words, options: options, environment: [:])
      return nil
    } catch {
      return error.message
    }
  }

  @Test func operandsAndOptionsInAnyOrder() throws {
    let arguments = try Self.parse("dist", "--json", "-m", "two words", "help", "--server=http://a?b=c", "-")
    #expect(arguments.operands == ["dist", "help", "-"])
    #expect(arguments.has("json") && !arguments.has("dry-run"))
    #expect(try arguments.value("message") == "two words")
    #expect(try arguments.value("server") == "http://a?b=c")
  }

  @Test func allWordsAfterTwoDashesAreOperands() throws {
    let arguments = try Self.parse("--json", "--", "--dry-run", "-m", "--")
    #expect(arguments.operands == ["--dry-run", "-m", "--"])
    #expect(arguments.has("json") && !arguments.has("dry-run") && arguments.all("message").isEmpty)
  }

  /// An option's value is the next word unless that is an option, as then the value is missing. After `=` it may be anything, or empty.
  @Test func valuesThatLookLikeOptions() throws {
    #expect(throws: UsageError.self) { try Self.parse("-m", "--json").value("message") }
    let arguments = try Self.parse("--message=--json", "--server=")
    #expect(try arguments.value("message") == "--json" && !arguments.has("json"))
    #expect(try arguments.value("server") == "")
  }

  @Test(arguments: [
    (["--jsn"], "unknown option --jsn; did you mean --json?"),
    (["--jsn=1"], "unknown option --jsn; did you mean --json?"),
    (["-x"], "unknown option -x"),
    (["--frobnicate-everything"], "unknown option --frobnicate-everything"),
    (["--json=yes"], "--json doesn't take a value"),
    (["--message"], "--message needs a value: --message TEXT"),
    (["a", "-m"], "--message needs a value: --message TEXT"),
  ])
  func refusals(words: [String], message: String) { #expect(Self.refusal(words) == message) }

  @Test func optionGivenTwice() throws {
    let arguments = try Self.parse("-m", "a", "--message", "b")
    #expect(arguments.all("message") == ["a", "b"])
    let error = #expect(throws: UsageError.self) { try arguments.value("message") }
    #expect(error?.message.hasPrefix("--message was given 2 times") == true)
  }

  @Test func environmentIsTheDefault() throws {
    let environment = ["XCACHE_SERVER": "http://env", "XCACHE_LIMIT": "", "MESSAGE": "x"]
    let arguments = try Self.parse(environment: environment)
    #expect(try arguments.value("server") == "http://env")
    #expect(try arguments.value("limit") == nil && arguments.value("message") == nil)
    #expect(
      try Self.parse("--server", "http://flag", environment: environment).value("server") == "http://flag")
  }

  @Test func lists() throws {
    let environment = ["XCACHE_TRUST_PROXY": "10.0.0.0/8, ::1\t192.0.2.1"]
    #expect(
      try Self.parse(environment: environment).list("trust-proxy") == ["10.0.0.0/8", "::1", "192.0.2.1"])
    let given = try Self.parse("--trust-proxy", "a,b", "--trust-proxy", "c", environment: environment)
    #expect(try given.list("trust-proxy") == ["a,b", "c"])
    #expect(try Self.parse().list("trust-proxy").isEmpty)
  }

  @Test(arguments: ["1", "20", "0020"]) func numbers(text: String) throws {
    #expect(try Self.parse("--limit", text).number("limit", in: 1...20) == Int(text))
  }

  @Test(arguments: ["0", "21", "-1", "1.5", "", "ten", "99999999999999999999"])
  func numbersOutOfRange(text: String) throws {
    let arguments = try Self.parse("--limit=\(text)")
    let error = #expect(throws: UsageError.self) { try arguments.number("limit", in: 1...20) }
    #expect(
      error?.message.hasPrefix("--limit \(text): ") == true && error?.message.contains("from 1 to 20") == true
    )
  }

  @Test func countedOperands() throws {
    let arguments = try Self.parse("a", "b")
    #expect(try arguments.operands("A", "B") == ["a", "b"])
    let missing = #expect(throws: UsageError.self) { try arguments.operands("A", "B", "FILE") }
    #expect(missing?.message == "FILE is missing")
    let surplus = #expect(throws: UsageError.self) { try arguments.operands("A") }
    #expect(surplus?.message == "unexpected argument: b")
  }

  @Test(
    arguments: [
      ("90s", 90), ("30m", 1800), ("6h", 21_600), ("2d", 172_800), ("100000d", 8_640_000_000),
    ] as [(String, Int64)])
  func durations(text: String, seconds: Int64) { #expect(Arguments.seconds(of: text, in: "smhd") == seconds) }

  /// Unknown units, invalid numbers, values out of range, an overflow.
  @Test(arguments: [
    "", "m", "30", "30 m", "m30", "-5m", "0m", "1.5h", "2w", "30M", "100001s", "99999999999999999999s", "３m",
    "+5m",
  ])
  func invalidDurations(text: String) { #expect(Arguments.seconds(of: text, in: "smhd") == nil) }

  @Test func rangeOfDurations() {
    #expect(Arguments.seconds(of: "4w", in: "mhdw", 1...4) == 2_419_200)
    #expect(Arguments.seconds(of: "5w", in: "mhdw", 1...4) == nil)
  }

  @Test func versionsByNumberOrTime() throws {
    #expect(try VersionArgument.read("12", in: "") == "12")
    #expect(try VersionArgument.read("2026-11-19T14:05+08:00", in: "--to") == "2026-11-19T06:05:00.999Z")
    for text in ["", "-1", "1.0", "yesterday", "2026-11-19T14:05", "9007199254740993"] {
      #expect(throws: UsageError.self) { try VersionArgument.read(text, in: "--to") }
    }
  }
}
