import Manifests
import Values
@testable import OriginAPI
@testable import OriginClient
import System
import Testing

@testable import Publishing
@testable import xcache

/// The output of commands that make releases.
@Suite struct ReleaseOutputTests {
  static let at = "2026-11-20T15:17:27.000Z"
  static let plain = CapturedTerminal().terminal()

  static func decoded<Value: Decodable>(_ text: String, as type: Value.Type = Value.self) throws -> Value {
    try JSONValue.parse(Array(text.utf8)).decode(type)
  }

  /// The members of a release's answer.
  static func members(
    changed: Bool = true, _ added: Int = 1, _ altered: Int = 2, _ removed: Int = 3, version: Int = 9,
    previous: Int = 8, deltas: Bool = true, receipt: String = "null", bundles: String = "",
    created: String = "false"
  ) -> String {
    #""added":\#(added),"at":"\#(at)","bundles":[\#(bundles)],"bytes":900,"changed":\#(changed),"#
      + #""changed_count":\#(altered),"createdApp":\#(created),"createdChannel":\#(created),"#
      + #""deltasStored":\#(deltas),"missing":[],"newBytes":77,"previous":"\#(previous)","receipt":\#(receipt),"#
      + #""removed":\#(removed),"resources":4,"version":"\#(version)""#
  }

  private static func release(_ members: String) throws -> ReleaseAnswer { try decoded("{\(members)}") }

