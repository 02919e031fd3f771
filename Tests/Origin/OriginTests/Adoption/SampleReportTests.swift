import Manifests
import OriginAPI
import Store
import System
import Testing
import Values

@testable import Origin

/// Error samples that devices report, from `POST /report` to the API.
@Suite struct SampleReportTests {
  private static let channel = "apps/shop/channels/online"
  private static let page = "https://m.example.com/index.html"
  private let origin: TestOrigin

  init() throws {
    origin = try TestOrigin(clock: { 1_763_553_600_000 })
    for text in ["one", "two", "three"] { try origin.publish(["index.html": text, "app.20261130.js": "a"]) }
  }

  private func sample(_ message: String = "x is not defined", page: String = Self.page) -> JSONValue {
    [
      "engine": "Chromium 141.0.1", "kind": "script", "message": .string(message), "page": .string(page),
      "stack": ["render@https://m.example.com/app.20261130.js:1:23911", "map@"],
    ]
  }

  private func report(
    _ sample: JSONValue, version: String = "3", from network: UInt32 = 0, _ lines: [String] = []
  ) throws -> TestOrigin.Reply {
    let body: JSONValue = ["sample": sample, "version": .string(version)]
    return try origin.ask(
      "POST", "/report?app=shop", lines, body: body.canonical, from: IPAddress(v4: 0x0A00_0001 + network))
  }

  private func list(_ query: String = "") throws -> JSONValue {
    let reply = try origin.api("GET", "\(Self.channel)/samples\(query)")
    #expect(reply.status == 200, "\(reply.text)")
    return reply.json
  }

  private func messages(_ query: String = "") throws -> [String] {
    (try list(query)["samples"]?.array ?? []).map {
      "\($0["message"]?.string ?? "") \($0["count"]?.integer ?? -1)"
    }
  }

