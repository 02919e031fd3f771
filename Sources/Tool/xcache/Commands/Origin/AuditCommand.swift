import Manifests
import OriginAPI
import OriginClient
import Publishing
import Store
import System
import Values

/// `xcache audit log | verify | export`.
enum AuditCommand {
  static let command = Command(
    name: "audit", operands: "log | verify | export",
    summary: "show and verify the audit log",
    examples: [
      .init("log --since 'yesterday 18:00'", "everything done since then"),
      .init(
        "verify --against https://cdn.example.com/hxm",
        "verify the hash chain, and compare it with a copy's receipt"),
      .init("export > audit.jsonl", "all rows, one JSON document per line"),
    ],
    notes: """
      Every change is one row: when, which token, from where, what, and the result. Each row's hash covers the row and
      the hash before it. verify follows the chain locally, not at the origin, and names the first row that was
      changed, removed or moved (exit code 3). Rows cut off at the end leave no trace in the chain; --against checks
      that the log still contains a row that publish printed (receipt 17:ab12…) or that a static copy has in its
      mirror.json. export prints one JSON document per line, which verify --file checks without a server.
      """,
    options: Command.remote + [
      .value("limit", "N", "show N rows (log; default: 20)").only("log"),
      .value("before", "ROW", "only rows before ROW (log)").only("log"),
      .value("since", "TIME", "only rows since this time: 2026-11-19T14:05+08:00, '10m ago' (log)").only(
        "log"),
      .value(
        "against", "ROW:HASH|DIR|URL",
        "a receipt that the log must contain, or a copy that holds one; repeatable (verify)"
      ).only("verify"),
      .value("file", "FILE", "verify this export (verify)").only("verify"),
      Command.all.only("log"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    switch arguments.operands.first {
    case "log": return try log(arguments, terminal)
    case "verify": return try verify(arguments, terminal)
    case "export": return try export(arguments, terminal)
    default: throw UsageError("expected audit log, verify or export")
    }
  }

  private static func log(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("log")
    let since = try VersionArgument.at(arguments, "since").flatMap { Timestamp.parse($0) }
    let limit = try arguments.number("limit", in: 1...1000) ?? (since == nil ? 20 : 1000)
    let api = try RemoteOrigin(arguments).api
    let answer = try api.audit(limit: limit, before: try arguments.number("before", in: 1...Int.max))
    let rows = try rows(of: answer.value, api).filter { row in since.map { row.at >= $0 } ?? true }
    if arguments.has("json") {
      // Newest first, so the rows since then come first.
      var document = answer.document.object ?? JSONObject()
      document["rows"] = (document["rows"]?.array).map { .array(Array($0.prefix(rows.count))) }
      terminal.say(json: .object(document))
      return .done
    }
    var table = Table(["ROW", "WHEN", "WHO", "FROM", "ACT", "WHERE", "WHAT", "RESULT"], rightAligned: [0])
    for row in rows {
      let place = [row.app, row.channel].compactMap(\.self).joined(separator: " ")
      table.add([
        "\(row.id)", Moment(milliseconds: row.at).formatted, row.author, row.address, row.act,
        place,
        message(row.parameters), message(row.result),
      ])
    }
    if table.isEmpty {
      terminal.say("no act was recorded\(since == nil ? "" : " since then")")
      return .done
    }
    terminal.say(list: table.lines, head: 1, all: arguments.has("all") || !arguments.all("limit").isEmpty)
    return .done
  }

  /// Formats the non-null members of a row's document as `name value`.
  static func message(_ document: String) -> String {
    guard let object = (try? JSONValue.parse(Array(document.utf8)))?.object else { return "" }
    return object.members.compactMap { member in
      switch member.value {
      case .null: nil
      case .string(let text): text.isEmpty ? nil : "\(member.key) \(shortened(text))"
      case .array(let bundles) where member.key == "signed" && bundles.contains { $0.object != nil }:
        signers(of: bundles)
      // Lists of documents have no short form; their `changes` do.
      case .array(let items) where items.contains { $0.object != nil }: nil
      case .array(let items): "\(member.key) \(items.compactMap(\.string).joined(separator: ","))"
      case .object(let changes) where member.key == "changes": AuditChanges(changes).text
      // The share is one of 10,000, so the number alone misleads.
      case .object(let terms) where (member.key == "is" || member.key == "was") && terms["share"] != nil:
        "\(member.key) \(audience(terms))"
      default: "\(member.key) \(String(decoding: member.value.canonical, as: UTF8.self))"
      }
    }.joined(separator: ", ")
  }

  /// Whom a rollout goes to: `15 % of the devices, paused`.
  private static func audience(_ terms: JSONObject) -> String {
    let text = ShareText.audience(
      share: Int(terms["share"]?.integer ?? 0),
      groups: (terms["groups"]?.array ?? []).compactMap(\.string), app: terms["app"]?.string)
    return text + (terms["paused"]?.bool == true ? ", paused" : "")
  }

  /// Names the keys that signed bundles by the beginnings of their ids: `signed by 60303f8b52c1e0aa…`.
  private static func signers(of bundles: [JSONValue]) -> String? {
    var keys: [String] = []
    for key in bundles.flatMap({ $0["keys"]?.array ?? [] }).compactMap(\.string)
    where !keys.contains(key) { keys.append(key) }
    return keys.isEmpty ? nil : "signed by \(AwaitedWords.list(keys))"
  }

  /// Shortens a text for a table; `audit export` and --json have all of it.
  private static func shortened(_ text: String) -> String {
    text.count <= 40 ? text : text.prefix(39) + "…"
  }

  private static func export(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("export")
    try eachRow(try RemoteOrigin(arguments)) { row in
      terminal.write(SafeText.escaped(json: row.json.canonical) + [0x0a])
    }
    return .done
  }

  private static func verify(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("verify")
    let receipts = try arguments.all("against").map { try receipt($0, arguments) }
    var chain = AuditChain(receipts: receipts)
    if let file = try arguments.value("file") {
      for row in try rows(of: file) { chain.append(row) }
    } else {
      try eachRow(try RemoteOrigin(arguments)) { chain.append($0) }
    }
    let broken = chain.finish()
    let failure = broken.map { Failure("\($0)", code: .refused, name: "audit") }
    if arguments.has("json") {
      let answer: JSONValue = [
        "head": .string(chain.head.text), "intact": .bool(broken == nil),
        "problem": broken.map { .string($0.description) } ?? .null,
        "row": broken.map { .integer($0.row) } ?? .null,
      ]
      terminal.say(json: answer, failure)
    } else if let broken {
      terminal.say(terminal.colour("\(broken)", .red))
    } else {
      for receipt in receipts { terminal.say("row \(receipt.row) matches the receipt") }
      terminal.say("intact: \(Count.text(chain.head.row, "row")), receipt \(chain.head.text)")
    }
    return failure?.code ?? .done
  }

  /// Returns a receipt given as text, or the one in a static copy.
  private static func receipt(_ text: String, _ arguments: Arguments) throws -> AuditHead {
    if let receipt = AuditHead(text) { return receipt }
    // When 64 digits are copied, some are easily lost.
    if text.first?.isNumber == true, text.contains(":") {
      throw UsageError("--against \(text): expected a row number, a colon and 64 hexadecimal digits")
    }
    guard let head = try MirrorVerify.reader(text, arguments).index().0.audit, head.row > 0 else {
      throw Failure("\(text)/mirror.json has no receipt; a run of `xcache mirror` writes it")
    }
    return head
  }

  /// Calls `body` with every row of the origin's audit trail, oldest first.
  private static func eachRow(_ remote: RemoteOrigin, _ body: (AuditRow) -> Void) throws {
    let api = try remote.api
    var after: Int64 = 0
    while true {
      let rows = try rows(of: api.auditExport(after: after), api)
      for row in rows { body(row) }
      guard let last = rows.last?.id, last > after else { return }
      after = last
    }
  }

  private static func rows(of answer: AuditRows, _ api: OriginClient) throws(OriginError) -> [AuditRow] {
    try api.reading { () throws(JSONError) in
      try answer.rows.map { (row) throws(JSONError) in try AuditRow(json: row) }
    }
  }

  private static func rows(of file: String) throws -> [AuditRow] {
    guard let bytes = try DurableFile.read(file) else {
      throw Failure("no such file: \(file)", name: "no-files")
    }
    return try bytes.split(separator: 0x0a).enumerated().map { number, line in
      do {
        return try AuditRow(json: JSONValue.parse(Array(line)))
      } catch {
        throw Failure("\(file), line \(number + 1): \(error)")
      }
    }
  }
}
