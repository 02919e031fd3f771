import Manifests
import Testing

@testable import XCacheDevice

@Suite struct PrefetchPlanTests {
  private static func plan(_ config: String) throws -> PrefetchPlan {
    try #require(
      PrefetchPlan(
        document: Array(
          #"{"code":200,"data":{"config":\#(config),"name":"prefetchConfig","version":"4"}}"#.utf8)))
  }

  /// The request for a page with a single call.
  private static func request(_ call: String, page: String) throws -> PrefetchRequest {
    let plan = try plan(#"[{"url":"https://m.example.com/help/new","interfaces":[\#(call)]}]"#)
    return try #require(plan.requests(for: page).first)
  }

  private static let page = "https://m.example.com/help/new?id=163&itemId=126"
  private static let api = "https://m.example.com/xhr/a"

  /// The four combinations of urlParam and bodyParam.
  private static let combinations: [(params: String, url: String, body: String)] = [
    (#""urlParam":true"#, "\(api)?id=163&itemId=126", #"{"cityId":123456}"#),
    (#""bodyParam":true"#, api, #"{"cityId":123456,"id":"163","itemId":"126"}"#),
    (
      #""urlParam":true,"bodyParam":true"#, "\(api)?id=163&itemId=126",
      #"{"cityId":123456,"id":"163","itemId":"126"}"#
    ),
    (#""urlParam":false"#, api, #"{"cityId":123456}"#),
  ]

  @Test(arguments: 0..<combinations.count) func parametersGoWhereTheConfigSays(index: Int) throws {
    let (params, url, body) = Self.combinations[index]
    let request = try Self.request(
      #"{"api":"\#(Self.api)","method":"POST","body":{"cityId":123456},\#(params)}"#, page: Self.page)
    #expect(request.method == "POST")
    #expect(request.url == url)
    #expect(request.body == body)
    #expect(request.contentType == "application/json")
  }

  /// The page's query, the API's own, and the query that is sent with urlParam.
  private static let queries: [(page: String, api: String, sent: String)] = [
    ("", "", ""),
    ("?", "", ""),
    ("#top", "", ""),
    ("?id=1#top", "", "?id=1"),
    ("?id=1", "?x=2", "?x=2&id=1"),
    ("?id=1", "?", "?id=1"),
    ("?id=1", "?x=2&", "?x=2&id=1"),
    ("?id=1", "?id=2", "?id=2&id=1"),
    ("", "?x=2", "?x=2"),
    ("?id=1&id=2", "", "?id=1&id=2"),
    ("?id=&x", "", "?id=&x"),
    ("?q=a%20b+c&u=%E4%BD%A0", "", "?q=a%20b+c&u=%E4%BD%A0"),
    ("?q=a b", "", "?q=a%20b"),
    ("?q=\u{4F60}", "", "?q=%E4%BD%A0"),
    ("?a=1;b=2", "", "?a=1;b=2"),
    ("?next=https://m.example.com/?y=1", "", "?next=https://m.example.com/?y=1"),
  ]

  @Test(arguments: 0..<queries.count) func queriesAreAppendedAsWritten(index: Int) throws {
    let (page, api, sent) = Self.queries[index]
    let request = try Self.request(
      #"{"api":"\#(Self.api)\#(api)","method":"GET","urlParam":true}"#,
      page: "https://m.example.com/help/new\(page)")
    #expect(request.url == Self.api + sent)
    #expect(request.body == nil && request.contentType == nil)
  }

  /// The page's query, members of the call, and the body that is sent.
  private static let bodies: [(page: String, call: String, body: String)] = [
    ("", "", "{}"),
    ("?", #","body":{}"#, "{}"),
    ("?id=1", "", #"{"id":"1"}"#),
    ("?id=1&id=2", "", #"{"id":"1"}"#),
    ("?id=", "", #"{"id":""}"#),
    ("?id", "", #"{"id":""}"#),
    ("?=1&&x=2&", "", #"{"x":"2"}"#),
    ("?a=b=c", "", #"{"a":"b=c"}"#),
    ("?id=1", #","body":{"id":7,"z":[1,{"a":null}]}"#, #"{"id":"1","z":[1,{"a":null}]}"#),
    ("?q=a+b%20c", "", #"{"q":"a b c"}"#),
    ("?q=%E4%BD%A0", "", #"{"q":"你"}"#),
    ("?q=%22%5C%0A", "", #"{"q":"\"\\\n"}"#),
    ("?q=%FF", "", "{\"q\":\"\u{FFFD}\"}"),
    ("?q=100%25&r=50%&s=%4", "", #"{"q":"100%","r":"50%","s":"%4"}"#),
    ("?%69d=1", "", #"{"id":"1"}"#),
    ("?a%5Bb%5D=1&a.b=2", "", #"{"a.b":"2","a[b]":"1"}"#),
    ("?id=163&n=1.50e3", #","paramTypes":{"id":"number","n":"number"}"#, #"{"id":163,"n":1.50e3}"#),
    ("?id=163", #","paramTypes":{"id":"string"}"#, #"{"id":"163"}"#),
    ("?id=007", #","paramTypes":{"id":"number"}"#, #"{"id":"007"}"#),
    ("?id=+7", #","paramTypes":{"id":"number"}"#, #"{"id":" 7"}"#),
    ("?id=", #","paramTypes":{"id":"number"}"#, #"{"id":""}"#),
    ("?id=true", #","paramTypes":{"id":"number"}"#, #"{"id":"true"}"#),
    (
      "?id=12345678901234567890123", #","paramTypes":{"id":"number"}"#, #"{"id":12345678901234567890123}"#
    ),
  ]

  @Test(arguments: 0..<bodies.count) func parametersAreMergedIntoTheBody(index: Int) throws {
    let (page, call, body) = Self.bodies[index]
    let request = try Self.request(
      #"{"api":"\#(Self.api)","method":"POST","bodyParam":true\#(call)}"#,
      page: "https://m.example.com/help/new\(page)")
    #expect(request.body == body)
    #expect(request.url == Self.api)
  }

  /// Pages, and the entry of the config that applies.
  private static let pages: [(page: String, entry: String?)] = [
    ("https://m.example.com/p", "https://m.example.com/p"),
    ("https://m.example.com/p?x=1", "https://m.example.com/p"),
    ("https://m.example.com/p?tab=2", "https://m.example.com/p?tab=2"),
    ("https://m.example.com/p?tab=2&x=1", "https://m.example.com/p"),
    ("https://m.example.com/p?tab=2#a", "https://m.example.com/p?tab=2"),
    ("HTTPS://M.EXAMPLE.COM:443/%70", "https://m.example.com/p"),
    ("http://m.example.com/p", nil),
    ("https://m.example.com:8443/p", nil),
    ("https://m.example.com/p/", nil),
    ("https://m.example.com/P", nil),
    ("m.example.com/p", nil),
  ]

  @Test(arguments: 0..<pages.count) func pagesFindTheirEntry(index: Int) throws {
    let plan = try Self.plan(
      #"[{"url":"https://m.example.com/p","interfaces":[]},{"url":"https://m.example.com/p?tab=2","interfaces":[]}]"#
    )
    #expect(plan.entry(for: Self.pages[index].page) == Self.pages[index].entry)
    #expect(plan.requests(for: Self.pages[index].page).isEmpty)
    #expect(plan.version == "4")
  }

  @Test(arguments: [
    "", "[]", "{}", #"{"code":404,"message":"no"}"#, #"{"code":200,"data":{"config":{},"version":"1"}}"#,
    #"{"code":200,"data":{"config":[],"version":1}}"#, #"{"code":200,"data":{"version":"1"}}"#,
  ]) func invalidDocumentsAreRefused(text: String) {
    #expect(PrefetchPlan(document: Array(text.utf8)) == nil)
  }
}
