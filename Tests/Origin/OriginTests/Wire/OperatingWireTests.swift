import OriginAPI
import Store
import System
import Testing
import Values

@testable import Origin

/// The API of documents, tokens, pins, gc, audit, adoption and mirrors, byte for byte.
@Suite struct OperatingWireTests {
  private static let online = "apps/shop/channels/online"
  private static let varying: Set<String> = ["audit", "hash", "id", "origin", "receipt", "token"]

  private static func golden(_ more: String...) throws -> WireGolden {
    let golden = try WireGolden(varying: varying.union(more))
    for text in ["one", "two", "three"] { try golden.origin.publish(["a.js": text]) }
    return golden
  }

  /// Expects that the type decodes the answer, and encodes it identically.
  private static func expect<Answer: Codable>(_ answer: JSONValue, is type: Answer.Type) throws {
    #expect(JSONValue(encoding: try answer.decode(type)) == answer)
  }

  private static func pages(_ api: String) -> JSONValue {
    [["interfaces": [["api": .string(api), "method": "GET"]], "url": "https://m.example.com/p"]]
  }

  @Test func prefetch() throws {
    let golden = try Self.golden()
    let prefetch = "\(Self.online)/prefetch"
    try Self.expect(golden.ask("GET", prefetch), is: DocumentAnswer.self)
    try golden.ask("GET", "\(prefetch)?version=0")
    try golden.ask("GET", "\(prefetch)/log")
    let (one, two) = (Self.pages("https://m.example.com/a"), Self.pages("https://m.example.com/b"))
    try Self.expect(
      golden.ask("POST", prefetch, ["document": one, "message": "first"]), is: DocumentChangeAnswer.self)
    try Self.expect(
      golden.ask("POST", prefetch, ["document": ["config": one]]), is: DocumentChangeAnswer.self)
    try Self.expect(
      golden.ask("POST", prefetch, ["document": two, "ifVersion": "1", "message": "second\nline"]),
      is: DocumentChangeAnswer.self)
    try golden.ask("POST", prefetch, ["document": one, "ifVersion": "1"])
    try golden.ask("POST", prefetch, ["document": one, "ifVersion": "2025-11-18T21:00:00Z"])
    try golden.ask("POST", prefetch, ["document": Self.pages("no URL")])
    try golden.ask("POST", prefetch, ["document": ["config": 1]])
    for body: JSONValue in [
      [:], ["document": one, "message": "\u{1B}"], ["document": one, "ifVersion": "x"],
    ] {
      try golden.ask("POST", prefetch, body)
    }
    try Self.expect(golden.ask("GET", prefetch), is: DocumentAnswer.self)
    try golden.ask("GET", "\(prefetch)?version=1")
    try golden.ask("GET", "\(prefetch)?version=9")
    try golden.ask("GET", "\(prefetch)?version=x")
    try golden.ask("GET", "\(prefetch)/log?limit=1")
    try golden.ask("GET", "\(prefetch)/log?before=2")
    try golden.ask("GET", "\(prefetch)/log?limit=0")
    for body: JSONValue in [
      ["message": "back", "to": "1"], ["to": "1"], ["to": "9"], [:], ["to": "x"], ["to": "0"],
      ["ifVersion": "1", "to": "2"], ["to": "2025-11-18T21:09:00Z"],
    ] { try golden.ask("POST", "\(prefetch)/rollback", body) }
    try Self.expect(golden.ask("GET", "\(prefetch)/log"), is: DocumentVersions.self)
    try golden.ask("GET", "apps/none/channels/online/prefetch")
    try golden.ask("POST", "apps/shop/channels/none/prefetch", ["document": one])
    let token = try golden.origin.api("POST", "tokens", ["bundles": "a*", "name": "a", "scope": "publish"])
    try golden.ask("POST", prefetch, ["document": one], token: token.json["token"]?.string)
    try golden.check("prefetch")
  }