  @Test func samplesAreListed() throws {
    #expect(try list() == ["isOn": true, "others": 0, "samples": [], "version": "3"])
    #expect(try report(sample()).text == #"{"code":200}"#)
    #expect(try report(sample()).status == 200)
    #expect(try report(sample("other"), version: "2").status == 200)
    let all = try list()
    #expect(all["version"]?.string == "3" && all["isOn"]?.bool == true && all["others"]?.integer == 0)
    let one = try #require(all["samples"]?.array?.first)
    #expect(all["samples"]?.array?.count == 1)
    #expect(one["message"]?.string == "x is not defined" && one["kind"]?.string == "script")
    #expect(one["page"]?.string == Self.page && one["version"]?.string == "3" && one["count"]?.integer == 2)
    #expect(one["engine"]?.string == "Chromium 141" && one["engines"] == ["Chromium 141"])
    #expect(
      one["firstAt"]?.string?.hasPrefix("2025-11-19T12:00:00") == true && one["lastAt"] == one["firstAt"])
    let frames = try #require(one["stack"]?.array)
    // The path is listed, so it names a file.
    let url = "https://m.example.com/app.20261130.js"
    #expect(
      frames[0] == [
        "column": 23911, "function": "render", "line": 1, "source": .null,
        "text": .string("render@\(url):1:23911"),
        "url": .string(url),
      ])
    #expect(
      frames[1] == ["column": 0, "function": "map", "line": 0, "source": .null, "text": "map@", "url": ""])
    #expect(try messages("?version=2") == ["other 1"] && messages("?version=1") == [])
    #expect(try messages("?page=https://m.example.com/index.html") == ["x is not defined 2"])
    #expect(try messages("?page=https://m.example.com/") == [])
    for (query, status) in [("version=9", 404), ("version=x", 400), ("limit=0", 400), ("limit=501", 400)] {
      #expect(try origin.api("GET", "\(Self.channel)/samples?\(query)").status == status, "\(query)")
    }
    #expect(try origin.api("GET", "apps/shop/channels/none/samples").status == 404)
  }

  @Test func ofTheCandidateToo() throws {
    #expect(try origin.candidate(["index.html": "four"]).status == 201)
    _ = try report(sample("full"))
    for _ in 0..<2 { _ = try report(sample("candidate"), version: "4") }
    #expect(try messages() == ["candidate 2", "full 1"] && list()["version"]?.string == "3")
    #expect(try messages("?version=4") == ["candidate 2"])
  }

  /// Of what a page says of a person nothing is written, also where a device didn't strip it.
  @Test func nothingOfAPersonIsKept() throws {
    let secret = "ann@example.com"
    let told: JSONValue = [
      "engine": .string(secret), "kind": "rejection", "message": .string("no \(secret) of 123456789"),
      "page": .string("https://ann:pass@m.example.com/o/123456789?user=\(secret)#\(secret)"),
      "stack": [.string("\(secret)@https://m.example.com/123456789.js?token=\(secret):1:2")],
    ]
    _ = try report(told)
    let text = try origin.api("GET", "\(Self.channel)/samples").text
    #expect(!text.contains(secret) && !text.contains("123456789") && !text.contains("pass"), "\(text)")
    #expect(text.contains(#""page":"https://m.example.com/o/*?user=""#), "\(text)")
  }

  @Test func invalidSamplesAreRefused() throws {
    let deep = String(repeating: "[", count: 4_000) + String(repeating: "]", count: 4_000)
    for body in [
      #"{"sample":[],"version":"3"}"#,
      #"{"sample":{"kind":"x","message":"","page":"\#(Self.page)"},"version":"3"}"#,
      #"{"sample":{"kind":"script","message":"","page":"\#(Self.page)"},"version":"1e9"}"#,
      #"{"sample":{"kind":"script","message":"","page":"\#(Self.page)"},"version":99999999999999999999}"#,
      #"{"sample":{"kind":"script","message":"","page":"\#(Self.page)","stack":[1e999]},"version":"3"}"#,
      #"{"sample":{"kind":"script","message":"\ud800","page":"\#(Self.page)"},"version":"3"}"#,
      #"{"sample":\#(deep),"version":"3"}"#, #"{"sample":"#,
    ] {
      let reply = try origin.ask("POST", "/report?app=shop", body: Array(body.utf8))
      #expect(reply.status == 400, "\(body.prefix(99)): \(reply.text)")
    }
    #expect(try messages() == [])
  }

  /// Versions that don't exist, pages of others and sites of others: accepted, since a device can't do better, and ignored.
  @Test func whatIsNotTheChannelsIsIgnored() throws {
    for version in ["0", "4", "9007199254740991"] {
      #expect(try report(sample(), version: version).status == 200)
    }
    for page in ["https://evil.example/", "http://m.example.com/index.html", "https://m.example.com:444/"] {
      #expect(try report(sample(page: page)).status == 200)
    }
    for line in [
      "Origin: https://evil.example", "Origin: null", "Origin: https://m.example.co",
      "Origin: https://m.example.com.evil.example",
      "Origin: \(String(repeating: "x", count: 4_000))", "Sec-Fetch-Site: cross-site", "Origin: ",
    ] { #expect(try report(sample(), [line]).status == 200, "\(line.prefix(60))") }
    #expect(try messages() == [])
    for line in ["Origin: https://m.example.com", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none"] {
      #expect(try report(sample(), [line]).status == 200)
    }
    #expect(try messages() == ["x is not defined 3"])
  }

  @Test func anAddressHasAShare() throws {
    for _ in 0..<100 { #expect(try report(sample()).status == 200) }
    #expect(try report(sample(), from: 1).status == 200)
    // The limit is one of a minute; the test may have met the next one.
    let count = try #require(try list()["samples"]?.array?.first?["count"]?.integer)
    #expect((31...62).contains(count))
  }

  /// However many addresses tell however many different things, what is kept has a limit.
  @Test func floodsAreOnlyCounted() throws {
    for network in 0..<600 as Range<UInt32> {
      let words =
        String(UnicodeScalar(UInt8(97 + network % 26))) + String(UnicodeScalar(UInt8(97 + network / 26 % 26)))
      _ = try report(sample("message \(words)", page: "https://m.example.com/\(words)"), from: network)
    }
    let all = try list("?limit=500")
    let kept = try #require(all["samples"]?.array?.count)
    #expect(kept == SampleBuffer.ofChannel)
    #expect(all["others"]?.integer == Int64(600 - kept))
  }

  @Test func switchedOff() throws {
    _ = try report(sample())
    #expect(try messages().count == 1)
    let path = "\(Self.channel)/settings"
    #expect(try origin.api("GET", path).json["samples"]?.bool == true)
    #expect(try !origin.ask("GET", "/configure.json?app=shop").text.contains("samples"))
    let off = try origin.api("POST", path, ["samples": false])
    #expect(off.status == 200 && off.json["samples"]?.bool == false)
    #expect(off.json["forgottenSamples"]?.integer == 1)
    #expect(try list() == ["isOn": false, "others": 0, "samples": [], "version": "3"])
    #expect(try origin.api("GET", Self.channel).json["samples"]?.bool == false)
    // Every answer says so, between the members around it.
    for query in ["", "&version=1", "&version=3"] {
      let answer = try origin.ask("GET", "/configure.json?app=shop\(query)")
      #expect(answer.json["data"]?["samples"]?.integer == 0, "\(answer.text.prefix(200))")
      #expect(try ConfigureAnswer.parse(answer.body).extras.samples == 0)
    }
    #expect(try report(sample()).status == 200)
    #expect(try messages() == [])
    let on = try origin.api("POST", path, ["samples": true])
    #expect(on.json["samples"]?.bool == true && on.json["forgottenSamples"] == nil)
    #expect(try origin.ask("GET", "/configure.json?app=shop").json["data"]?["samples"] == nil)
    #expect(try origin.api("GET", Self.channel).json["samples"]?.bool == nil)
    #expect(try report(sample()).status == 200)
    #expect(try messages() == ["x is not defined 1"])
    for wrong: JSONValue in [0, "off", []] {
      #expect(try origin.api("POST", path, ["samples": wrong]).status == 400)
    }
  }

  /// What waits in memory when samples are switched off isn't written afterwards.
  @Test func switchedOffBeforeTheyAreWritten() throws {
    _ = try report(sample())
    #expect(try origin.api("POST", "\(Self.channel)/settings", ["samples": false]).status == 200)
    #expect(try messages() == [])
    #expect(try origin.api("POST", "\(Self.channel)/settings", ["samples": true]).status == 200)
    #expect(try messages() == [])
  }
}

/// The memory that samples take before they are written.
@Suite struct SampleBufferTests {
  private func sample(_ message: String) -> ErrorSample {
    ErrorSample(stored: .script, message: message, page: "https://h/", engine: "A 1", stack: [])
  }

  @Test func sizeIsBounded() {
    var buffer = SampleBuffer()
    for index in 0..<100_000 as Range<Int64> {
      buffer.add(sample("\(index)"), ManifestVersion(1 + index % 3_000), of: index % 40)
    }
    #expect(buffer.reported.count == SampleBuffer.limit && buffer.counted.count <= 512)
    #expect(
      Dictionary(grouping: buffer.reported, by: \.channel).values.allSatisfy {
        $0.count <= SampleBuffer.ofChannel
      })
    buffer.add(sample("0"), ManifestVersion(1), of: 0)
    #expect(buffer.reported.contains { $0.count == 2 && $0.sample.message == "0" })
  }

  @Test func addressesAreCountedByTheMinute() {
    var quota = SampleQuota()
    func taken(_ addresses: [IPAddress], minute: UInt64) -> Int {
      var count = 0
      for address in addresses where quota.take(from: address, now: minute * 60_000_000_000) { count += 1 }
      return count
    }
    let one = IPAddress(v4: 1)
    #expect(taken(Array(repeating: one, count: 40), minute: 5) == 30)
    #expect(taken([IPAddress(v4: 2)], minute: 5) == 1)
    // One device can have all addresses of 64 bits.
    #expect(taken((0..<40).map { IPAddress(high: 7, low: $0) }, minute: 5) == 30)
    let mapped = IPAddress(high: 0, low: 0xFFFF_0000_0001)
    #expect(taken([mapped], minute: 5) == 0)
    #expect(taken([one], minute: 6) == 1)
    #expect(taken((0..<100_000).map { IPAddress(v4: 100 + $0) }, minute: 7) == SampleQuota.addresses)
  }
}
