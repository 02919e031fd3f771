import Manifests
import OriginAPI
import System
import Testing
import Values

/// Values that are strings in the API's JSON, and numbers at the limits of their range.
@Suite struct WireValueTests {
  private struct Numbers: Codable, Equatable {
    var int: Int?
    var byte: UInt8?
    var large: UInt64?
  }

  private static func numbers(_ text: String) throws -> Numbers {
    try JSONValue.parse(Array(text.utf8)).decode(Numbers.self)
  }

  /// RFC 8259 §6: beyond 2^53, implementations don't agree on a number's value.
  @Test func numbersInRange() throws {
    #expect(
      try Self.numbers(#"{"int":-9007199254740991,"byte":255,"large":9007199254740991}"#)
        == Numbers(int: -9_007_199_254_740_991, byte: 255, large: 9_007_199_254_740_991))
  }

  @Test(arguments: [
    (#"{"int":9007199254740993}"#, "int"), (#"{"int":9223372036854775808}"#, "int"), (#"{"int":1.0}"#, "int"),
    (#"{"int":1e3}"#, "int"), (#"{"int":-0}"#, "int"), (#"{"int":"1"}"#, "int"), (#"{"byte":256}"#, "byte"),
    (#"{"byte":-1}"#, "byte"), (#"{"large":-1}"#, "large"),
  ])
  func numbersOutOfRange(text: String, member: String) {
    #expect(throws: JSONError.member(member)) { try Self.numbers(text) }
  }

  @Test(
    arguments: [
      ("2026-11-20T15:17:27.000Z", 1_795_187_847_000), ("1970-01-01T00:00:00.000Z", 0),
      ("1969-12-31T23:59:59.999Z", -1), ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
      ("0000-01-01T00:00:00.000Z", -62_167_219_200_000),
    ] as [(String, Int64)])
  func timestampsRoundTrip(text: String, milliseconds: Int64) throws {
    let moment = try #require(Moment(wire: text))
    #expect(moment.milliseconds == milliseconds && moment.wireText == text)
    #expect(try JSONValue.string(text).decode(Moment.self) == moment)
  }

  /// Origins write one form; other forms of the same time are accepted.
  @Test(arguments: ["2026-11-20T15:17:27Z", "2026-11-20t23:17:27.0004+08:00", "2026-11-20 14:47:27-00:30"])
  func timestampsInOtherForms(text: String) {
    #expect(Moment(wire: text)?.wireText == "2026-11-20T15:17:27.000Z")
  }

  @Test(arguments: [
    "", "yesterday", "1795187847000", "2026-11-20", "2026-11-20T15:17:27", "2026-11-31T00:00Z",
  ])
  func invalidTimestamps(text: String) {
    #expect(Moment(wire: text) == nil)
    #expect(throws: JSONError.member("")) { try JSONValue.string(text).decode(Moment.self) }
  }

  /// A time of a wrong clock can be written, though not exactly.
  @Test(arguments: [Int64.max, Int64.min, Int64.min + 1, -62_167_219_200_001, 253_402_300_800_000])
  func timestampsOutOfRangeAreClamped(milliseconds: Int64) throws {
    let text = Moment(milliseconds: milliseconds).wireText
    #expect(text.hasPrefix(milliseconds < 0 ? "0000-01-01T00:00:00." : "9999-12-31T23:59:59."))
    #expect(Moment(wire: text) != nil && text.utf8.count == 24)
  }

  @Test func timestampsAreOrdered() {
    let moments = [5, -3, 0, .max, .min].map(Moment.init(milliseconds:))
    #expect(moments.sorted().map(\.milliseconds) == [.min, -3, 0, 5, .max])
  }

  private struct Tokens: Codable {
    var app: AppName?
    var channel: ChannelName?
    var bundle: BundleName?
    var url: BaseURL?
    var version: ManifestVersion?
    var sha256: SHA256?
    var md5: MD5?
    var type: ContentType?
  }

  /// Names are validated when a document is read, and never again.
  @Test(arguments: [
    ("app", "../etc"), ("app", ""), ("app", "1shop"), ("app", "delta"), ("app", "shop\n"),
    ("channel", "Online"), ("channel", "a/b"), ("bundle", ".hidden"), ("bundle", "a b"),
    ("bundle", String(repeating: "a", count: 129)), ("url", "ftp://m.example.com"), ("url", "m.example.com"),
    ("version", "-1"), ("version", "01"), ("version", "9007199254740992"), ("version", ""),
    ("sha256", String(repeating: "A", count: 64)), ("sha256", ""), ("md5", String(repeating: "0", count: 31)),
    ("type", "text"), ("type", "text/html\r\nX: y"),
  ])
  func invalidNamesAreRefused(member: String, text: String) throws {
    let json = JSONValue.object(JSONObject([.init(key: member, value: .string(text))]))
    #expect(throws: JSONError.member(member)) { try json.decode(Tokens.self) }
  }

  /// A setting can be removed by null, which differs from omitting it.
  @Test func nullSettingDiffersFromAMissingOne() throws {
    let json = try JSONValue.parse(Array(#"{"hosts":null,"reports":7}"#.utf8))
    let request = try json.decode(ChannelSettingsRequest.self)
    #expect(request.interval == nil && request.hosts?.isNull == true && request.reports == 7)
    #expect(JSONValue(encoding: request) == json)
    #expect(
      JSONValue(encoding: ChannelSettingsRequest(interval: nil))
        == .object(JSONObject([.init(key: "interval", value: .null)])))
    #expect(JSONValue(encoding: ChannelSettingsRequest()) == .object(JSONObject()))
  }

  @Test func errorPathsIncludeListsAndObjects() throws {
    struct Outer: Codable {
      struct Inner: Codable { var names: [[AppName]] }
      var list: [Inner]
    }
    let text = #"{"list":[{"names":[]},{"names":[["a"],["b","c/d"]]}]}"#
    let json = try JSONValue.parse(Array(text.utf8))
    #expect(throws: JSONError.member("list[1].names[1][1]")) { try json.decode(Outer.self) }
  }
}