  @Test func visibilityOfARelease() throws {
    let stored = try Self.release(Self.members(receipt: #""7:ab""#))
    #expect(stored.changeSummary == "+1 ~2 −3")
    #expect(stored.endLines(CapturedTerminal().terminal()) == ["live with its deltas", "receipt 7:ab"])
    #expect(stored.visibility(after: 1_299) == "live with its deltas, made in 1200 ms")
    #expect(stored.visibility(after: 99) == "live with its deltas, made in 0 ms")
    let early = try Self.release(Self.members(deltas: false))
    #expect(
      early.endLines(CapturedTerminal().terminal()) == [
        "live; its deltas are still being made, and devices download whole files until they are ready"
      ])
    let removing = try Self.release(Self.members(0, 0, 3, deltas: false))
    #expect(removing.endLines(CapturedTerminal().terminal()) == ["live; no deltas needed"])
  }

  @Test(
    arguments: [
      (true, false, 2, 3, false, "prefetch config: the content of version 2, now version 3"),
      (true, false, 0, 3, true, "prefetch config: empty, as there was none then, would become version 3"),
      (false, false, 2, 3, false, "prefetch config: nothing changed, version 3 already has this content"),
      (
        false, true, 0, 3, false,
        "prefetch config: the source has none to promote; version 3 stays as it is"
      ),
      (false, true, 0, 0, true, "prefetch config: the source has none to promote; there is none here either"),
    ] as [(Bool, Bool, Int64, Int64, Bool, String)])
  func prefetchConfigs(changed: Bool, kept: Bool, source: Int64, version: Int64, dryRun: Bool, line: String) {
    let result = PrefetchOutcome(
      changed: changed, version: ManifestVersion(version), source: ManifestVersion(source), isKept: kept)
    #expect(result.message(dryRun: dryRun) == line)
  }

  @Test func prefetchConfigsOfAnotherChannel() throws {
    let result = PrefetchOutcome(
      changed: true, version: ManifestVersion(3), source: ManifestVersion(2))
    #expect(
      result.message(from: try ChannelName("test"), dryRun: false)
        == "prefetch config: the content of version 2 of test, now version 3")
    let kept = PrefetchOutcome(changed: false, version: .none, source: .none, isKept: true)
    #expect(
      kept.message(from: try ChannelName("test"), dryRun: false)
        == "prefetch config: test has none to promote; there is none here either")
  }

  @Test func costs() {
    func text(_ files: Int, deltas: Int = 0, pack: Int64? = nil, requests: Int? = nil, plain: Int64 = 0)
      -> String
    {
      TransferCost(
        files: files, deltas: deltas, bytes: 4_000, plainBytes: plain, answer: 600, pack: pack,
        requests: requests
      ).formatted
    }
    #expect(text(0) == "4.0 KB in 0 files" && text(1) == "4.0 KB in 1 file")
    #expect(text(2, requests: 3) == "4.6 KB in 3 requests, 2 files")
    #expect(text(1, requests: 1) == "4.6 KB in 1 request, 1 file")
    #expect(
      text(68, pack: 4_000, requests: 2, plain: 5_900_000)
        == "4.6 KB in 2 requests, 68 files as a pack (5.9 MB as whole files)")
    for (files, words) in [
      (1, "1 lazy file (2.0 KB) when pages ask for it"), (2, "2 lazy files (2.0 KB) when pages ask for them"),
    ] {
      var cost = TransferCost(files: 3, deltas: 0, bytes: 4_000, plainBytes: 4_000, answer: 600, requests: 4)
      cost.lazy = LazyFiles(files: files, bytes: 2_000)
      #expect(cost.formatted == "4.6 KB in 4 requests, 3 files; \(words)")
    }
    #expect(text(68, pack: 4_000, requests: 4) == "4.6 KB in 4 requests, 68 files, most of them as a pack")
    // The plain cost isn't shown unless it is larger.
    #expect(text(2, deltas: 1, requests: 3, plain: 4_600) == "4.6 KB in 3 requests, 2 files")
    #expect(
      text(2, deltas: 1, requests: 3, plain: 4_601) == "4.6 KB in 3 requests, 2 files (4.6 KB as whole files)"
    )
    #expect(
      TransferCost(files: .max, deltas: 0, bytes: -5, plainBytes: .max).formatted
        == "-5 B in 9223372036854775807 files")
  }

  // MARK: publish

  private static func result(
    _ members: String, files: Int = 4, uploaded: Int = 0, preparation: String? = nil,
    sendsFiles: Bool = true, hasNoLimit: Bool = false, afterwards: PublishError? = nil
  ) throws -> PublishResult {
    let document = try JSONValue.parse(Array("{\(members)}".utf8))
    let prepared = try preparation.map { text in
      let document = try JSONValue.parse(Array(text.utf8))
      return OriginAnswer<PreparationAnswer>(value: try document.decode(), document: document)
    }
    return PublishResult(
      release: OriginAnswer(value: try document.decode(), document: document), plans: [], files: files,
      filesRead: 0, bytes: 900, uploaded: uploaded, uploadedBytes: 77, bytesSent: 80, check: nil,
      preparation: prepared, afterwards: afterwards, hasNoLimit: hasNoLimit, sendsFiles: sendsFiles)
  }

  private static func preparation(_ cost: String, base: String = "8", done: Bool = true, ready: Bool = true)
    -> String
  {
    #"{"base":"\#(base)","cost":{\#(cost)},"deltas":1,"done":\#(done),"files":1,"filesDone":1,"id":"p","#
      + #""late":false,"milliseconds":1250,"ready":\#(ready)}"#
  }

  private static let cost =
    #"{"answer":600,"bytes":4000,"deltas":0,"files":1,"plainBytes":4000,"requests":2,"total":4600}"#

  @Test func nothingChanged() throws {
    let members = Self.members(changed: false, 0, 0, 0)
    func lines(_ files: Int, _ uploaded: Int, dryRun: Bool = false) throws -> [String] {
      try Self.result(members, files: files, uploaded: uploaded).lines(dryRun: dryRun, Self.plain)
    }
    #expect(try lines(4, 0) == ["nothing changed: version 9 already has these 4 files"])
    #expect(
      try lines(1, 1) == [
        "nothing changed: version 9 already has this 1 file",
        "sent 1 file again, because it was damaged at the origin",
      ])
    #expect(
      try lines(4, 2, dryRun: true).last
        == "would send 2 files again, because they were damaged at the origin")
  }

  @Test func releaseWithItsCost() throws {
    let bundle =
      #"{"added":1,"bundle":"web","changed":2,"removed":3,"replaced":{"at":"\#(Self.at)","author":"ann","version":"8"}}"#
    let result = try Self.result(
      Self.members(receipt: #""7:ab""#, bundles: bundle, created: "true"),
      preparation: Self.preparation(
        #""last1":\#(Self.cost),"last2":\#(Self.cost),"new":\#(Self.cost)"#, done: false))
    #expect(
      result.lines(dryRun: false, Self.plain) == [
        "created the app", "created the channel", "+1 ~2 −3, sent 77 B of 900 B, version 9",
        "live with its deltas, made in 1200 ms",
        "devices at the current version download 4.6 KB in 2 requests, 1 file",
        "devices 2 versions back download at most 4.6 KB in 2 requests, 1 file",
        "new devices download 4.6 KB in 2 requests, 1 file",
        "other sizes are still being computed: see `xcache show 9`, or `xcache diff A 9` for a version A",
        "bundle web: replaces version 8, which ann released at 2026-11-20 15:17:27 UTC while this publish was under way",
        "receipt 7:ab",
      ])
  }

  /// A pack for first installs is made after the release.
  @Test(arguments: [false, true]) func firstInstallsBeforeTheirPack(dryRun: Bool) throws {
    let new =
      #""new":{"answer":600,"bytes":4000,"deltas":0,"files":4,"plainBytes":4000,"requests":5,"total":4600}"#
    let lines = try Self.result(Self.members(), preparation: Self.preparation(new)).lines(
      dryRun: dryRun, Self.plain)
    #expect(lines.contains("new devices download at most 4.6 KB in 5 requests, 4 files"))
    #expect(
      lines.contains(
        "  less with their pack, which is made in the background if it gains anything"
          + (dryRun ? "" : ": see `xcache diff 0 9`")))
  }

  @Test func dryRun() throws {
    let members = Self.members(created: "true")
    let unsent = try Self.result(members, sendsFiles: false, hasNoLimit: true)
    #expect(
      unsent.lines(dryRun: true, Self.plain) == [
        "would create the app", "would create the channel",
        "dry run: +0 ~0 −0, would send 77 B of 900 B, would become version 9",
        "--max-update has no effect: no device has an earlier version",
      ])
    let unknown = try Self.result(Self.members(), preparation: Self.preparation(""))
    #expect(unknown.lines(dryRun: true, Self.plain).last == "the download size can't be determined")
    #expect(
      unknown.lines(dryRun: false, Self.plain).last
        == "the download size isn't known yet: see `xcache show 9` later")
  }

  /// The cost for another version isn't shown.
  @Test func releaseAfterAConcurrentOne() throws {
    let result = try Self.result(
      Self.members(), preparation: Self.preparation(#""last1":\#(Self.cost)"#, base: "7"),
      afterwards: .costUnknown)
    let lines = result.lines(dryRun: false, Self.plain)
    #expect(!lines.contains { $0.contains("devices at the current version") })
    #expect(
      lines.contains("another release was made in the meantime: `xcache show 9` shows the cost of this one"))
    #expect(
      lines.last?.hasPrefix("the release is live, but its cost for devices could not be determined: ") == true
    )
    #expect(
      result.lines(dryRun: true, Self.plain).contains(
        "another release was made in the meantime: run it again for the cost of this one"))
    let json = result.json(dryRun: false)
    #expect(json["deltas"]?["id"] == "p" && json["deltas"]?["cost"] == nil && json["uploadedBytes"] == 77)
    #expect(json["dryRun"] == false && json["sentBytes"] == 80 && json["version"] == "9")
  }

  // MARK: rollback and promote

  private static let replaced = (1...7).map { #"{"at":"\#(at)","author":"a\#($0)","version":"\#($0)"}"# }
  private static let rollback =
    #""takesBack":[{"added":0,"bundle":"web","changed":1,"removed":0,"#
    + #""releases":[\#(replaced.joined(separator: ","))]}],"target":"6""#

  @Test func rollbackOutput() throws {
    let old = #","cost":{"fileBytes":5000,"files":1,"patchBytes":2000,"patchGzipBytes":700}"#
    let answer: RollbackAnswer = try Self.decoded("{\(Self.members()),\(Self.rollback)\(old)}")
    let cost =
      "devices on version 8 take a patch of 2.0 KB (700 B gzipped) and 1 file, 5.0 KB, except those that they "
      + "still have"
    let taken =
      "undoes in web: version 1 by a1, version 2 by a2, version 3 by a3, version 4 by a4, version 5 by a5 and "
      + "2 more"
    #expect(
      RollbackCommand.lines(answer, dryRun: false, Self.plain) == [
        "+1 ~2 −3, version 9 with the content of version 6", taken, cost, "live with its deltas",
      ])
    #expect(
      RollbackCommand.lines(answer, dryRun: true, Self.plain) == [
        cost, "dry run: +1 ~2 −3, would become version 9 with the content of version 6", taken,
      ])
    let same: RollbackAnswer = try Self.decoded(
      #"{\#(Self.members(changed: false, 0, 0, 0)),"takesBack":[],"target":"6"}"#)
    #expect(
      RollbackCommand.lines(same, dryRun: false, Self.plain) == [
        "nothing changed: version 9 has the content of version 6"
      ])
  }

  @Test func promotionOutput() throws {
    func answer(changed: Bool) throws -> PromotionAnswer {
      try Self.decoded(
        #"{\#(Self.members(changed: changed)),"from":"test","fromVersion":"5","left":["old"],"#
          + #""warnings":["https://m/a.js"]}"#)
    }
    let first = [
      "https://m/a.js contains a host that is rewritten",
      "bundle old stays in online, although test no longer has it",
    ]
    #expect(
      PromoteCommand.lines(try answer(changed: true), to: .online, dryRun: false, Self.plain)
        == first + ["+1 ~2 −3, online version 9 with the content of test 5", "live with its deltas"])
    #expect(
      PromoteCommand.lines(try answer(changed: true), to: .online, dryRun: true, Self.plain)
        == first + ["dry run: +1 ~2 −3, would become online version 9"])
    #expect(
      PromoteCommand.lines(try answer(changed: false), to: .online, dryRun: false, Self.plain)
        == first + ["nothing changed: online 9 has the content of test 5"])
  }

  // MARK: log, show and diff

  private static func info(_ kind: String, _ more: String = "", resources: Int = 4) throws -> ReleaseInfo {
    try decoded(
      #"{"added":1,"at":"\#(at)","author":"ann","bundles":[{"added":1,"bundle":"web","changed":2,"removed":3}],"#
        + #""bytes":900,"changed":2,"digest":"\#(String(repeating: "0a", count: 32))","kind":"\#(kind)","#
        + #""message":"first\nsecond","newBytes":77,"removed":3,"resources":\#(resources),"version":"9"\#(more)}"#
    )
  }

  @Test func kindsOfReleases() throws {
    let source = #","source":{"channel":"test","version":"5"}"#
    #expect(try LogCommand.kind(Self.info("publish")) == "publish")
    #expect(try LogCommand.kind(Self.info("promote", source)) == "promote of test 5")
    #expect(try LogCommand.kind(Self.info("rollback", source)) == "rollback to 5")
  }

  @Test func releaseDetails() throws {
    let more = #","cost":\#(Self.cost),"breakGlass":{"frozenBy":"bob","reason":"fire"}"#
    #expect(
      ShowCommand.lines(try Self.info("publish", more, resources: 5), Self.plain) == [
        "version 9  publish", "released  2026-11-20 15:17:27 UTC by ann", "changes   +1 ~2 −3, 77 B new",
        "holds     5 resources, 900 B", "digest    \(String(repeating: "0a", count: 32))",
        "update    4.6 KB in 2 requests, 1 file", "despite the freeze by bob: fire", "", "first\nsecond", "",
        "BUNDLE  ADDED  CHANGED  REMOVED", "web         1        2        3",
      ])
    let lazy = try Self.info("publish", #","lazy":{"bytes":300,"files":2}"#, resources: 5)
    #expect(
      ShowCommand.lines(lazy, Self.plain).contains("holds     5 resources, 900 B, 2 of them (300 B) lazy"))
  }

  @Test func firstInstallOfARelease() throws {
    let info = try Self.info("publish", #","cost":\#(Self.cost)"#, resources: 1)
    #expect(
      ShowCommand.lines(info, Self.plain).contains(
        "update    4.6 KB in 2 requests, 1 file, for a device that has nothing yet"))
    let first = TransferCost(
      files: 40, deltas: 0, bytes: 9_000, plainBytes: 9_000, answer: 600, pack: 4_000, unpackedBytes: 100,
      requests: 3)
    let lines = ShowCommand.lines(info, first: first, Self.plain)
    #expect(lines.contains("update    4.6 KB in 2 requests, 1 file"))
    #expect(
      lines.contains(
        "first     4.7 KB in 3 requests, 40 files, most of them as a pack (9.0 KB as whole files), for a device that has "
          + "nothing yet"))
  }

  @Test func routesOfARelease() throws {
    let more =
      #","routes":[{"bundle":"web","fallback":[{"except":["/api/*","/files/*"],"prefix":"/"},{"prefix":"/app/"}],"#
      + #""page":"https://m.example.com/index.html"}]"#
    let lines = ShowCommand.lines(try Self.info("publish", more), Self.plain)
    #expect(
      lines.suffix(2) == [
        "routes    web: https://m.example.com/index.html answers below /, except /api/*, /files/*",
        "routes    web: https://m.example.com/index.html answers below /app/",
      ])
  }

  /// The change of a file: other bytes, or the same with another type or headers.
  @Test func changeOfAFile() throws {
    func file(_ was: String) throws -> DiffAnswer.File {
      let digests =
        #""md5":"\#(String(repeating: "0", count: 32))","sha256":"\#(String(repeating: "0", count: 64))""#
      return try Self.decoded(
        #"{"ctype":"text/html",\#(digests),"size":12,"url":"u"\#(was.isEmpty ? "" : ",\"was\":{\(was)}")}"#)
    }
    func content(_ digit: String, _ type: String, _ headers: String = "") -> String {
      #""ctype":"\#(type)","md5":"\#(String(repeating: digit, count: 32))",\#(headers)"#
        + #""sha256":"\#(String(repeating: digit, count: 64))","size":1500"#
    }
    let headers = #""headers":{"X-Frame-Options":"DENY"},"#
    #expect(try DiffCommand.was(file("")) == "")
    #expect(
      try DiffCommand.was(file(content("0", "text/html", #""lazy":true,"#)))
        == " (the same bytes, no longer lazy)")
    // Of other bytes, and of files that didn't change in this.
    #expect(try DiffCommand.laziness(file(content("0", "text/html", #""lazy":true,"#))) == "")
    #expect(try DiffCommand.laziness(file(content("1", "text/html", #""lazy":true,"#))) == ", no longer lazy")
    #expect(try DiffCommand.laziness(file(content("1", "text/html"))) == "")
    #expect(try DiffCommand.was(file(content("1", "text/html"))) == " (was 1.5 KB)")
    #expect(try DiffCommand.was(file(content("0", "text/css"))) == " (the same bytes, different type)")
    #expect(
      try DiffCommand.was(file(content("0", "text/html", headers))) == " (the same bytes, different headers)")
    #expect(
      try DiffCommand.was(file(content("0", "text/css", headers)))
        == " (the same bytes, different type and different headers)")
  }

  /// A renamed file is one row with both names, and one of the sums.
  @Test func renamedFiles() throws {
    func file(_ url: String, _ digit: String, _ more: String = "") -> String {
      #"{"ctype":"text/html","md5":"\#(String(repeating: digit, count: 32))","sha256":"\#(String(repeating: digit, count: 64))","#
        + #""size":1500,"url":"\#(url)"\#(more)}"#
    }
    let cost = #"{"bytes":1,"deltas":0,"files":1,"plainBytes":1}"#
    func former(_ url: String, _ digit: String) -> String { #","renamedFrom":\#(file(url, digit))"# }
    let (old, new) = ("https://m.example.com/js/app.1.js", "https://m.example.com/js/app.2.js")
    let diff: DiffAnswer = try Self.decoded(
      #"{"added":[\#(file(new, "2", former(old, "1"))),\#(file("https://m.example.com/x", "3"))],"changed":[],"cost":\#(cost),"#
        + #""from":"1","removed":[\#(file(old, "1", #","renamedTo":"\#(new)""#))],"to":"2"}"#)
    #expect(DiffCommand.address(diff.added[0]) == "https://m.example.com/js/{app.1.js → app.2.js}")
    #expect(DiffCommand.was(diff.added[0]) == " (was 1.5 KB)")
    #expect(DiffCommand.address(diff.added[1]) == "https://m.example.com/x")
    #expect(DiffCommand.sum(diff) == "version 1 → 2: +1 R1 ~0 −0, 3.0 KB new")
    let moved: DiffAnswer.File = try Self.decoded(
      file("https://b.example.com/y.js", "1", former("https://a.example.com/x.js", "1")))
    #expect(DiffCommand.address(moved) == "https://a.example.com/x.js → https://b.example.com/y.js")
    #expect(DiffCommand.was(moved) == " (the same bytes)")
  }
}
