import Foundation
import OriginAPI
import PreviewProtocol
import Testing
import Values

@Suite("The lines between xcache and xcache-webkit") struct LineTests {
  /// As `xcache` writes a line.
  private static func canonical(_ message: some Encodable) -> String {
    String(decoding: JSONValue(encoding: message).canonical, as: UTF8.self)
  }

  /// As `xcache-webkit` writes a line.
  private static func line(_ message: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
    return String(decoding: try encoder.encode(message), as: UTF8.self)
  }

  private static func settings() -> EngineSettings {
    var settings = EngineSettings(
      folder: "/device", server: "https://o.example.com", app: "shop", channel: "test",
      hosts: ["m.example.com"])
    (settings.width, settings.height, settings.parallel) = (390, 844, 2)
    (settings.local, settings.offline, settings.confined) = (true, false, true)
    return settings
  }

  @Test("Settings and jobs have the bytes that they have had from the beginning") func asked() throws {
    var settings = Self.settings()
    let text =
      #"{"app":"shop","channel":"test","confined":true,"folder":"/device","height":844,"hosts":["m.example.com"],"#
      + #""local":true,"network":null,"offline":false,"parallel":2,"server":"https://o.example.com","width":390}"#
    #expect(Self.canonical(settings) == text)
    #expect(try JSONDecoder().decode(EngineSettings.self, from: Data(text.utf8)) == settings)
    settings.network = .init(delay: 400, kilobitsPerSecond: 400)
    #expect(Self.canonical(settings).contains(#""network":{"delay":400,"kilobitsPerSecond":400},"#))
    let job = EngineJob(id: 1, url: "https://m.example.com/", screenshot: nil, timeout: 30)
    let line = #"{"id":1,"screenshot":null,"timeout":30,"url":"https://m.example.com/"}"#
    #expect(Self.canonical(job) == line)
    #expect(try JSONDecoder().decode(EngineJob.self, from: Data(line.utf8)) == job)
  }

  @Test("Whoever starts the program needs few members") func few() throws {
    let settings = #"{"folder":"f","server":"s","app":"a","hosts":["h"],"offline":true,"new":{}}"#
    let read = try JSONDecoder().decode(EngineSettings.self, from: Data(settings.utf8))
    #expect(read.offline == true && read.channel == nil && read.local == nil && read.width == nil)
    let job = try JSONDecoder().decode(EngineJob.self, from: Data(#"{"id":1,"url":"u","timeout":0.5}"#.utf8))
    #expect(job.timeout == 0.5 && job.screenshot == nil)
  }

  @Test("What the program says has the bytes that it has had from the beginning") func told() throws {
    #expect(
      try Self.line(EngineReady(engine: "E 1", version: "7"))
        == #"{"engine":"E 1","ready":true,"version":"7"}"#)
    #expect(try Self.line(EngineFailure(error: "no display")) == #"{"error":"no display"}"#)
    #expect(try Self.line(EngineFailure(id: 7, error: "no url")) == #"{"error":"no url","id":7}"#)
    var report = PageReport(id: 7, url: "https://m.example.com/")
    (report.title, report.load, report.firstContentfulPaint) = ("", 34, 12.5)
    report.requests = [
      .init(url: "u", source: .missing, status: 404, bytes: 1, kind: nil, ms: 3),
      .init(url: "data:,", source: .engine, status: nil, bytes: 0, kind: "image", ms: nil),
    ]
    report.console = [.init(level: "error", text: "t", url: nil, line: nil, column: nil)]
    report.scriptErrors = [.init(level: nil, text: "s", url: "u", line: 3, column: 4)]
    let text =
      #"{"console":[{"level":"error","text":"t"}],"failure":null,"finalURL":null,"firstContentfulPaint":12.5,"#
      + #""hasScreenshot":false,"id":7,"isBlank":true,"load":34,"#
      + #""requests":[{"bytes":1,"kind":null,"ms":3,"source":"missing","status":404,"url":"u"},"#
      + #"{"bytes":0,"kind":"image","ms":null,"source":"engine","status":null,"url":"data:,"}],"#
      + #""scriptErrors":[{"column":4,"line":3,"text":"s","url":"u"}],"status":null,"title":"","url":"https://m.example.com/"}"#
    #expect(try Self.line(report) == text)
    #expect(try JSONValue.parse(Array(text.utf8)).decode(PageReport.self) == report)
  }

  @Test(
    "A report may lack what nobody knows; its numbers are rounded, and members that aren't known passed over")
  func lenient() throws {
    let report = try JSONValue.parse(
      Array(
        #"""
        {"id":7,"failure":"timed out","requests":[{"url":"u","source":"failed","status":null,"bytes":-1,"kind":null,"ms":2.5,"x":1}],
        "console":[{"level":"error","text":"t","url":null,"line":null}],"scriptErrors":[{"text":"s","url":"u","line":3,"column":4}],
        "load":12.4,"new":{}}
        """#.utf8)
    ).decode(PageReport.self)
    #expect(report.id == 7 && report.failure == "timed out" && report.isBlank && report.load == 12.4)
    #expect(report.requests.first?.kind == nil && report.requests.first?.bytes == 0)
    #expect(report.requests.first?.ms == 3)
    #expect(report.console.first?.url == nil && report.scriptErrors.first?.column == 4)
  }
}
