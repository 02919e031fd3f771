import Manifests
import Testing
import Values

@testable import Origin

@Suite struct EdgePurgeTargetTests {
  /// Every character that names may have.
  private static func longest() throws -> EdgePurge {
    EdgePurge(
      try AppName("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
      try ChannelName("abcdefghijklmnopqrstuvwxyz-01234"))
  }

  private static let tag =
    "xcache:ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_:abcdefghijklmnopqrstuvwxyz-01234"

  private static func text(_ kind: EdgePurgeTarget.Kind, _ purges: [EdgePurge], token: String? = "s3cret")
    -> String
  {
    let request = EdgePurgeTarget(kind, token: token).request(for: purges)
    let fields = request.fields.map { "\n\($0.name): \($0.value)" }.joined()
    guard case .bytes(let body) = request.body else { return "\(request.method) \(request.url)\(fields)" }
    return "\(request.method) \(request.url)\(fields)\n\n\(String(decoding: body, as: UTF8.self))"
  }

  /// The forms that deploy/edge and the guides of CDNs rely on.
  @Test func requests() throws {
    let longest = try Self.longest()
    let (app, channel) = (longest.app.text, longest.channel.text)
    let url = try BaseURL("http://127.0.0.1:6081/")
    #expect(
      Self.text(.varnish(url), [longest])
        == "BAN http://127.0.0.1:6081\nxcache-tag: \(Self.tag)\nAuthorization: Bearer s3cret")
    #expect(
      Self.text(.varnish(url), [longest], token: nil) == "BAN http://127.0.0.1:6081\nxcache-tag: \(Self.tag)")
    #expect(
      Self.text(.nginx(try BaseURL("https://e.example.com/xcache-purge")), [longest])
        == "PURGE https://e.example.com/xcache-purge/\(app)/\(channel)\nxcache-tag: \(Self.tag)\nAuthorization: Bearer s3cret"
    )
    #expect(
      Self.text(.http(template: "https://e.example.com/p/{app}/{channel}?tag={tag}&app={app}"), [longest])
        == "POST https://e.example.com/p/\(app)/\(channel)?tag=\(Self.tag)&app=\(app)\nxcache-tag: \(Self.tag)\nAuthorization: Bearer s3cret"
    )
    let two = [longest, EdgePurge(try AppName("shop"), try ChannelName("online"))]
    #expect(
      Self.text(.fastly(service: "SU1Z0isxPaozGVKXdv0eY"), two)
        == "POST https://api.fastly.com/service/SU1Z0isxPaozGVKXdv0eY/purge\nContent-Type: application/json\nFastly-Key: s3cret\n\n"
        + #"{"surrogate_keys":["\#(Self.tag)","xcache:shop:online"]}"#)
    #expect(
      Self.text(.cloudflare(zone: "023e105f4ecef8ad9ca31a8372d0c353"), two)
        == "POST https://api.cloudflare.com/client/v4/zones/023e105f4ecef8ad9ca31a8372d0c353/purge_cache\n"
        + "Content-Type: application/json\nAuthorization: Bearer s3cret\n\n"
        + #"{"tags":["\#(Self.tag)","xcache:shop:online"]}"#)
    for kind in [EdgePurgeTarget.Kind.fastly(service: "a"), .cloudflare(zone: "a")] {
      let target = EdgePurgeTarget(kind, token: nil, api: "http://127.0.0.1:1")
      #expect(target.request(for: two).url.hasPrefix("http://127.0.0.1:1/"))
    }
  }

  /// A proxy's 200 isn't that of the edge.
  @Test func cachesOfOnesOwnAreReachedDirectly() throws {
    for (name, isProxied) in [
      ("varnish", false), ("nginx", false), ("http", false), ("fastly", true), ("cloudflare", true),
    ] {
      let target = EdgePurgeTarget(try Self.kind(name), token: nil)
      #expect(target.request(for: [try Self.longest()]).usesProxy == isProxied, "\(name)")
    }
  }

  /// What names of edges show in logs and states.
  @Test func namesHaveNothingConfidential() throws {
    let url = "https://e.example.com:8443/hooks/T0secret?key=secret"
    #expect(EdgePurgeTarget(.http(template: url), token: "secret").name == "http https://e.example.com:8443")
    let others = [
      ("http://h:1?key=secret", "http://h:1"), ("http://h:1#secret", "http://h:1"),
      ("http://h:1\\secret", "http://h:1"), ("http:\\\\h\\secret", "http:\\\\h"), ("http:h/secret", "http:h"),
      ("http://h?a=//b/secret", "http://h"), ("h:1/secret", "h:1"), ("h:/secret", "h:"), ("?secret", ""),
      ("", ""),
    ]
    for (url, place) in others {
      #expect(EdgePurgeTarget(.http(template: url), token: nil).name == "http \(place)", "\(url)")
    }
    let base = try BaseURL("https://e.example.com/secret")
    #expect(EdgePurgeTarget(.varnish(base), token: "secret").name == "varnish https://e.example.com")
    #expect(EdgePurgeTarget(.nginx(base), token: "secret").name == "nginx https://e.example.com")
    #expect(EdgePurgeTarget(.fastly(service: "SU1Z"), token: "secret").name == "fastly SU1Z")
    #expect(EdgePurgeTarget(.cloudflare(zone: "023e"), token: "secret").name == "cloudflare 023e")
  }

  private static func kind(_ name: String) throws -> EdgePurgeTarget.Kind {
    switch name {
    case "varnish": .varnish(try BaseURL("http://e"))
    case "nginx": .nginx(try BaseURL("http://e/p"))
    case "fastly": .fastly(service: "s")
    case "cloudflare": .cloudflare(zone: "z")
    default: .http(template: "http://e")
    }
  }

  @Test(
    arguments: [
      ("varnish", 200, "", .done), ("varnish", 204, "", .done), ("nginx", 200, "", .done),
      ("nginx", 404, "", .failed("status 404", isRefused: true)),
      ("nginx", 412, "", .failed("status 412", isRefused: true)), ("http", 202, "", .done),
      ("fastly", 200, #"{"xcache:a:b":"1-2"}"#, .done),
      ("cloudflare", 200, #"{"success":true,"errors":[]}"#, .done),
      ("varnish", 404, "", .failed("status 404", isRefused: true)), ("http", 500, "", .failed("status 500")),
      ("http", 507, "", .failed("status 507")), ("http", 429, "", .failed("status 429")),
      (
        "http", 302, "",
        .failed("status 302: redirects aren't followed; give the URL that it leads to", isRefused: true)
      ),
      (
        "varnish", 403, "",
        .failed(
          "status 403: XCACHE_PURGE_TOKEN isn't accepted, or the edge's file doesn't name this origin's address among "
            + "those that may purge", isRefused: true)
      ),
      ("nginx", 401, "", .failed("status 401: XCACHE_PURGE_TOKEN isn't accepted", isRefused: true)),
      ("fastly", 403, "", .failed("status 403: XCACHE_FASTLY_TOKEN isn't accepted", isRefused: true)),
      ("fastly", 401, "", .failed("status 401: XCACHE_FASTLY_TOKEN isn't accepted", isRefused: true)),
      ("cloudflare", 401, "", .failed("status 401: XCACHE_CLOUDFLARE_TOKEN isn't accepted", isRefused: true)),
      ("cloudflare", 200, "", .failed("the answer isn't a success")),
      ("cloudflare", 200, "<html>", .failed("the answer isn't a success")),
      (
        "cloudflare", 200, #"{"success":false,"errors":[{"code":1,"message":"No\u001b[2J\nline"}]}"#,
        .failed("the answer isn't a success: No[2Jline")
      ),
    ] as [(String, Int, String, EdgePurgeOutcome)])
  func answers(kind: String, status: Int, body: String, outcome: EdgePurgeOutcome) throws {
    let target = EdgePurgeTarget(try Self.kind(kind), token: "s3cret")
    #expect(target.outcome(status: status, retryAfter: nil, body: Array(body.utf8)) == outcome)
  }

  @Test func pausesThatAreAskedFor() throws {
    let target = EdgePurgeTarget(.fastly(service: "s"), token: "s3cret")
    func outcome(_ seconds: Int) -> EdgePurgeOutcome {
      target.outcome(status: 429, retryAfter: seconds, body: [])
    }
    #expect(outcome(30) == .failed("status 429", after: 30_000))
    #expect(outcome(1_000_000_000) == .failed("status 429", after: 600_000))
    #expect(outcome(-1) == .failed("status 429", after: 0))
  }
}
