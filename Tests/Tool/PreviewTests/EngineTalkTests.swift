import PreviewProtocol
import System
import Testing
import Values

@testable import Preview

@Suite("The protocol of the engine") struct EngineTalkTests {
  private static func talk(parallel: Int, jobs: Int) -> EngineTalk {
    let settings = EngineSettings(
      folder: "/device", server: "https://o.example.com", app: "shop", channel: "test",
      hosts: ["m.example.com"], size: .phone, parallel: parallel)
    return EngineTalk(
      settings,
      (0..<jobs).map {
        EngineJob(id: $0 + 1, url: "https://m.example.com/\($0 + 1)", screenshot: nil, timeout: 30)
      })
  }

  private static let ready = Array(#"{"ready":true,"engine":"E 1"}"#.utf8)
  private static let second: UInt64 = 1_000_000_000

  private static func report(_ id: Int) -> [UInt8] {
    Array(#"{"id":\#(id),"requests":[],"console":[],"scriptErrors":[],"isBlank":false}"#.utf8)
  }

  private static func id(_ action: EngineTalk.Action) -> Int64? {
    guard case .send(let line) = action, line.last == 0x0a else { return nil }
    return (try? JSONValue.parse(Array(line.dropLast())))?["id"]?.integer
  }

  @Test(
    "Settings first, then as many pages as may be open, then one for each answer, in any order"
  )
  func order() throws {
    var talk = Self.talk(parallel: 2, jobs: 4)
    guard case .send(let settings) = try talk.next(now: 0) else { return #expect(Bool(false), "no settings") }
    let document = try JSONValue.parse(Array(settings.dropLast()))
    #expect(document["channel"]?.string == "test" && document["parallel"]?.integer == 2)
    #expect(document["local"]?.bool == true && document["network"]?.isNull == true)
    #expect(try talk.next(now: 1) == .read(until: UInt64(EngineTalk.start) * Self.second))
    try talk.take(Self.ready)
    #expect(talk.engine == "E 1")
    #expect(Self.id(try talk.next(now: 0)) == 1)
    #expect(Self.id(try talk.next(now: Self.second)) == 2)
    #expect(try talk.next(now: Self.second) == .read(until: UInt64(30 + EngineTalk.grace) * Self.second))
    try talk.take(Self.report(2))
    #expect(Self.id(try talk.next(now: 2)) == 3)
    try talk.take(Self.report(3))
    try talk.take(Self.report(1))
    #expect(Self.id(try talk.next(now: 3)) == 4)
    #expect(talk.open == [4])
    try talk.take(Self.report(4))
    #expect(try talk.next(now: 4) == .done)
    #expect(talk.reports.keys.sorted() == [1, 2, 3, 4])
  }

  @Test("An engine that doesn't get ready, or doesn't answer for a page, times out")
  func late() throws {
    var talk = Self.talk(parallel: 1, jobs: 1)
    _ = try talk.next(now: 5)
    let start = UInt64(EngineTalk.start) * Self.second + 5
    #expect(throws: EngineTalk.Fault.notReady(seconds: EngineTalk.start)) { try talk.next(now: start) }
    try talk.take(Self.ready)
    _ = try talk.next(now: 0)
    let seconds = 30 + EngineTalk.grace
    #expect(
      try talk.next(now: UInt64(seconds) * Self.second - 1) == .read(until: UInt64(seconds) * Self.second))
    #expect(throws: EngineTalk.Fault.overdue(id: 1, url: "https://m.example.com/1", seconds: seconds)) {
      try talk.next(now: UInt64(seconds) * Self.second)
    }
  }

  /// Lines in place of `ready`, or as answers for page 1.
  static let wrong: [(isFirst: Bool, line: String, fault: EngineTalk.Fault)] = [
    (true, "Gtk-WARNING", .notJSON("Gtk-WARNING")), (true, "", .notJSON("")), (true, "[]", .notJSON("[]")),
    (true, "{}", .unreadable("ready")), (true, #"{"ready":false}"#, .unreadable("ready")),
    (true, #"{"error":"no display"}"#, .refused("no display")),
    (false, #"{"error":"no such job","id":1}"#, .refused("no such job")), (false, "{}", .unreadable("id")),
    (false, #"{"id":1.5}"#, .unreadable("id")), (false, #"{"id":1}"#, .unreadable("requests")),
    (false, #"{"id":1,"requests":[1],"console":[],"scriptErrors":[]}"#, .unreadable("requests[0]")),
    (
      false, #"{"id":1,"requests":[{"url":"u","source":"moon"}],"console":[],"scriptErrors":[]}"#,
      .unreadable("requests[0].source")
    ),
    (false, #"{"id":1,"requests":[],"console":[{}],"scriptErrors":[]}"#, .unreadable("console[0].text")),
    (false, #"{"id":1,"requests":[],"console":[],"scriptErrors":[]}"#, .unreadable("isBlank")),
    (
      false, #"{"id":1,"requests":[],"console":[],"scriptErrors":[],"isBlank":true,"load":"soon"}"#,
      .unreadable("load")
    ),
    (
      false, #"{"id":1,"requests":[],"console":[],"scriptErrors":[],"isBlank":true,"load":1e99}"#,
      .unreadable("load")
    ),
    (false, #"{"id":2,"requests":[],"console":[],"scriptErrors":[],"isBlank":true}"#, .unasked("id 2")),
  ]

  @Test("Invalid and unexpected answers are reported", arguments: wrong)
  func wrongAnswers(_ isFirst: Bool, _ line: String, _ fault: EngineTalk.Fault) throws {
    var talk = Self.talk(parallel: 1, jobs: 1)
    _ = try talk.next(now: 0)
    if !isFirst {
      try talk.take(Self.ready)
      _ = try talk.next(now: 0)
    }
    #expect(throws: fault) { try talk.take(Array(line.utf8)) }
  }

  @Test("A message's place is as much of it as is known") func places() {
    let messages = [
      PageReport.Message(level: nil, text: "", url: nil, line: 3, column: nil),
      .init(level: nil, text: "", url: "u", line: 3, column: 4),
      .init(level: nil, text: "", url: "u", line: nil, column: nil),
    ]
    #expect(messages.map(\.place) == ["", "u:3:4", "u"])
  }

  @Test("The engine gets no token, key or setting of xcache") func environment() {
    let given = [
      "PATH": "/bin", "HOME": "/root", "LC_ALL": "C", "DISPLAY": ":1", "XCACHE_WEBKIT_MODE": "x",
      "GTK_THEME": "a",
      "XCACHE_TOKEN": "secret", "XCACHE_TOKEN_FILE": "f", "XCACHE_SERVER": "s", "XCACHE_HTTPDNS_SECRET": "k",
      "AWS_SECRET_ACCESS_KEY": "k", "GITHUB_TOKEN": "g", "CI_JOB_TOKEN": "c", "LD_PRELOAD": "x",
      "LANG": "xcache_0123456789ab_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ]
    #expect(TokenMask.first(in: Array((given["LANG"] ?? "").utf8)) != nil, "the row has no token")
    #expect(
      Set(EngineProgram.passed(given).keys) == [
        "PATH", "HOME", "LC_ALL", "DISPLAY", "XCACHE_WEBKIT_MODE", "GTK_THEME",
      ])
  }
}
