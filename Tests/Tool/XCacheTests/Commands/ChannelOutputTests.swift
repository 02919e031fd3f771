import Manifests
import Testing
import Values

@testable import OriginAPI
@testable import OriginClient
@testable import xcache

/// The output of commands about channels, tokens and collections, for documents as an origin sends them.
@Suite struct ChannelOutputTests {
  private static let at = "2026-11-20T15:17:27.000Z"
  private static let plain = CapturedTerminal().terminal()

  private static func decoded<Value: Decodable>(_ text: String) throws -> Value {
    try JSONValue.parse(Array(text.utf8)).decode()
  }

  private static func overview(_ more: String = "", resources: Int = 4) throws -> ChannelOverview {
    try decoded(
      #"{"app":"shop","at":"\#(at)","bundles":[],"bytes":900,"channel":"online","damaged":[],"damagedURLs":[{"#
        + #""bundle":"web","sha256":"\#(String(repeating: "0a", count: 32))","url":"https://m/a.js"}],"#
        + #""isDefaultApp":true,"origin":"o1","publicURL":"https://m.example.com","resources":\#(resources),"#
        + #""scrub":{"bytes":0,"files":0,"oldest":\#(more.isEmpty ? "null" : "\"\(at)\"")},"version":"9"\#(more)}"#
    )
  }

