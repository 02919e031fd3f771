import System
import Testing
import TestSupport

@testable import Manifests
@testable import Values

@Suite struct PolicyTests {
  private static let script = PolicyScript(
    name: "interceptor", download: "https://cdn.example.com/s.js", sha256: SHA256.of([1]), signature: "c2ln")

  /// Invalid policies; the messages for each are in Tests/Golden/policy-errors.txt.
  private static let wrong: [(name: String, text: String)] = [
    ("cut off", #"{"intercept":"#),
    ("an array", "[]"),
    ("an unknown key", #"{"intercepts":true}"#),
    ("an unknown key near none", #"{"rollout":5}"#),
    ("intercept as a text", #"{"intercept":"off"}"#),
    ("a failure", #"{"code":404,"data":{}}"#),
    ("a key beside data", #"{"data":{},"version":"1"}"#),
    ("bypass as a text", #"{"bypass":"https://a.example/*"}"#),
    ("a pattern that is an object", #"{"bypass":[{"pattern":"https://a.example/*"}]}"#),
    ("a pattern without scheme", #"{"bypass":["a.example/*"]}"#),
    ("a pattern of another scheme", #"{"bypass":["ftp://a.example/*"]}"#),
    ("a pattern without path", #"{"bypass":["https://a.example"]}"#),
    ("a wildcard in the middle of the host", #"{"bypass":["https://a.*.example/*"]}"#),
    ("a wildcard at the end of the host", #"{"bypass":["https://a.*/*"]}"#),
    ("a wildcard as the port", #"{"bypass":["https://a.example:*/*"]}"#),
    ("a pattern with a fragment", #"{"bypass":["https://a.example/#/cart"]}"#),
    ("a pattern with a password", #"{"bypass":["https://u:secret@a.example/*"]}"#),
    ("a pattern without host", #"{"bypass":["https:///*"]}"#),
    ("a long pattern", #"{"bypass":["https://a.example/\#(String(repeating: "a", count: 1024))"]}"#),
    ("a pattern twice", #"{"bypass":["https://a.example/*","https://A.example:443/*"]}"#),
    (
      "201 patterns",
      #"{"bypass":[\#((1...201).map { #""https://a.example/\#($0)""# }.joined(separator: ","))]}"#
    ),
    ("an end that is no time", #"{"intercept":false,"until":"tomorrow"}"#),
    ("an end without time zone", #"{"intercept":false,"until":"2026-12-01T00:00:00"}"#),
    ("an end that is a number", #"{"intercept":false,"until":1796083200}"#),
    ("an end on a day that isn't", #"{"intercept":false,"until":"2026-02-30T00:00:00Z"}"#),
    ("an end of nothing", #"{"until":"2026-12-01T00:00:00Z"}"#),
    ("an end of an unknown pattern", #"{"bypassUntil":{"https://a.example/*":null}}"#),
    ("a script that isn't there", #"{"scripts":[{"name":"other"}]}"#),
    ("a script that is a text", #"{"scripts":["interceptor"]}"#),
    ("a version that is a number", #"{"version":7}"#),
  ]

  @Test func everyFaultHasAMessage() throws {
    var text = ""
    for (name, document) in Self.wrong {
      let check = PolicyCheck(Array(document.utf8), scripts: [Self.script])
      #expect(check.policy == nil, "\(name)")
      text += "\(name)\n" + check.remarks.map { "  \($0)\n" }.joined()
    }
    #expect(try Golden.differences(text, "policy-errors.txt") == [])
  }

  /// A policy that has already ended would have no effect, which its author can't have meant.
  @Test func endsInThePastAreFaults() throws {
    let now = try Self.at("2026-12-01T00:00:00Z")
    let cases: [(text: String, place: String?)] = [
      (#"{"intercept":false,"until":"2026-11-30T23:59:59Z"}"#, "until"),
      (#"{"intercept":false,"until":"2026-12-01T00:00:00Z"}"#, "until"),
      (#"{"intercept":false,"until":"2026-12-01T00:00:01Z"}"#, nil),
      (#"{"bypass":["https://a.example/*"],"until":"2026-11-30T00:00:00Z"}"#, "until"),
      (
        #"{"bypass":["https://a.example/*"],"bypassUntil":{"https://a.example/*":"2020-01-01T00:00:00Z"}}"#,
        "bypassUntil"
      ),
      (#"{"bypass":["https://a.example/*"],"bypassUntil":{"https://a.example/*":null}}"#, nil),
    ]
    for (text, place) in cases {
      let check = PolicyCheck(Array(text.utf8), scripts: [], now: now)
      #expect((check.policy == nil) == (place != nil), "\(text)")
      if let place {
        let words = check.remarks.map { "\($0)" }
        #expect(words.count == 1 && words[0].contains(place) && words[0].contains("has passed"), "\(words)")
      }
      // Without a time, as on devices and for older versions, it is valid.
      #expect(PolicyCheck(Array(text.utf8), scripts: []).policy != nil)
    }
  }

  private static func policy(_ text: String) throws -> Policy {
    Policy(reading: try JSONValue.parse(Array(text.utf8)))
  }

  private static func at(_ text: String) throws -> Instant { try #require(Instant(text)) }

  @Test func exampleOfTheDesign() throws {
    let policy = try Self.policy(
      #"{"version":"7","intercept":true,"bypass":["https://third.example.com/*"],"until":"2026-12-01T00:00:00Z"}"#
    )
    let page = try ResourceURL("https://third.example.com/x")
    #expect(try !policy.intercepts(page, at: Self.at("2026-11-30T23:59:59Z")))
    #expect(try policy.intercepts(page, at: Self.at("2026-12-01T00:00:00Z")))
    #expect(try policy.intercepts(ResourceURL("https://m.example.com/"), at: Self.at("2026-11-30T00:00:00Z")))
  }

  /// All combinations of a kill with and without an end, and bypasses with the same end, another one, or none.
  @Test func endsRoundTrip() throws {
    let (early, late) = (try Self.at("2026-12-01T00:00:00Z"), try Self.at("2026-12-02T00:00:00Z"))
    let ends: [Instant?] = [nil, early, late]
    for killed in [false, true] {
      for end in ends where killed || end == nil {
        for first in ends {
          for second in ends {
            var policy = Policy()
            policy.intercept = !killed
            policy.until = end
            policy.add(Policy.Bypass(try MatchPattern("https://a.example/*"), until: first))
            policy.add(Policy.Bypass(try MatchPattern("https://b.example/*"), until: second))
            policy.add(Self.script)
            let document = JSONValue.object(policy.json)
            #expect(
              Policy(reading: document) == policy, "\(String(decoding: document.canonical, as: UTF8.self))")
            #expect(PolicyCheck(document, scripts: [Self.script]).policy == policy)
          }
        }
      }
    }
  }

  @Test func sharedEndsAreWrittenOnce() throws {
    var policy = Policy()
    policy.add(
      Policy.Bypass(try MatchPattern("https://a.example/*"), until: try Self.at("2026-12-01T00:00:00Z")))
    #expect(
      String(decoding: Documents.policy(7, policy), as: UTF8.self)
        == #"{"code":200,"data":{"bypass":["https://a.example/*"],"intercept":true,"scripts":[],"#
        + #""until":"2026-12-01T00:00:00Z","version":"7"}}"#)
  }

  @Test func httpdnsIsOnlyWrittenWhereItIsOff() throws {
    var policy = Policy()
    #expect(policy.json["httpdns"] == nil)
    policy.usesHTTPDNS = false
    let document = JSONValue.object(policy.json)
    #expect(document["httpdns"]?.bool == false && Policy(reading: document) == policy)
    #expect(PolicyCheck(document, scripts: []).policy == policy)
    #expect(try Self.policy(#"{"httpdns":true}"#) == .none)
    let wrong: JSONValue = ["httpdns": "off"]
    #expect(PolicyCheck(wrong, scripts: []).policy == nil)
  }

  @Test func killsAndBypassesEnd() throws {
    var policy = Policy()
    policy.intercept = false
    let page = try ResourceURL("https://m.example.com/")
    #expect(policy.isKilled(at: Instant(seconds: 1 << 40)))
    policy.until = Instant(seconds: 100)
    #expect(!policy.intercepts(page, at: Instant(seconds: 99)))
    #expect(policy.intercepts(page, at: Instant(seconds: 100)))
    policy.add(Policy.Bypass(try MatchPattern("https://a.example/*"), until: Instant(seconds: 50)))
    #expect(policy.current(at: Instant(seconds: 100)) == .none)
    #expect(policy.current(at: Instant(seconds: 49)) == policy)
  }

  @Test(arguments: [
    ("2026-12-01T00:00:00Z", 1_796_083_200), ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59Z", -1),
    ("2026-12-01T08:00:00+08:00", 1_796_083_200), ("2026-12-01t00:00:00.999z", 1_796_083_200),
    ("2024-02-29T12:00:00Z", 1_709_208_000),
  ]) func timesAreParsed(text: String, seconds: Int64) throws {
    let instant = try #require(Instant(text))
    #expect(instant.seconds == seconds)
    #expect(Instant(instant.text) == instant)
  }

  @Test(arguments: [
    "", "2026-12-01", "2026-12-01T00:00Z", "2026-12-01T24:00:00Z", "2026-13-01T00:00:00Z",
    "2025-02-29T00:00:00Z", "2026-12-01T00:00:00", "2026-12-01T00:00:00+8:00", "2026-12-01T00:00:00Zx",
    "2026-12-01T00:00:00.Z",
  ]) func invalidTimesAreRefused(text: String) { #expect(Instant(text) == nil) }
}
