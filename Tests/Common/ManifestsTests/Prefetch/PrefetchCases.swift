@testable import Values

/// Invalid prefetch configs; the messages for each are in Tests/Golden/prefetch-errors.txt.
enum PrefetchCases {
  /// The page of most cases, and a valid call.
  private static let page = #""url":"https://m.example.com/p""#
  private static let good = #"{"api":"https://m.example.com/a","method":"GET"}"#

  private static func page(_ members: String, calls: String = good) -> String {
    #"[{\#(members),"interfaces":[\#(calls)]}]"#
  }

  private static func call(_ members: String) -> String { page(page, calls: "{\(members)}") }

  private static func get(_ members: String) -> String {
    call(#""api":"https://m.example.com/a","method":"GET",\#(members)"#)
  }

  private static func post(_ members: String) -> String {
    call(#""api":"https://m.example.com/a","method":"POST",\#(members)"#)
  }

  private static func api(_ url: String) -> String { call(#""api":"\#(url)","method":"GET""#) }

  static let json: [(name: String, text: String)] = [
    ("nothing at all", ""),
    ("white space alone", " \n "),
    ("cut off", #"[{"url":"https://m.example"#),
    ("a comma too many", "[{\"url\":\"https://m.example.com/p\",\n  \"interfaces\":[\(good),]}]"),
    ("no quotes round a key", "[{url:1}]"),
    ("single quotes", "[{'url':1}]"),
    ("a comment", "[\n  // pages\n]"),
    ("two documents", "[]\n[]"),
    ("an unknown escape", #"[{"url":"C:\pages"}]"#),
    ("a number with a leading zero", #"[{"url":007}]"#),
    ("a key twice", #"[{"url":"https://m.example.com/p","url":"https://m.example.com/q","interfaces":[]}]"#),
    (
      "nested too deep",
      post(#""body":{"a":\#(String(repeating: "[", count: 64))\#(String(repeating: "]", count: 64))}"#)
    ),
  ]

  static let frames: [(name: String, text: String)] = [
    ("a text", #""prefetchConfig""#),
    ("a number", "4"),
    ("null", "null"),
    ("an empty object", "{}"),
    ("an unknown key beside data", #"{"code":200,"data":{"config":[]},"message":"ok"}"#),
    ("a failure", #"{"code":404,"data":{"config":[]}}"#),
    ("a code in quotes", #"{"code":"200","data":{"config":[]}}"#),
    ("data is an array", #"{"code":200,"data":[]}"#),
    ("data without config", #"{"code":200,"data":{"name":"prefetchConfig","version":"4"}}"#),
    ("config is an object", #"{"config":{}}"#),
    ("config is null", #"{"config":null}"#),
    ("another document", #"{"config":[],"name":"policy"}"#),
    ("a name that is no text", #"{"config":[],"name":1}"#),
    ("a version that is a number", #"{"config":[],"version":4}"#),
    ("a version with letters", #"{"config":[],"version":"v4"}"#),
    ("config misspelt", #"{"data":{"configs":[]}}"#),
  ]

  static let pages: [(name: String, text: String)] = [
    ("a page that is a text", #"["https://m.example.com/p"]"#),
    ("a page that is null", "[null]"),
    ("a page without url", #"[{"interfaces":[\#(good)]}]"#),
    ("a page without interfaces", "[{\(page)}]"),
    ("an unknown key near a known one", page(#"\#(page),"interface":[]"#)),
    ("an unknown key near none", page(#"\#(page),"priority":1"#)),
    ("a key in another case", page(#""URL":"https://m.example.com/p""#)),
    ("a url that is a number", page(#""url":1"#)),
    ("a url without scheme", page(#""url":"m.example.com/p""#)),
    ("a url that is a path", page(#""url":"/p""#)),
    ("a url of another scheme", page(#""url":"ftp://m.example.com/p""#)),
    ("an app's url", page(#""url":"yanxuan://home""#)),
    ("a url with a fragment", page(#""url":"https://m.example.com/p#top""#)),
    ("a url with an empty fragment", page(##""url":"https://m.example.com/#""##)),
    ("a url with a password", page(#""url":"https://ci:secret@m.example.com/p""#)),
    ("a url without host", page(#""url":"https://""#)),
    ("a url with a space in the host", page(#""url":"https://m example.com/p""#)),
    ("a url with a host outside ASCII", page(#""url":"https://müller.example/p""#)),
    ("a url with a port that is none", page(#""url":"https://m.example.com:99999/p""#)),
    ("a url with a line break", page(#""url":"https://m.example.com/\np""#)),
    ("an empty url", page(#""url":"""#)),
    ("interfaces is an object", "[{\(page),\"interfaces\":\(good)}]"),
    ("a page twice", "[{\(page),\"interfaces\":[\(good)]},{\(page),\"interfaces\":[\(good)]}]"),
    (
      "a page twice, escaped the second time",
      #"[{"url":"https://m.example.com/a-b","interfaces":[\#(good)]},"#
        + #"{"url":"https://M.example.com:443/a%2Db","interfaces":[\#(good)]}]"#
    ),
    (
      "65 calls",
      page(
        page,
        calls: (1...65).map { #"{"api":"https://m.example.com/a\#($0)","method":"GET"}"# }.joined(
          separator: ",")
      )
    ),
    (
      "over a megabyte",
      post(#""body":{"text":"\#(String(repeating: "x", count: 1_000_000))"}"#)
    ),
  ]

  static let calls: [(name: String, text: String)] = [
    ("a call that is a text", page(page, calls: #""https://m.example.com/a""#)),
    ("a call without api", call(#""method":"GET""#)),
    ("a call without method", call(#""api":"https://m.example.com/a""#)),
    ("an empty call", call("")),
    ("url instead of api", call(#""url":"https://m.example.com/a","method":"GET""#)),
    ("a key misspelt", get(#""urlParams":true"#)),
    ("a key in another case", get(#""urlparam":true"#)),
    ("another language's key", get(#""headers":{}"#)),
    ("a path as api", api("/xhr/info")),
    ("an api without scheme's slashes", api("//m.example.com/a")),
    ("an api with a fragment", api("https://m.example.com/a#b")),
    ("an api with a user", api("https://ci@m.example.com/a")),
    ("a websocket", api("wss://m.example.com/a")),
    ("an api with a bad address", api("https://1.2.3.999/a")),
    ("an api that is null", call(#""api":null,"method":"GET""#)),
    ("method HEAD", call(#""api":"https://m.example.com/a","method":"HEAD""#)),
    ("method misspelt", call(#""api":"https://m.example.com/a","method":"PSOT""#)),
    ("an empty method", call(#""api":"https://m.example.com/a","method":"""#)),
    ("a method with a space", call(#""api":"https://m.example.com/a","method":"GET ""#)),
    ("a method that is a list", call(#""api":"https://m.example.com/a","method":["GET"]"#)),
    ("a body that is a text", post(#""body":"{}""#)),
    ("a body that is an array", post(#""body":[1]"#)),
    ("a body that is null", post(#""body":null"#)),
    ("urlParam as a text", get(#""urlParam":"true""#)),
    ("urlParam as a number", get(#""urlParam":1"#)),
    ("bodyParam as null", post(#""bodyParam":null"#)),
    ("paramTypes as a list", post(#""bodyParam":true,"paramTypes":["id"]"#)),
    ("a type of a parameter that is unknown", post(#""bodyParam":true,"paramTypes":{"id":"int"}"#)),
    ("a type of a parameter that is no text", post(#""bodyParam":true,"paramTypes":{"id":true}"#)),
    ("a parameter without name", post(#""bodyParam":true,"paramTypes":{"":"number"}"#)),
    ("a call twice", page(page, calls: "\(good),\(good)")),
    (
      "a GET twice, which differs in its body",
      page(page, calls: #"\#(good),{"api":"https://m.example.com/a","method":"get","body":{"a":1}}"#)
    ),
    (
      "a POST twice, the same body in another order",
      page(
        page,
        calls: #"{"api":"https://m.example.com/a","method":"POST","body":{"a":1,"b":2}},"#
          + #"{"api":"https://m.example.com/a","body":{"b":2,"a":1},"method":"post","urlParam":true}"#)
    ),
    ("a control character in a key", get(#""url\u0007Param":true"#)),
    ("a key with a quote", get(#""it's":true"#)),
    ("several faults at once", call(#""apii":"x","method":"PATCH","body":1,"urlParam":"yes""#)),
  ]

  /// Valid configs that get a remark.
  static let remarks: [(name: String, text: String)] = [
    ("a GET with a body", get(#""body":{"a":1}"#)),
    ("a GET with bodyParam", get(#""bodyParam":true"#)),
    ("a PUT", call(#""api":"https://m.example.com/a","method":"put""#)),
    ("a DELETE", call(#""api":"https://m.example.com/a","method":"Delete""#)),
    ("a page without calls", page(page, calls: "")),
    ("types of parameters that go nowhere", post(#""paramTypes":{"id":"number"}"#)),
  ]
}
