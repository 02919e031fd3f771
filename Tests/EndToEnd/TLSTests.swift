import Glibc
import Manifests
import System
import Testing
import TestSupport
import TLSPeer

/// `serve --tls-cert`, tested with curl and openssl.
@Suite("serve with TLS")
struct TLSTests {
  private let certificates: Certificates
  private let files: Certificates.Pair

  init() throws {
    certificates = try Certificates()
    files = try certificates.make("shop", hosts: ["localhost", "shop.test"])
  }

  private var options: [String] { ["--tls-cert", files.certificate, "--tls-key", files.key] }

  private func curl(_ site: Site, _ path: String, _ more: String...) throws -> Outcome {
    let words = ["curl", "-sS", "--cacert", files.certificate, "--noproxy", "*", "--max-time", "60"]
    return try Outcome(
      try Child(
        words + more + ["https://localhost:\(site.port)\(path)"],
        environment: ["PATH": "/usr/bin:/bin"], in: site.scratch.path))
  }

  /// The output of openssl's client for a connection that sends a request; if `keys` is true, its interactive commands are on.
  private func client(
    _ site: Site, _ words: String..., request: String = "GET /healthz HTTP/1.0\r\n\r\n",
    keys: Bool = false
  )
    throws
    -> String
  {
    let input = try site.scratch.write("request", request)
    let command =
      "openssl s_client -connect 127.0.0.1:\(site.port) -CAfile \(files.certificate) \(keys ? "" : "-ign_eof") \(words.joined(separator: " ")) <\(input)"
    let outcome = try Outcome(
      try Child(
        ["timeout", "30", "sh", "-c", command], environment: ["PATH": "/usr/bin:/bin"], in: site.scratch.path)
    )
    return outcome.output + outcome.errors
  }