  @Test func minimalChannel() throws {
    #expect(
      StatusCommand.lines(try Self.overview(resources: 1), nil, Self.plain) == [
        "released   2026-11-20 15:17:27 UTC", "holds      1 resource, 900 B",
        "public URL https://m.example.com",
        "default    answers polls that name no app",
      ])
    #expect(
      StatusCommand.damaged(try Self.overview(), Self.plain) == [
        "DAMAGED    https://m/a.js: publish bundle web again"
      ])
  }

  private static func edge(_ name: String, _ more: String) -> String {
    #"{"name":"\#(name)",\#(more)}"#
  }

  /// The caches that don't know the channel's last change, as `status` and the acts of the kill switch say it.
  @Test func edges() throws {
    let late = #""isTold":false,"lateSince":"\#(Self.at)""#
    let edges = [
      Self.edge("varnish http://10.0.0.1", #""fault":null,"isTold":true,"lateSince":null"#),
      Self.edge("nginx http://10.0.0.2", #"\#(late),"fault":"status 503""#),
      Self.edge("fastly SU1Z", #"\#(late),"fault":null"#),
      Self.edge("http http://10.0.0.3", #""fault":null,"isTold":false,"lateSince":null"#),
    ]
    func overview(_ oldest: String) throws -> ChannelOverview {
      try Self.overview(
        #","edge":{"oldest":\#(oldest),"purged":10,"ttl":10},"edges":[\#(edges.joined(separator: ","))]"#)
    }
    let start =
      "has not taken this channel's purge since 2026-11-20 15:17:27 UTC; devices may get answers that are"
    #expect(
      StatusCommand.lines(try overview("30"), nil, Self.plain).prefix(3) == [
        "EDGE: The edge nginx http://10.0.0.2 \(start) up to 30 s old. The last attempt: status 503",
        "EDGE: The edge fastly SU1Z \(start) up to 30 s old.", "released   2026-11-20 15:17:27 UTC",
      ])
    #expect(
      StatusCommand.lines(try overview("null"), nil, Self.plain)[1]
        == "EDGE: The edge fastly SU1Z \(start) as old as the cache's configuration allows.")
    let all = try #require(try overview("30").edges)
    #expect(
      EdgeOutput.told(all)
        == "1 of 4 caches told; not told yet: nginx http://10.0.0.2 (status 503), fastly SU1Z, http http://10.0.0.3"
    )
    #expect(EdgeOutput.told([all[0]]) == "1 of 1 cache told")
    #expect(EdgeOutput.told([]) == nil)
  }

  @Test func firstPack() throws {
    let deltas = #","deltas":{"files":0,"filesDone":0,"makesFirstPack":true,"pending":0,"version":"9"}"#
    #expect(
      StatusCommand.lines(try Self.overview(deltas), nil, Self.plain)[2...3] == [
        "deltas     complete", "first pack being made: until then, new devices fetch the files one by one",
      ])
  }

  @Test func completeChannel() throws {
    let version = #""at":"\#(Self.at)","author":"ann","manifestVersion":"9","version":"3""#
    let more =
      #","freeze":{"at":"\#(Self.at)","author":"bob","reason":"a\nsale"},"hosts":["a.example","*.b.example"],"#
      + #""interval":60,"reports":25,"rollback":"7","deltas":{"files":1,"filesDone":0,"pending":1,"version":"9"},"#
      + #""policy":{\#(version),"kind":"kill","message":"","policy":{}},"#
      + #""prefetch":{\#(version),"kind":"rollback","message":"first\nsecond","source":"2"}"#
    let lines = StatusCommand.lines(try Self.overview(more), nil, Self.plain)
    #expect(
      lines.prefix(8) == [
        "FROZEN     by bob since 2026-11-20 15:17:27 UTC: a ⏎ sale", "released   2026-11-20 15:17:27 UTC",
        "holds      4 resources, 900 B", "deltas     1 older version left; of the next, 0 of 1 file done",
        "public URL https://m.example.com", "hosts      a.example, *.b.example",
        "rollback   version 7 was the last rollback", "default    answers polls that name no app",
      ])
    #expect(
      lines.suffix(5) == [
        "policy     version 3 (kill by ann, 2026-11-20 15:17:27 UTC)",
        "prefetch   version 3 (rollback to 2 by ann, 2026-11-20 15:17:27 UTC: first)",
        "interval   60 s between polls", "reports    0.25 % of devices' usage reports",
        "scrub      all files verified since 2026-11-20 15:17:27 UTC",
      ])
  }

  @Test(
    arguments: [
      (nil, 0, 0, "looking for older versions"), (0, 3, 3, "complete"),
      (1, 0, 1, "1 older version left; of the next, 0 of 1 file done"),
      (2, 1, 3, "2 older versions left; of the next, 1 of 3 files done"),
    ] as [(Int?, Int, Int, String)])
  func deltas(pending: Int?, done: Int, files: Int, line: String) {
    let progress = ChannelOverview.DeltaProgress(
      version: ManifestVersion(9), pending: pending, filesDone: done, files: files)
    #expect(StatusCommand.message(ofDeltas: progress) == line)
  }

  // MARK: Policies

  private static func policy(_ text: String) throws -> PolicyOutput {
    PolicyOutput(try JSONValue.parse(Array(text.utf8)))
  }

  @Test func policies() throws {
    #expect(try Self.policy("{}").lines(Self.plain) == ["interception is on"])
    #expect(
      PolicyOutput(nil).lines(Self.plain) == ["interception is on"]
        && PolicyOutput(nil).alarm(Self.plain) == nil)
    let killed = try Self.policy(
      #"{"intercept":false,"bypass":["https://a.example/*","https://b.example/*","https://c.example/*"],"#
        + #""bypassUntil":{"https://b.example/*":"2099-01-01T00:00:00Z","https://c.example/*":"2001-01-01T00:00:00Z"},"#
        + #""httpdns":false}"#)
    #expect(
      killed.lines(Self.plain) == [
        "KILLED     interception is off until `xcache policy resume`: devices use only the network",
        "bypassed   https://a.example/*", "bypassed   https://b.example/*  until 2099-01-01T00:00:00Z",
        "bypassed   https://c.example/*  ended at 2001-01-01T00:00:00Z",
        "httpdns    off: devices use the system's DNS",
      ])
  }

  /// An expired kill isn't shown.
  @Test func killsWithAnEnd() throws {
    let ahead = try Self.policy(#"{"intercept":false,"until":"2099-01-01T00:00:00Z"}"#).alarm(Self.plain)
    #expect(
      ahead == "KILLED     interception is off until 2099-01-01T00:00:00Z: devices use only the network")
    #expect(try Self.policy(#"{"intercept":false,"until":"2001-01-01T00:00:00Z"}"#).alarm(Self.plain) == nil)
    let screen = CapturedTerminal().terminal(usesColour: true)
    #expect(
      try Self.policy(#"{"intercept":false}"#).alarm(screen).map(SafeText.escaped)?.hasPrefix(
        "\u{1B}[31mKILLED") == true)
  }

  @Test func changesOfDocuments() throws {
    func printed(_ text: String, replaces: Bool) throws -> String {
      let document = try JSONValue.parse(Array(text.utf8))
      let captured = CapturedTerminal()
      DocumentChange.tell(
        OriginAnswer(value: try document.decode(), document: document), "pushed", replaces: replaces,
        in: .online,
        try Arguments([String](), options: Command.common, environment: [:]), captured.terminal())
      return captured.output
    }
    let made =
      #""at":"\#(Self.at)","author":"ann","kind":"push","manifestVersion":"9","message":"m","version":"3""#
    let replaced = #","replaced":{\#(made)}"#
    #expect(
      try printed(#"{"changed":false,"manifestVersion":"9","version":"3"}"#, replaces: true)
        == "nothing changed: version 3 already has this content\n")
    #expect(try printed(#"{"changed":true,\#(made)\#(replaced)}"#, replaces: false) == "pushed, version 3\n")
    #expect(
      try printed(#"{"changed":true,\#(made)\#(replaced)}"#, replaces: true)
        == "pushed, version 3\nreplaces version 3 (push by ann, 2026-11-20 15:17:27 UTC: m)\n")
  }

  // MARK: Shares and hosts

  @Test(
    arguments: [
      ("0", 0, "0 %"), ("100", 10_000, "100 %"), ("100.00%", 10_000, "100 %"), ("10%", 1_000, "10 %"),
      ("0.25%", 25, "0.25 %"), ("0.5", 50, "0.5 %"), ("0.05", 5, "0.05 %"), ("012.30", 1_230, "12.3 %"),
    ] as [(String, Int, String)])
  func percentages(text: String, share: Int, shown: String) throws {
    #expect(try Percentage.read(text) == share)
    #expect(ShareText.percent(share) == shown)
  }

  @Test(arguments: [
    "", "%", ".5", "5.", "100.01", "101", "-1", "+5", "1.234", "1e1", "0x1", "٣", "1.2.3", "1000", "5 %",
    "5%%",
  ])
  func invalidPercentages(text: String) {
    let error = #expect(throws: UsageError.self) { try Percentage.read(text) }
    #expect(
      error?.message
        == "--reports \(text): expected a percentage from 0 to 100 with at most two decimals, or none")
  }

  @Test func hosts() throws {
    #expect(try HostOutput.list("*") == nil && HostOutput.cell(nil) == "all" && HostOutput.cell([]) == "")
    #expect(
      try HostOutput.list("a.example, *.b.example")?.names == ["*.b.example", "a.example"]
        || HostOutput.list("a.example, *.b.example")?.names == ["a.example", "*.b.example"])
    for text in ["", " , "] {
      let error = #expect(throws: UsageError.self) { try HostOutput.list(text) }
      #expect(error?.message == "--hosts contains no host; '*' means all hosts")
    }
    let error = #expect(throws: UsageError.self) { try HostOutput.list("a.example/x") }
    #expect(error?.message.hasPrefix("--hosts a.example/x: ") == true)
  }

  // MARK: gc

  private static func report(
    dryRun: Bool = false, dropped: String = "", kept: String = "", promised: Int = 0, stopped: String = "",
    rows: Int = 1
  ) throws -> GCReport {
    let files = #"{"bytes":1500,"files":1}"#
    return try decoded(
      #"{"blobs":\#(files),"channels":[{"app":"shop","channel":"online","dropped":[\#(dropped)],"kept":[\#(kept)]}],"#
        + #""derived":\#(files),"dryRun":\#(dryRun),"entries":\#(rows),"freedBytes":6000,"#
        + #""longestWriteMilliseconds":3,"orphans":\#(files),"promised":\#(promised),"resources":5,"#
        + #""stoppedFor":[\#(stopped)],"temporary":\#(files),"urls":6}"#)
  }

  private static func kept(_ version: Int, _ reasons: String) -> String {
    #"{"reasons":[\#(reasons)],"version":"\#(version)"}"#
  }

  @Test func collections() throws {
    let kept = [
      Self.kept(4, #"{"why":"recent"}"#), Self.kept(5, #"{"why":"recent"}"#),
      Self.kept(6, #"{"why":"recent"},{"hours":1,"last":"\#(Self.at)","polls":1,"why":"reported"}"#),
      Self.kept(7, #"{"hours":3,"last":"\#(Self.at)","polls":20,"why":"reported"}"#),
      Self.kept(8, #"{"author":"ann","reason":"audit","why":"pinned"},{"mirror":"/copy","why":"mirrored"}"#),
      Self.kept(9, #"{"why":"live"}"#), Self.kept(10, #"{"why":"newer"}"#),
      Self.kept(11, #"{"why":"reported"}"#),
    ].joined(separator: ",")
    #expect(
      GCCommand.channelLines(try Self.report(dropped: #""3","1","2""#, kept: kept), Self.plain) == [
        "shop online  dropped 3 versions (1–3), kept 8", "  4–5: one of the newest",
        "  6: one of the newest; in use: reported by 1 poll in 1 hour, most recently at 2026-11-20 15:17:27 UTC",
        "  7: in use: reported by 20 polls in 3 hours, most recently at 2026-11-20 15:17:27 UTC",
        "  8: pinned by ann: audit; used by mirror /copy", "  9: live", "  10: ?",
        "  11: in use: reported by 0 polls in 0 hours, most recently at —",
      ])
    #expect(
      GCCommand.channelLines(try Self.report(dryRun: true), Self.plain) == [
        "shop online  would drop 0 versions, keep 0"
      ])
    #expect(
      GCCommand.channelLines(try Self.report(dropped: #""3""#), Self.plain) == [
        "shop online  dropped 1 version (3), kept 0"
      ])
  }

  @Test func freedByACollection() throws {
    let files = "files 1 (1.5 KB), orphans 1 (1.5 KB), derived 1 (1.5 KB), temporary 1 (1.5 KB)"
    #expect(GCCommand.lines(try Self.report()) == ["freed 6.0 KB: \(files); 1 row of history"])
    #expect(
      GCCommand.lines(try Self.report(dryRun: true, promised: 1, stopped: #""a mirror","a backup""#, rows: 2))
        == [
          "would free 6.0 KB: \(files); 2 rows of history", "kept 1 file for publishes in progress",
          "stopped early for a mirror, a backup; run it again when that has ended",
        ])
  }

  // MARK: Tokens and the audit trail

  @Test func tokens() throws {
    let list: TokenList = try Self.decoded(
      #"{"tokens":[{"id":"t1","name":"ci","scope":"publish","app":"shop","bundles":"web*","hosts":["a.example"],"#
        + #""createdAt":"\#(Self.at)"},{"id":"t2","name":"old","scope":"admin","revokedAt":"\#(Self.at)"}]}"#)
    #expect(
      TokenCommand.table(list.tokens) == [
        "NAME           SCOPE    APP   CHANNEL  BUNDLES  HOSTS      CREATED                  LAST USED  EXPIRES  ID",
        "ci             publish  shop  all      web*     a.example  2026-11-20 15:17:27 UTC  —          —        t1",
        "old (revoked)  admin    all   all      all      all        —                        —          —        t2",
      ])
  }

  @Test(arguments: [
    ("", ""), ("[1]", ""), ("{}", ""), (#"{"a":null,"b":""}"#, ""), (#"{"b":"x","a":1.50}"#, "a 1.50, b x"),
    (#"{"list":["x",7,"y"],"yes":true,"o":{"k":[]}}"#, #"list x,y, o {"k":[]}, yes true"#),
    (#"{"t":"\#(String(repeating: "x", count: 50))"}"#, "t \(String(repeating: "x", count: 39))…"),
    (
      #"{"is":{"app":">=4","groups":["qa"],"paused":true,"share":1500},"was":{"app":null,"groups":[],"paused":false,"share":100}}"#,
      "is 15 % of the devices and group qa, with app version >=4, paused, was 1 % of the devices"
    ),
  ])
  func auditRows(document: String, text: String) { #expect(AuditCommand.message(document) == text) }
}
