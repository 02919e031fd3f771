import Testing
import TestSupport

@testable import Manifests
@testable import Values

@Suite struct PrefetchCheckTests {
  private static func check(_ text: String) -> PrefetchCheck { PrefetchCheck(Array(text.utf8)) }

  @Test func everyFaultHasAMessage() throws {
    let groups = [
      ("JSON", PrefetchCases.json), ("The document", PrefetchCases.frames), ("Pages", PrefetchCases.pages),
      ("Calls", PrefetchCases.calls), ("Remarks", PrefetchCases.remarks),
    ]
    var text = ""
    for (title, cases) in groups {
      text += "# \(title)\n"
      for (name, document) in cases {
        let check = Self.check(document)
        #expect(!check.remarks.isEmpty, "\(name)")
        #expect((check.config == nil) == (title != "Remarks"), "\(name)")
        text += "\(name)\n" + check.remarks.map { "  \($0)\n" }.joined()
      }
    }
    #expect(try Golden.differences(text, "prefetch-errors.txt") == [])
  }

  @Test func atLeast60InvalidConfigsAreTested() {
    let refused = [PrefetchCases.json, PrefetchCases.frames, PrefetchCases.pages, PrefetchCases.calls]
    #expect(refused.map(\.count).reduce(0, +) >= 60)
  }

  /// Configs as they are in use, and the canonical form in which each is stored.
  private static let valid: [(text: String, kept: String)] = [
    ("[]", "[]"),
    (#"{"code":200,"data":{"config":[],"name":"prefetchConfig","version":"0"}}"#, "[]"),
    (#"{"config":[]}"#, "[]"),
    ("\u{FEFF}[]", "[]"),
    (
      """
      {
        "code": 200,
        "data": {
          "name": "prefetchConfig",
          "version": "12",
          "config": [{
            "url": "https://m.example.com/ares/ApRflg5XnZqP.html",
            "interfaces": [
              {"api": "https://m.example.com/xhr/page/info", "method": "get", "urlParam": true},
              {"api": "https://m.example.com/xhr/sinkList.json", "method": "POST", "urlParam": true,
               "bodyParam": true, "body": {"visitRecord": {}}}
            ]
          }]
        }
      }
      """,
      #"[{"interfaces":[{"api":"https://m.example.com/xhr/page/info","method":"GET","urlParam":true},"#
        + #"{"api":"https://m.example.com/xhr/sinkList.json","body":{"visitRecord":{}},"bodyParam":true,"#
        + #""method":"POST","urlParam":true}],"url":"https://m.example.com/ares/ApRflg5XnZqP.html"}]"#
    ),
    (
      """
      [{"url": "https://m.example.com/help/new",
        "interfaces": [
          {"api": "https://m.example.com/xhr/help/detail.json", "method": "POST", "bodyParam": true,
           "urlParam": false, "body": {"cityId": 123456, "filter": {"tags": ["a", "b"], "price": 1.50e3}}},
          {"api": "https://m.example.com/xhr/city", "method": "Get", "bodyParam": false}
        ]},
       {"url": "https://m.example.com/help/new?tab=2", "interfaces": [
          {"api": "https://M.example.com:443/xhr/t?x=%7E", "method": "PUT", "paramTypes": {"id": "number",
           "name": "string"}, "bodyParam": true}]}]
      """,
      #"[{"interfaces":[{"api":"https://m.example.com/xhr/help/detail.json","#
        + #""body":{"cityId":123456,"filter":{"price":1.50e3,"tags":["a","b"]}},"bodyParam":true,"method":"POST"},"#
        + #"{"api":"https://m.example.com/xhr/city","method":"GET"}],"url":"https://m.example.com/help/new"},"#
        + #"{"interfaces":[{"api":"https://m.example.com/xhr/t?x=%7E","bodyParam":true,"method":"PUT","#
        + #""paramTypes":{"id":"number"}}],"url":"https://m.example.com/help/new?tab=2"}]"#
    ),
  ]

  @Test(arguments: 0..<valid.count) func validConfigsAreStoredInCanonicalForm(index: Int) throws {
    let (text, kept) = Self.valid[index]
    let check = Self.check(text)
    #expect(check.errors.isEmpty, "\(check.errors)")
    let config = try #require(check.config)
    #expect(String(decoding: config.json.canonical, as: UTF8.self) == kept)
    // The document that is served gives the same config, to a device and when it is pushed again.
    let served = Documents.prefetchConfig(7, config: config.json.canonical)
    #expect(PrefetchCheck(served).config == config)
    let data = try #require(try JSONValue.parse(served)["data"])
    #expect(data["version"]?.string == "7" && data["name"]?.string == "prefetchConfig")
    #expect(PrefetchConfig(reading: data["config"] ?? .null) == config)
  }

  private static func config(body: String) -> String {
    #"[{"url":"https://m.example.com/p","interfaces":["#
      + #"{"api":"https://m.example.com/a","method":"POST","body":\#(body)}]}]"#
  }

  /// A body with so many levels: an object with nested arrays.
  private static func nested(_ levels: Int, around value: String) -> String {
    let arrays = levels - 2
    return #"{"a":"# + String(repeating: "[", count: arrays) + value + String(repeating: "]", count: arrays)
      + "}"
  }

  @Test(arguments: [
    nested(32, around: "1"), nested(32, around: #""x""#), #"{"a":1.5e10}"#, #"{"a":9007199254740992}"#,
    #"{"a":-9007199254740992}"#, #"{"a":[0,-0,1e-400,1.7976931348623157e308]}"#,
    // In a string, every parser reads the same.
    #"{"a":"9007199254740993"}"#,
  ])
  func portableBodiesAreAccepted(body: String) {
    #expect(Self.check(Self.config(body: body)).errors.isEmpty)
  }

  @Test(arguments: [
    (nested(33, around: "1"), ".a" + String(repeating: "[0]", count: 31), "32 levels"),
    (#"{"a":{"b":[1,1e400]}}"#, ".a.b[1]", "1e400"), (#"{"a":-1e400}"#, ".a", "-1e400"),
    (#"{"a":9007199254740993}"#, ".a", "9007199254740993"),
    (#"{"a":-9007199254740993}"#, ".a", "-9007199254740993"),
  ])
  func bodiesThatParsersReadDifferentlyAreRefused(body: String, place: String, said: String) throws {
    let check = Self.check(Self.config(body: body))
    #expect(check.config == nil && check.errors.count == 1)
    let words = "\(try #require(check.errors.first))"
    #expect(words.contains("[0].interfaces[0].body" + place + ":") && words.contains(said), "\(words)")
  }

  @Test func upTo64CallsAreAccepted() {
    let calls = (1...64).map { #"{"api":"https://m.example.com/\#($0)","method":"GET"}"# }
    let check = Self.check(
      #"[{"url":"https://m.example.com/p","interfaces":[\#(calls.joined(separator: ","))]}]"#)
    #expect(check.config?.callCount == 64)
  }

  @Test func devicesIgnoreWhatTheyDoNotSupport() throws {
    let document = try JSONValue.parse(
      Array(
        #"""
        [{"url":"https://m.example.com/p","later":1,"interfaces":[{"api":"https://m.example.com/a","method":"GET",
          "cache":"x"},{"api":"bad","method":"GET"},{"api":"https://m.example.com/b","method":"PATCH"},7]},
         {"url":"bad","interfaces":[]},null]
        """#.utf8))
    let config = PrefetchConfig(reading: document)
    #expect(config.pages.count == 1 && config.callCount == 1)
  }
}