  @Test func policy() throws {
    let golden = try Self.golden()
    let policy = "\(Self.online)/policy"
    let pattern: JSONValue = "https://pay.example.com/*"
    let signature = JSONValue.string(Base64.encode([UInt8](repeating: 1, count: 64)))
    let bytes = JSONValue.string(Base64.encode(Array("run()".utf8)))
    try Self.expect(golden.ask("GET", policy), is: DocumentAnswer.self)
    try golden.ask("GET", "\(policy)/log")
    let acts: [JSONValue] = [
      ["act": "resume"], ["act": "kill", "message": "fire", "until": "2099-01-01T00:00:00Z"],
      ["act": "kill", "until": .null], ["act": "kill"], ["act": "kill", "until": "2001-01-01T00:00:00Z"],
      ["act": "kill", "until": "soon"], ["act": "resume", "ifVersion": "1"], ["act": "resume"],
      ["act": "bypass-add", "pattern": pattern],
      ["act": "bypass-add", "pattern": pattern, "until": "2099-01-01T00:00:00Z"], ["act": "bypass-add"],
      ["act": "bypass-add", "pattern": "no pattern"],
      ["act": "bypass-remove", "pattern": "https://x.example/*"],
      ["act": "bypass-remove", "pattern": pattern],
      ["act": "script-add", "bytes": bytes, "name": "run", "signature": signature],
      ["act": "script-add", "bytes": bytes, "name": "a b", "signature": signature],
      ["act": "script-add", "bytes": bytes, "name": "run", "signature": "x"],
      ["act": "script-add", "bytes": "", "name": "run", "signature": signature], ["act": "script-add"],
      ["act": "script-remove", "name": "none"], ["act": "script-remove"],
      ["act": "set", "document": ["bypass": [pattern], "intercept": true]],
      ["act": "set", "document": ["bypass": 1]], ["act": "set"], ["act": "fly"], [:],
    ]
    for act in acts { try golden.ask("POST", policy, act) }
    try Self.expect(golden.ask("GET", policy), is: DocumentAnswer.self)
    try golden.ask("GET", "\(policy)?version=1")
    try Self.expect(golden.ask("GET", "\(policy)/log"), is: DocumentVersions.self)
    let token = try golden.origin.api("POST", "tokens", ["name": "ci", "scope": "publish"])
    let script: JSONValue = ["act": "script-add", "bytes": bytes, "name": "more", "signature": signature]
    try golden.ask("POST", policy, script, token: token.json["token"]?.string)
    try golden.check("policy")
  }

  @Test func settings() throws {
    let golden = try Self.golden()
    let settings = "\(Self.online)/settings"
    try Self.expect(golden.ask("GET", settings), is: ChannelSettings.self)
    for body: JSONValue in [
      ["interval": 60], ["interval": 60], ["interval": .null], ["interval": 29], ["interval": 3601], [:],
      ["interval": .number("60.5")], ["hosts": ["m.example.com", "*.Example.org"], "reports": 100],
      ["hosts": [], "interval": 60], ["hosts": ["a b"]], ["reports": 10_001],
      ["hosts": ["*"], "reports": .null],
    ] { try golden.ask("POST", settings, body) }
    try golden.ask("GET", settings)
    try golden.ask("GET", "apps/shop/channels/none/settings")
    try golden.check("settings")
  }

  @Test func tokens() throws {
    let golden = try Self.golden("expiresAt")
    // Listed in the order of their creation, a minute apart.
    try golden.ask("GET", "tokens")
    let hash = JSONValue.string(SHA256.of([1]).hex)
    for body: JSONValue in [
      ["name": "reader", "scope": "read"], ["name": "reader", "scope": "read"],
      ["app": "shop", "channel": "online", "name": "one", "scope": "publish"],
      ["bundles": "help*", "expiresIn": 3600, "name": "two", "scope": "publish"],
      ["name": "three", "scope": "admin", "secretHash": hash],
      [
        "app": .null, "bundles": .null, "channel": .null, "expiresIn": .null, "name": "four", "scope": "read",
      ],
      [:], ["name": ""], ["name": "\u{1B}"], ["name": "a"], ["name": "a", "scope": "all"],
      ["channel": "online", "name": "a", "scope": "read"], ["app": "A B", "name": "a", "scope": "read"],
      ["bundles": "a b", "name": "a", "scope": "read"], ["bundles": "a*", "name": "a", "scope": "admin"],
      ["hosts": ["*.example.com"], "name": "five", "scope": "publish"],
      ["hosts": ["x/y"], "name": "a", "scope": "publish"],
      ["hosts": ["m.example.com"], "name": "a", "scope": "admin"],
      ["expiresIn": 0, "name": "a", "scope": "read"], ["name": "a", "scope": "read", "secretHash": "00"],
    ] { try golden.ask("POST", "tokens", body) }
    try Self.expect(golden.ask("DELETE", "tokens/reader"), is: TokenInfo.self)
    try golden.ask("DELETE", "tokens/reader")
    try golden.ask("DELETE", "tokens/admin")
    try golden.ask("DELETE", "tokens/none")
    try Self.expect(golden.ask("GET", "tokens"), is: TokenList.self)
    let token = try golden.origin.api("POST", "tokens", ["app": "shop", "name": "shop", "scope": "admin"])
    try golden.ask("GET", "tokens", token: token.json["token"]?.string)
    try golden.check("tokens")
  }

