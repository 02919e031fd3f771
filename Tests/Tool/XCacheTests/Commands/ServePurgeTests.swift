import Origin
import TestSupport
import Testing
import Values

@testable import xcache

/// `serve --purge`: which caches are told, and that tokens stay out of messages.
@Suite struct ServePurgeTests {
  private static func targets(_ texts: [String], _ environment: [String: String] = [:], ttl: Bool = true)
    throws
    -> [EdgePurgeTarget]
  {
    var environment = environment
    if ttl { environment["XCACHE_EDGE_TTL"] = "10" }
    let options =
      ServeCommand.command.options + [.value("edge-ttl", "SECONDS", environment: "XCACHE_EDGE_TTL", "")]
    return try ServePurge.targets(
      Arguments(texts.flatMap { ["--purge", $0] }, options: options, environment: environment))
  }

  private static func message(_ texts: [String], _ environment: [String: String] = [:], ttl: Bool = true)
    -> String
  {
    let error = #expect(throws: UsageError.self) { try targets(texts, environment, ttl: ttl) }
    return error?.message ?? ""
  }

  private static let tokens = [
    "XCACHE_FASTLY_TOKEN": "f", "XCACHE_CLOUDFLARE_TOKEN": "c", "XCACHE_PURGE_TOKEN": "p",
  ]

  @Test func kinds() throws {
    let texts = [
      "varnish:http://127.0.0.1:6081/", "nginx:https://e.example.com/xcache-purge",
      "fastly:SU1Z0isxPaozGVKXdv0eY",
      "cloudflare:023e105f4ecef8ad9ca31a8372d0c353", "http:https://e.example.com/p/{app}/{channel}?t={tag}",
      "http:http://e.example.com/all",
    ]
    let found = try Self.targets(texts, Self.tokens)
    #expect(
      found.map(\.kind) == [
        .varnish(try BaseURL("http://127.0.0.1:6081")),
        .nginx(try BaseURL("https://e.example.com/xcache-purge")),
        .fastly(service: "SU1Z0isxPaozGVKXdv0eY"), .cloudflare(zone: "023e105f4ecef8ad9ca31a8372d0c353"),
        .http(template: "https://e.example.com/p/{app}/{channel}?t={tag}"),
        .http(template: "http://e.example.com/all"),
      ])
    #expect(try Self.targets([], ttl: false).isEmpty)
    let variable = ["XCACHE_PURGE": "varnish:http://10.0.0.1 varnish:http://10.0.0.2,nginx:http://10.0.0.3/p"]
    #expect(try Self.targets([], variable).count == 3)
  }

  @Test(
    arguments: [
      "varnish", "varnish:", "varnish:10.0.0.1:6081", "varnish:ftp://a/", "varnish:http://a/?q",
      "nginx:/purge",
      "http:", "http:a", "http://10.0.0.1/", "http:https://{app}.example.com/", "http:https://e/{name}",
      "http:https://e/{tag", "fastly:", "fastly:a/../b", "cloudflare:z{tag}", "akamai:1", "https://e/",
      "varnish:http://me:hush@e/", "http:https://me:hush@e/{tag}", "varnish:http://h:1?key=hush",
      "nginx:http://h/hush#a", "nginx:http://h:99999/hush", "http:http://h:99999/?key=hush",
      "http:/a?key=hush",
      "http:https:me:hush@e/", "http:http:\\\\me:hush@e:x/", "http:h?key=hush", "http:ftp://h?key=hush",
    ])
  func invalidTargets(text: String) {
    let message = Self.message([text], Self.tokens)
    #expect(message.hasPrefix("--purge") && !message.contains("hush"), "\(message)")
  }

  /// What is sent is what a URL means: no spaces, no bytes outside ASCII.
  @Test(
    arguments: [
      ("http://h:1?key=a", "http://h:1/?key=a"), ("http://h/a b?c d={tag}", "http://h/a%20b?c%20d={tag}"),
      ("http://h/é/{app}/{channel}", "http://h/%C3%A9/{app}/{channel}"), ("HTTP://H:80\\a#b", "http://h/a"),
      ("https://h/{app}/../{tag}-{channel}?{app}", "https://h/{tag}-{channel}?{app}"),
    ])
  func templatesAreSerialised(given: String, template: String) throws {
    #expect(try Self.targets(["http:\(given)"]).map(\.kind) == [.http(template: template)])
  }

  @Test func whatIsMissing() throws {
    #expect(
      Self.message(["varnish:http://a"], ttl: false)
        == "--purge needs --edge-ttl SECONDS: without it, caches keep no answers that they could drop")
    #expect(
      Self.message(["fastly:a"]).hasPrefix(
        "--purge fastly a needs an API token that may purge, in XCACHE_FASTLY_TOKEN"))
    #expect(Self.message(["cloudflare:a"]).contains("XCACHE_CLOUDFLARE_TOKEN_FILE names"))
    #expect(
      Self.message(["varnish:http://a", "varnish:http://a/"])
        == "--purge names a cache twice: varnish http://a")
  }

  @Test func warnings() throws {
    let texts = ["varnish:http://10.0.0.1", "http:http://10.0.0.2/secret"]
    #expect(
      try Self.targets(texts).map(ServePurge.warning) == [
        "edge varnish http://10.0.0.1: XCACHE_PURGE_TOKEN isn't set; the configurations of deploy/edge refuse purges without it",
        "edge http http://10.0.0.2: XCACHE_PURGE_TOKEN isn't set; the configurations of deploy/edge refuse purges without it",
      ])
    let all = texts + ["fastly:a", "cloudflare:a"]
    #expect(try Self.targets(all, Self.tokens).allSatisfy { ServePurge.warning(about: $0) == nil })
  }

  @Test func tokensFromFiles() throws {
    let scratch = try Scratch()
    let file = try scratch.write("token", "word\n")
    #expect(try Self.targets(["fastly:a"], ["XCACHE_FASTLY_TOKEN_FILE": file]).count == 1)
    for (name, text) in [("two", "one two"), ("none", "\n"), ("control", "a\u{1}b")] {
      let path = try scratch.write(name, text)
      let message = Self.message(["fastly:a"], ["XCACHE_FASTLY_TOKEN_FILE": path])
      #expect(
        message == "XCACHE_FASTLY_TOKEN_FILE: \(path) doesn't contain a token: one word without spaces")
    }
    let failure = #expect(throws: Failure.self) {
      try Self.targets(["fastly:a"], ["XCACHE_FASTLY_TOKEN_FILE": scratch.path + "/no"])
    }
    #expect(failure?.message == "XCACHE_FASTLY_TOKEN_FILE: no such file: \(scratch.path)/no")
    #expect(failure?.name == "no-files")
    let both = ["XCACHE_FASTLY_TOKEN_FILE": file, "XCACHE_FASTLY_TOKEN": "word"]
    #expect(
      Self.message(["fastly:a"], both)
        == "set either XCACHE_FASTLY_TOKEN or XCACHE_FASTLY_TOKEN_FILE, not both")
    #expect(
      Self.message(["fastly:a"], ["XCACHE_FASTLY_TOKEN": "top secret"])
        == "XCACHE_FASTLY_TOKEN doesn't contain a token: one word without spaces")
  }
}
