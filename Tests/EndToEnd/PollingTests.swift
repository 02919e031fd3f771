import Compression
import System
import Testing
import Values

@Suite("Answers to polls")
struct PollingTests {
  @Test(
    "A failure has the same code in status and body",
    arguments: [
      ("/configure.json?app=nobody", 404, "no app named \"nobody\""),
      ("/configure.json?app=shop&channel=nowhere", 404, "channel named \"nowhere\""),
      ("/configure.json?app=SHOP", 404, "no app named \"SHOP\""),
      ("/configure.json?app=\(String(repeating: "a", count: 200))", 404, "no app"),
      ("/xcache/nobody/configure.json", 404, "no app named \"nobody\""),
      ("/xcache_test/shop/configure.json", 404, "channel"),
      ("/xcache/shop/nothing.json", 404, "not found"),
      ("/nothing", 404, "not found"),
      ("/xcache/1/1/1/cb71c52a-bf85-8f6e-9634-144a40500112/x", 404, "no resource"),
    ])
  func failures(_ path: String, _ code: Int, _ words: String) throws {
    try Shared.site { site throws in
      let answer = try site.web.ask(path)
      #expect(answer.status == code)
      let document = try JSONValue.parse(answer.body)
      #expect(document["code"]?.integer == Int64(code))
      #expect(document["message"]?.string?.contains(words) == true, "\(answer.text)")
      #expect(answer["access-control-allow-origin"] == "*")
    }
  }

  @Test("Only GET and HEAD are answered", arguments: ["POST", "PUT", "DELETE"])
  func methods(_ method: String) throws {
    try Shared.site { site throws in
      let answer = try site.web.ask("/configure.json?app=shop", method, body: [])
      #expect(answer.status == 405)
      #expect(answer["allow"] == "GET, HEAD, OPTIONS")
    }
  }

  @Test(
    "All paths of a document answer the same",
    arguments: [
      "/configure.json", "/xcache/shop/configure.json", "/xcache-provider/xhr/client/configure.json?app=shop",
      "/configure.json?app=shop&channel=online",
      "/configure.json?channel=online&app=shop&bucket=77&appVersion=1.2",
      "/configure.json?app=%73hop", "/hxm/tech/xcache/shop/configure.json",
    ])
  func paths(_ path: String) throws {
    try Shared.site { site throws in
      let here = try site.web.ask(path)
      let there = try site.web.ask("/configure.json?app=shop")
      #expect(here.status == 200)
      #expect(here.body == there.body)
      #expect(here["etag"] == there["etag"])
    }
  }

  struct Poll: Sendable {
    let query: String
    /// `nothing`, `patch` or `whole`.
    let answer: String
  }

  // The channel is at version 3.
  @Test(
    "No update, a patch or the whole manifest",
    arguments: [
      Poll(query: "", answer: "whole"), Poll(query: "version=", answer: "whole"),
      Poll(query: "version=3", answer: "nothing"), Poll(query: "version=3&patch=1", answer: "nothing"),
      Poll(query: "version=2", answer: "whole"), Poll(query: "version=2&patch=1", answer: "patch"),
      Poll(query: "version=2&patch=0", answer: "whole"), Poll(query: "version=4&patch=1", answer: "whole"),
      Poll(query: "version=0&patch=1", answer: "whole"), Poll(query: "version=-1&patch=1", answer: "whole"),
      Poll(query: "version=abc&patch=1", answer: "whole"),
      Poll(query: "version=99999999999999999999&patch=1", answer: "whole"),
      Poll(query: "version=3&digest=\(String(repeating: "0", count: 64))", answer: "whole"),
      Poll(query: "version=2&patch=1&digest=\(String(repeating: "0", count: 64))", answer: "whole"),
      Poll(query: "version=3&digest=short", answer: "whole"),
      Poll(query: "version=3&digest=\(String(repeating: "0", count: 500))", answer: "whole"),
    ])
  func decisions(_ poll: Poll) throws {
    try Shared.site { site throws in
      let data = try site.poll(poll.query)["data"]
      #expect(data?["version"]?.string == "3")
      #expect(Self.kind(of: data) == poll.answer)
    }
  }

  @Test("The right digest gets a patch", arguments: [1, 2, 3])
  func rightDigest(_ version: Int) throws {
    try Shared.site { site throws in
      let digest = try #require(site.digests[version])
      let data = try site.poll("version=\(version)&patch=1&digest=\(digest)")["data"]
      #expect(Self.kind(of: data) == (version == 3 ? "nothing" : "patch"))
    }
  }

  private static func kind(of data: JSONValue?) -> String {
    if data?["update"]?.bool == false { return "nothing" }
    return data?["patch"] != nil ? "patch" : data?["resourcemap"] != nil ? "whole" : "?"
  }