  @Test func retention() throws {
    let golden = try Self.golden("longestWriteMilliseconds")
    let pins = "\(Self.online)/pins"
    try golden.ask("GET", pins)
    for body: JSONValue in [
      ["reason": "audit", "version": "1"], ["reason": "again", "version": "1"],
      ["reason": "then", "version": "2025-11-18T21:07:00Z"], ["reason": "audit", "version": "8"],
      ["reason": "", "version": "1"], ["version": "1"], ["reason": "a"], ["reason": "a", "version": "x"],
      ["reason": "\u{1B}", "version": "1"], [:],
    ] { try golden.ask("POST", pins, body) }
    try Self.expect(golden.ask("GET", pins), is: PinList.self)
    let mirror: JSONValue = [
      "name": "www", "versions": [["app": "shop", "channel": "online", "version": "2"]],
    ]
    try golden.ask("POST", "mirrors", mirror)
    for body: JSONValue in [
      ["dryRun": true, "keepVersions": 1], ["keepDays": 0, "keepVersions": 1], ["dryRun": true], [:],
      ["keepVersions": 0], ["keepDays": 91], ["keepDays": .null, "keepVersions": .null],
    ] { try golden.ask("POST", "gc", body) }
    try Self.expect(golden.ask("DELETE", "\(pins)/1"), is: UnpinAnswer.self)
    try golden.ask("DELETE", "\(pins)/1")
    try golden.ask("DELETE", "\(pins)/x")
    try golden.ask("DELETE", "mirrors/www")
    try Self.expect(golden.ask("POST", "gc", ["keepVersions": 1]), is: GCReport.self)
    try golden.ask("GET", pins)
    try golden.ask("GET", "apps/none/channels/online/pins")
    try golden.check("keeping")
  }

  @Test func adoption() throws {
    let golden = try Self.golden()
    let origin = golden.origin
    try golden.ask("GET", "\(Self.online)/adoption")
    for query in ["version=3", "version=3", "version=1&patch=1", "", "version=9"] {
      _ = try origin.ask("GET", "/configure.json?app=shop&\(query)")
    }
    for (reason, url) in [("integrity", "https://m.example.com/a.js"), ("timeout", "")] {
      let body: JSONValue = ["reason": .string(reason), "url": .string(url), "version": "3"]
      #expect(try origin.ask("POST", "/report?app=shop", body: body.canonical).status == 200)
    }
    origin.origin.adoption.flush()
    try Self.expect(golden.ask("GET", "\(Self.online)/adoption"), is: AdoptionAnswer.self)
    try golden.ask("GET", "apps/none/channels/online/adoption")
    try Self.expect(
      golden.ask("GET", "\(Self.online)/adoption/series?step=hour&points=2"), is: AdoptionSeries.self)
    try golden.ask("GET", "\(Self.online)/adoption/series?step=second")
    try golden.check("adoption")
  }

  @Test func fleet() throws {
    let golden = try Self.golden("available", "at", "head", "size", "stored")
    try Self.expect(golden.ask("GET", "token"), is: TokenInfo.self)
    try Self.expect(golden.ask("GET", "audit/verify"), is: AuditVerification.self)
    try Self.expect(golden.ask("GET", "disk?hours=2"), is: DiskAnswer.self)
    try golden.ask("POST", "\(Self.online)/freeze", ["reason": "an incident"])
    try golden.ask("POST", "\(Self.online)/policy", ["act": "kill", "message": "white pages"])
    // Without the disk, which differs between machines: FleetTests covers what an unrestricted token gets.
    let token = try golden.origin.api(
      "POST", "tokens", ["app": "shop", "name": "screen", "scope": "read"]
    ).json["token"]?.string
    try Self.expect(golden.ask("GET", "overview", token: token), is: FleetOverview.self)
    try golden.ask("GET", "audit?act=channel&author=admin")
    try golden.ask("GET", "audit?since=yesterday")
    try Self.expect(golden.ask("GET", "\(Self.online)/diff?from=1&to=3&limit=1"), is: DiffAnswer.self)
    try golden.ask("GET", "\(Self.online)/entry?url=https://m.example.com/a.js&version=2")
    try golden.ask("GET", "\(Self.online)/entry?url=https://m.example.com/none.js")
    try golden.check("fleet")
  }

  @Test func audit() throws {
    let golden = try Self.golden("result")
    try Self.expect(golden.ask("GET", "audit"), is: AuditRows.self)
    try golden.ask("GET", "audit?limit=1")
    try golden.ask("GET", "audit?before=2")
    try golden.ask("GET", "audit?limit=0")
    try golden.ask("GET", "audit/export")
    try golden.ask("GET", "audit/export?after=2")
    try golden.ask("GET", "audit/export?after=x")
    try golden.check("audit")
  }