  @Test("The server prints https addresses, and new channels have https download URLs")
  func addresses() throws {
    try Site.with(options) { site throws in
      #expect(site.server.standardError.contains(" listens on https://127.0.0.1:\(site.port),"))
      #expect(
        site.server.standardError.contains("serving the certificate for localhost, shop.test, until 20"))
      let made = try curl(
        site, "/api/v1/apps/shop/channels/online/create", "-H", "Authorization: Bearer \(site.token)", "-d",
        "{}")
      #expect(
        made.exitCode == 0 && made.output.contains("https://127.0.0.1:\(site.port)"),
        "\(made.output) \(made.errors)")
      let metrics = try curl(site, "/metrics").output
      #expect(metrics.contains("\nxcache_tls_certificate_expires_timestamp_seconds{host=\"localhost\"} 1"))
      #expect(metrics.contains("\nhttp_tls_handshakes_total "))
    }
  }

  @Test("Protocols, ciphers, ALPN and renegotiation with openssl s_client")
  func protocols() throws {
    try Site.with(options) { site throws in
      for (words, expected) in [
        ("-tls1_3", "HTTP/1.1 200 OK"), ("-tls1_2", "HTTP/1.1 200 OK"),
        ("-alpn http/1.1", "ALPN protocol: http/1.1"),
        ("-alpn h2", "no application protocol"), ("-tls1_2", "Secure Renegotiation IS supported"),
        ("-servername shop.test -verify_hostname shop.test", "Verify return code: 0 (ok)"),
        ("-servername other.test", "HTTP/1.1 200 OK"), ("-tls1_3", "Cipher is TLS_AES_128_GCM_SHA256"),
        ("-tls1_2 -cipher AES128-SHA", "alert handshake failure"),
      ] {
        let words = words.split(separator: " ").map(String.init)
        let text = try client(site, words.joined(separator: " "))
        #expect(text.contains(expected), "\(words): \(text)")
      }
      for version in ["-tls1", "-tls1_1"] {
        let text = try client(site, version, "-cipher", "'ALL:@SECLEVEL=0'")
        #expect(text.contains("alert protocol version") && !text.contains("200 OK"), "\(text)")
      }
      let text = try client(site, "-tls1_2", request: "R\n", keys: true)
      #expect(text.contains("RENEGOTIATING") && text.contains("no renegotiation"), "\(text)")
    }
  }

  @Test("Sessions are resumed by tickets, in both versions", arguments: ["-tls1_2", "-tls1_3"])
  func resumption(_ version: String) throws {
    try Site.with(options) { site throws in
      let session = site.scratch.path + "/session"
      #expect(try client(site, version, "-sess_out", session).contains("New, TLSv1"))
      #expect(try client(site, version, "-sess_in", session).contains("Reused, TLSv1"))
    }
  }

  @Test("A large file, a range of it, and an upload of 100 MB")
  func bytes() throws {
    let site = try Site()
    let size = 20_000_000
    let film = try site.scratch.folder("film", [:]) + "/film.bin"
    var random: UInt64 = 42
    let bytes = (0..<size).map { _ in
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: random >> 33)
    }
    try site.scratch.write("film/film.bin", bytes)
    let published = try site.run(
      "publish", "--create", site.scratch.path + "/film", "--app", "shop", "--bundle", "main", "--base-url",
      Site.base,
      "--now")
    #expect(published.exitCode == 0, "\(published.errors) \(film)")
    let path = Site.path(of: try site.entry("film.bin"))
    try site.stop()
    site.options = options
    try site.start()
    #expect(try curl(site, path, "-o", "whole").exitCode == 0)
    #expect(try DurableFile.read(site.scratch.path + "/whole") == bytes)
    #expect(try curl(site, path, "-r", "1000001-15000000", "-o", "part").exitCode == 0)
    #expect(try DurableFile.read(site.scratch.path + "/part") == Array(bytes[1_000_001...15_000_000]))

    let large = (0..<5).flatMap { _ in bytes }
    let file = try site.scratch.write("large", large)
    let md5 = Base64.encode(try #require(Hex.decode(MD5.of(large).hex, count: 16)))
    let sent = try curl(
      site, "/api/v1/blobs/\(SHA256.of(large).hex)", "-T", file, "-H", "Content-MD5: \(md5)", "-H",
      "Authorization: Bearer \(site.token)", "-w", "%{http_code}")
    #expect(
      sent.output.hasSuffix("201") || sent.output.hasSuffix("200") || sent.output.hasSuffix("204"),
      "\(sent.output) \(sent.errors)")
    try site.stop()
  }

  @Test(
    "Login, publish, status, pull, mirror and rollback by https with --cacert; without it, the reason of the failure"
  )
  func allCommands() throws {
    try Site.with(options) { site throws in
      let home = try Scratch()
      let url = "https://localhost:\(site.port)"
      func run(_ words: String..., cacert: Bool = true) throws -> Outcome {
        let environment = ["PATH": "/usr/bin:/bin", "HOME": home.path, "XCACHE_APP": "shop"]
        let more = cacert ? ["--cacert", files.certificate] : []
        return try Outcome(try Child([Binary.path] + words + more, environment: environment, in: home.path))
      }
      let token = "\(site.data)/admin.token"
      let refused = try run("login", url, "--token-file", token, cacert: false)
      #expect(refused.exitCode == 1)
      #expect(
        refused.errors.contains(
          "no secure connection to localhost: its certificate is not signed by a trusted issuer"),
        "\(refused.errors)")
      // Followed by OpenSSL's message.
      #expect(refused.errors.contains("--cacert ("), "\(refused.errors)")
      #expect(try run("login", url, "--token-file", token).exitCode == 0)
      try home.folder("dist", ["a.js": "1", "b.js": "22"])
      for words in [
        ["publish", "--create", "dist", "--bundle", "main", "--base-url", Site.base, "--now"], ["status"],
        ["log"],
        ["channel", "list"], ["mirror", "--to", "www"], ["mirror", "verify", "www"], ["audit", "verify"],
        ["pull", "--to", "phone", "--tree", Site.base],
      ] {
        // login saves the path of the certificates, too.
        let outcome = try Outcome(
          try Child(
            [Binary.path] + words,
            environment: ["PATH": "/usr/bin:/bin", "HOME": home.path, "XCACHE_APP": "shop"], in: home.path))
        #expect(outcome.exitCode == 0, "\(words): \(outcome.errors)")
      }
      #expect(
        try Scratch.contents(home.path + "/phone/tree").texts.values.sorted() == ["1", "22"])
      // By http, at the TLS port.
      let plain = try run("status", "--server", "http://localhost:\(site.port)")
      #expect(plain.exitCode == 1 && plain.errors.contains("use https://"), "\(plain.errors)")
    }
  }

  @Test("A certificate for another name is reported as such") func otherName() throws {
    let named = try certificates.make("named", hosts: ["shop.test"])
    try Site.with(["--tls-cert", named.certificate, "--tls-key", named.key]) { site throws in
      let outcome = try Outcome(
        try Child(
          [
            Binary.path, "status", "--app", "shop", "--cacert", named.certificate, "--server",
            "https://localhost:\(site.port)",
          ], environment: ["PATH": "/usr/bin:/bin"], in: site.scratch.path))
      #expect(
        outcome.exitCode == 1 && outcome.errors.contains("its certificate is for another name"),
        "\(outcome.errors)")
    }
  }

  @Test("Plain HTTP at a TLS port is answered with a message to use https")
  func plainHTTP() throws {
    try Site.with(options) { site throws in
      let answer = try site.web.ask("/healthz")
      #expect(answer.status == 400 && answer.text.contains("https://"))
    }
  }

  @Test(
    "SIGHUP loads a new certificate without a refused connection; an invalid one is logged and changes nothing"
  )
  func reload() throws {
    try Site.with(options) { site throws in
      let next = try certificates.make("next", hosts: ["localhost"])
      let rounds = Locked((done: 0, failures: [String](), isOver: false))
      let threads = try (0..<2).map { number in
        try OSThread(name: "client-\(number)") { [port = site.port] in
          while !rounds.withLock({ $0.isOver }) {
            let failure = TLSTests.ask(port)
            rounds.withLock { rounds in
              rounds.done += 1
              if let failure { rounds.failures.append(failure) }
            }
          }
        }
      }
      func done() -> Int { rounds.withLock { $0.done } }
      func waitForMore(_ count: Int) {
        let before = done()
        #expect(Wait.until(60) { done() >= before + count })
      }
      waitForMore(20)
      // Only half of the change: the certificate is new, its key isn't.
      #expect(rename(next.certificate, files.certificate) == 0)
      site.server.signal(SIGHUP)
      #expect(
        Wait.until(20) {
          site.server.standardError.contains("error: the old certificate (for localhost, shop.test, until ")
        })
      waitForMore(20)
      #expect(rename(next.key, files.key) == 0)
      site.server.signal(SIGHUP)
      #expect(
        Wait.until(20) { site.server.standardError.contains("serving the certificate for localhost, until ") }
      )
      waitForMore(20)
      for _ in 0..<50 { site.server.signal(SIGHUP) }
      waitForMore(50)
      rounds.withLock { $0.isOver = true }
      for thread in threads { thread.join() }
      let failures = rounds.withLock { $0.failures }
      #expect(failures == [])
      #expect(try curl(site, "/healthz").exitCode == 0)
    }
  }

  /// A connection with one request; returns the failure, or nil.
  private static func ask(_ port: UInt16) -> String? {
    guard let socket = try? WebSocket(port) else { return "no connection" }
    let peer = TLSPeer(socket.descriptor)
    guard peer.handshake() == .done else { return "no handshake" }
    guard case .bytes = peer.send(Array("GET /healthz HTTP/1.0\r\n\r\n".utf8)) else { return "nothing sent" }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    guard case .bytes(let count) = peer.receive(into: &buffer) else { return "no answer" }
    let text = String(decoding: buffer[..<count], as: UTF8.self)
    return text.hasPrefix("HTTP/1.1 200 ") ? nil : text
  }

  @Test("An invalid certificate ends the start with a message")
  func refusals() throws {
    let other = try certificates.make("other")
    let scratch = try Scratch()
    for (words, exitCode, message) in [
      (["--tls-cert", files.certificate], 2, "--tls-cert needs --tls-key FILE"),
      (["--tls-key", files.key], 2, "--tls-key needs --tls-cert FILE"),
      (["--tls-cert", files.certificate, "--tls-key", other.key], 2, "doesn't match the certificate in"),
      (["--tls-cert", "/nowhere.pem", "--tls-key", files.key], 1, "/nowhere.pem: No such file or directory"),
      (["--tls-cert", files.key, "--tls-key", files.key], 2, "contains no PEM certificate"),
    ] as [([String], Int32, String)] {
      let child = try Child(
        [Binary.path, "serve", "--data", scratch.path + "/data", "--listen", "127.0.0.1:0"] + words,
        environment: [:],
        in: scratch.path)
      #expect(try child.wait(seconds: 20) == exitCode, "\(words)")
      #expect(child.standardError.contains(message), "\(child.standardError)")
    }
    #expect(chmod(files.key, 0o644) == 0)
    try Site.with(options) { site throws in
      #expect(
        site.server.standardError.contains(
          "warning: other users of this machine can read the key \(files.key)"))
    }
  }
}