  @Test("A patch leads to the manifest with the stated digest", arguments: [1, 2])
  func patchIsExact(_ base: Int) throws {
    try Shared.site { site throws in
      let whole = try site.poll()["data"]
      let patch = try site.poll("version=\(base)&patch=1")["data"]
      #expect(patch?["base"]?.string == "\(base)")
      #expect(patch?["deltas"]?.object != nil)
      #expect(patch?["digest"] == whole?["digest"])
      let map = try #require(whole?["resourcemap"])
      var held = try #require(site.maps[base]?.object)
      for member in patch?["patch"]?.object?.members ?? [] {
        held[member.key] = member.value.isNull ? nil : member.value
      }
      #expect(JSONValue.object(held) == map)
      #expect(SHA256.of(map.canonical).hex == whole?["digest"]?.string)
    }
  }

  @Test("All documents are canonical JSON", arguments: ["", "version=2&patch=1", "version=3"])
  func canonical(_ query: String) throws {
    try Shared.site { site throws in
      let answer = try site.web.ask("/configure.json?app=shop&\(query)")
      #expect(try JSONValue.parse(answer.body).canonical == answer.body)
    }
  }

  @Test("Headers of a document", arguments: ["", "version=2&patch=1", "version=3"])
  func fields(_ query: String) throws {
    try Shared.site { site throws in
      let answer = try site.web.ask("/configure.json?app=shop&\(query)")
      #expect(answer["content-type"] == "application/json")
      #expect(answer["cache-control"] == "no-cache")
      #expect(answer["access-control-allow-origin"] == "*")
      #expect(answer["vary"] == "Accept-Encoding")
      let tag = try #require(answer["etag"])
      #expect(tag.hasPrefix("\"") && tag.hasSuffix("\""))
      for (condition, status) in [
        (tag, 304), ("W/\(tag)", 304), ("*", 304), ("\"x\", \(tag)", 304), ("\"x\"", 200),
      ] {
        let again = try site.web.ask("/configure.json?app=shop&\(query)", "GET", ["If-None-Match": condition])
        #expect(again.status == status, "\(condition)")
        #expect(again["etag"] == tag)
      }
      let head = try site.web.ask("/configure.json?app=shop&\(query)", "HEAD")
      #expect(head.status == 200 && head["content-length"] == "\(answer.body.count)")
    }
  }

  @Test(
    "The client's preferred coding is used",
    arguments: [
      ("gzip", "gzip"), ("zstd", "zstd"), ("gzip, zstd", "zstd"), ("zstd;q=0.1, gzip;q=0.9", "gzip"),
      ("identity", nil), ("br", nil), ("", nil), ("gzip;q=0", nil), ("*", "zstd"), ("*;q=0, identity", nil),
      ("gzip;q=0.2, identity;q=0.8", nil), ("x-gzip", "gzip"), ("GZIP", "gzip"),
    ] as [(String, String?)])
  func codings(_ accept: String, _ expected: String?) throws {
    try Shared.site { site throws in
      let plain = try site.web.ask("/configure.json?app=many")
      let coded = try site.web.ask("/configure.json?app=many", "GET", ["Accept-Encoding": accept])
      #expect(coded["content-encoding"] == expected)
      #expect(coded["vary"] == "Accept-Encoding")
      let bytes =
        switch expected {
        case "gzip": try Gzip.decode(coded.body, limit: 1 << 24)
        case "zstd": try Zstd.decode(coded.body, limit: 1 << 24)
        default: coded.body
        }
      #expect(bytes == plain.body)
      #expect((coded["etag"] == plain["etag"]) == (expected == nil))
      let again = try site.web.ask(
        "/configure.json?app=many", "GET", ["Accept-Encoding": accept, "If-None-Match": coded["etag"] ?? ""])
      #expect(again.status == 304)
    }
  }

  @Test("A poll without app is about the first app, also after others were created")
  func firstApp() throws {
    try Site.with { site throws in
      #expect(try site.web.ask("/configure.json").status == 404)
      try site.publish(["a.js": "1"])
      try site.publish(["b.js": "1"], app: "another")
      let answer = try site.web.ask("/configure.json").body
      #expect(try answer == site.web.ask("/configure.json?app=shop").body)
      try site.crash()
      #expect(try site.web.ask("/configure.json").body == answer)
    }
  }

  @Test("If a patch would be larger than the whole manifest, the whole is sent with its base")
  func wholeIsSmaller() throws {
    try Site.with { site throws in
      try site.publish(Shared.many)
      try site.publish(["one.js": "1"], "--allow-no-pages")
      let data = try site.poll("version=1&patch=1")["data"]
      #expect(data?["base"]?.string == "1")
      #expect(data?["resourcemap"]?.object?.count == 1)
      #expect(data?["deltas"]?.object != nil)
    }
  }

  @Test("Probes and metrics", arguments: [("/healthz", "ok\n"), ("/readyz", "ready\n")])
  func probes(_ path: String, _ text: String) throws {
    try Shared.site { site throws in
      #expect(try site.web.ask(path).text == text)
      #expect(try site.web.ask("/metrics").text.contains("# TYPE"))
    }
  }
}