  @Test func mirrors() throws {
    let golden = try Self.golden()
    let origin = golden.origin
    try origin.publish(["b.js": "b"], app: "other", channel: "test")
    try golden.ask("GET", "mirror")
    try Self.expect(golden.ask("GET", "mirror?channels=*&keep=1"), is: MirrorOverview.self)
    try golden.ask("GET", "mirror?channels=&keep=0")
    try golden.ask("GET", "mirror?keep=1001")
    let limited = try origin.api("POST", "tokens", ["app": "shop", "name": "shop", "scope": "read"])
    let token = limited.json["token"]?.string
    try Self.expect(golden.ask("GET", "mirror?channels=*", token: token), is: MirrorOverview.self)
    try golden.ask("GET", "\(Self.online)/mirror/resources?version=3")
    try golden.ask("GET", "\(Self.online)/mirror/resources?from=1&version=3")
    try golden.ask("GET", "\(Self.online)/mirror/resources")
    try golden.ask("GET", "\(Self.online)/mirror/document?kind=release&version=2")
    try golden.ask("GET", "\(Self.online)/mirror/document?kind=none&version=2")
    try golden.ask("GET", "\(Self.online)/mirror/other")
    let versions: JSONValue = [
      ["app": "shop", "channel": "online", "version": "2"],
      ["app": "other", "channel": "test", "version": "1"],
    ]
    for body: JSONValue in [
      ["name": "www", "versions": versions], ["name": "empty", "versions": []], ["name": "empty"],
      ["name": "", "versions": versions], ["versions": versions], ["name": "\u{1B}"],
      ["name": "a", "versions": [["app": "shop", "channel": "online", "version": "0"]]],
      ["name": "a", "versions": [["app": "none", "channel": "online", "version": "1"]]],
    ] { try golden.ask("POST", "mirrors", body) }
    try golden.ask("POST", "mirrors", ["name": "other", "versions": versions], token: token)
    try Self.expect(golden.ask("GET", "mirrors"), is: MirrorList.self)
    try golden.ask("GET", "mirrors", token: token)
    try Self.expect(golden.ask("DELETE", "mirrors/empty"), is: MirrorAnswer.self)
    try golden.ask("DELETE", "mirrors/empty")
    try golden.ask("DELETE", "mirrors/www", token: token)
    let lease = try golden.ask("POST", "leases", ["holder": "backup", "seconds": 3600])
    let id = try #require(lease["id"]?.string)
    for body: JSONValue in [
      [:], ["seconds": 0], ["seconds": 100_000_000], ["holder": "\u{1B}", "seconds": 60],
    ] {
      try golden.ask("POST", "leases", body)
    }
    try Self.expect(
      golden.ask("POST", "leases/\(id)", ["seconds": 3600], as: "leases/ID"), is: LeaseAnswer.self)
    try golden.ask("POST", "leases/\(id)", [:], as: "leases/ID")
    try golden.ask("POST", "leases/none", ["seconds": 60])
    try golden.ask("POST", "gc", [:])
    try golden.ask("DELETE", "leases/\(id)", token: token, as: "leases/ID")
    let end = try origin.api("DELETE", "leases/\(id)")
    #expect(end.status == 200 && end.json == ["ended": .string(id)])
    try golden.ask("DELETE", "leases/none")
    try golden.check("mirrors")
  }

  private static let wrong: [(path: String, body: JSONValue, member: String)] = [
    ("gc", ["dryRun": "true"], "dryRun"), ("gc", ["keepVersions": "1"], "keepVersions"),
    ("gc", ["keepDays": .number("1.5")], "keepDays"), ("tokens", ["name": 1, "scope": "read"], "name"),
    ("tokens", ["expiresIn": "90d", "name": "a", "scope": "read"], "expiresIn"),
    ("leases", ["seconds": "60"], "seconds"), ("mirrors", ["name": "a", "versions": [:]], "versions"),
    (
      "mirrors", ["name": "a", "versions": [["app": "A B", "channel": "online", "version": "1"]]],
      "versions[0].app"
    ),
    ("\(online)/pins", ["reason": "why", "version": 1], "version"),
    ("\(online)/prefetch", ["document": [], "ifVersion": 1], "ifVersion"),
    ("\(online)/prefetch/rollback", ["to": 1], "to"),
    ("\(online)/policy", ["act": "kill", "until": 1], "until"), ("\(online)/policy", ["act": []], "act"),
  ]

  @Test(arguments: wrong.indices) func errorNamesTheMemberOfTheWrongType(index: Int) throws {
    let (path, body, member) = Self.wrong[index]
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let acts = try origin.store.auditHead()
    let reply = try origin.api("POST", path, body)
    #expect(reply.status == 400 && reply.json["code"]?.string == "bad-request")
    #expect(reply.json["detail"]?.string?.contains("\"\(member)\"") == true, "\(reply.text)")
    #expect(try origin.store.auditHead() == acts)
  }
}
