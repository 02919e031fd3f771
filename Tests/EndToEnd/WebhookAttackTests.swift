import Glibc
import System
import Testing
import TestSupport
import TLSPeer
import Values

/// Hostile and slow receivers.
@Suite("Webhooks under attack") struct WebhookAttackTests {
  private typealias Receiver = WebhookTests.Receiver

  private func freeze(_ site: Site, _ reason: String) throws {
    let answer = try site.api("POST", "apps/shop/channels/online/freeze", ["reason": .string(reason)])
    try #require(answer.status < 300, "\(answer.json)")
  }

  private func show(_ site: Site, _ id: String) throws -> JSONValue {
    try site.api("GET", "webhooks/\(id)").json
  }

  /// Whatever the answer, an attempt ends in 10 s, takes no memory, and doesn't delay other webhooks.
  @Test("No answer takes memory, a descriptor, or more than the time limit")
  func answers() throws {
    let receiver = try Receiver()
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let modes: [(name: String, isDelivered: Bool, says: String)] = [
        ("endless-body", true, ""), ("bomb", true, ""), ("dripping-body", true, ""),
        ("endless-head", false, ""), ("endless-line", false, ""), ("endless-1xx", false, ""),
        ("dripping-head", false, "took too long"), ("no-http", false, ""), ("nothing", false, ""),
      ]
      var ids: [String: String] = [:]
      for mode in modes {
        try receiver.answer("/\(mode.name)", mode.name)
        ids[mode.name] = try receiver.add(site, "/\(mode.name)", ["--events", "freeze"])
      }
      _ = try receiver.add(site, "/good", ["--events", "freeze"])
      let before = site.server.peakMemory
      try freeze(site, "one")
      _ = try receiver.wait("/good", 1, seconds: 60)
      for mode in modes {
        let id = ids[mode.name] ?? ""
        let isOver = try Wait.until(90) { try show(site, id)["last"]?["triedAt"]?.string != nil }
        let last = try show(site, id)["last"]
        #expect(
          isOver && (last?["state"]?.string == "delivered") == mode.isDelivered,
          "\(mode.name): \(last ?? .null)")
        #expect(
          mode.says.isEmpty || last?["error"]?.string?.contains(mode.says) == true,
          "\(mode.name): \(last ?? .null)")
      }
      let grown = site.server.peakMemory - before
      #expect(Privileges.hasSanitizer || grown < 40 << 20, "\(grown)")
      try receiver.stop()
    }
  }

  @Test(
    "A thousand messages for a receiver that hangs delay neither acts, nor other webhooks, nor the shutdown")
  func manyWait() throws {
    let receiver = try Receiver()
    try Site.with { site in
      try site.publish(["a.js": "1"])
      try receiver.answer("/hang", "hang")
      let hanging = try receiver.add(site, "/hang", ["--events", "freeze,kill"])
      let other = try receiver.add(site, "/other", ["--events", "kill"])
      for number in 1...1000 { try freeze(site, "\(number)") }
      #expect(try show(site, hanging)["waiting"]?.integer == 1000)
      let start = Clock.monotonicNanoseconds()
      let kill = try site.run("policy", "kill", "--app", "shop")
      #expect(kill.exitCode == 0 && Clock.monotonicNanoseconds() - start < 15_000_000_000, "\(kill.errors)")
      _ = try receiver.wait("/other", 1)
      let stop = Clock.monotonicNanoseconds()
      site.server.signal(SIGTERM)
      #expect(try site.server.wait(seconds: 15) == 0)
      #expect(Clock.monotonicNanoseconds() - stop < 8_000_000_000)
      try site.start()
      #expect(try show(site, hanging)["waiting"]?.integer == 1001)
      // It is removed during a delivery.
      #expect(try Wait.until(30) { try receiver.log("/hang").count >= 2 })
      #expect(try site.run("webhook", "remove", hanging).exitCode == 0)
      try receiver.answer("/hang", "200")
      try freeze(site, "last")
      #expect(
        try site.api("GET", "webhooks").json["webhooks"]?.array?.compactMap { $0["id"]?.string } == [other])
      try receiver.stop()
    }
  }

  @Test("A receiver with a private certificate is trusted by its own webhook only")
  func privateCertificates() throws {
    let certificates = try Certificates()
    let pair = try certificates.make("hooks", hosts: ["localhost"])
    let stranger = try certificates.make("stranger")
    let receiver = try Receiver(certificate: pair.certificate, key: pair.key)
    try Site.with { site in
      func test(_ more: String...) throws -> Outcome {
        let url = "https://localhost:\(receiver.port)/hook"
        let words = ["webhook", "add", url, "--allow-private", "--json"] + more
        let made = try Outcome(try site.start(words))
        let id = try JSONValue.parse(Array(made.output.utf8))["webhook"]?["id"]?.string
        return try site.run("webhook", "test", try #require(id, "\(made.errors)"))
      }
      let without = try test()
      #expect(without.exitCode == 1 && without.errors.contains("--ca"), "\(without.errors)")
      #expect(!without.errors.contains("--cacert"), "\(without.errors)")
      #expect(try test("--ca", stranger.certificate).exitCode == 1)
      let trusted = try test("--ca", pair.certificate)
      #expect(trusted.exitCode == 0, "\(trusted.errors)")
      #expect(try site.run("webhook", "list", "--json").output.contains(#""hasCA":true"#))
      for (file, says) in [
        (pair.key, "contains no PEM certificate"), ("/etc/hostname", "contains no PEM certificate"),
      ] {
        let refused = try site.run("webhook", "add", "https://x.example.com", "--ca", file)
        #expect(refused.exitCode == 1 && refused.errors.contains(says), "\(refused.errors)")
      }
      let both = try DurableFile.read(pair.certificate).map { String(decoding: $0, as: UTF8.self) } ?? ""
      let key = try DurableFile.read(pair.key).map { String(decoding: $0, as: UTF8.self) } ?? ""
      for (text, says) in [
        (both + key, "private key"), ("-----BEGIN CERTIFICATE-----\nAAAA", "PEM form"), ("", "PEM form"),
      ] {
        let answer = try site.api("POST", "webhooks", ["url": "https://x.example.com", "ca": .string(text)])
        #expect(
          answer.status == 400 && answer.json["detail"]?.string?.contains(says) == true, "\(answer.json)")
      }
      try receiver.stop()
    }
  }

  @Test("A webhook's URL, which may contain a secret, is in no log and in no request")
  func logs() throws {
    let receiver = try Receiver()
    let folder = try Scratch()
    try Site.with(["--access-log", folder.path + "/access.log"]) { site in
      try site.publish(["a.js": "1"])
      _ = try receiver.add(site, "/secret-path")
      let url = "http://127.0.0.1:\(receiver.port)/secret-path"
      for act in ["show", "test", "deliveries", "remove"] {
        let outcome = try site.run("webhook", act, url)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
      }
      let gone = try site.run("webhook", "show", url)
      #expect(gone.exitCode == 1 && gone.errors.contains("xcache webhook list"), "\(gone.errors)")
      var log = ""
      // It is written with a short delay.
      let isWritten = try Wait.until(20) {
        log = String(decoding: try DurableFile.read(folder.path + "/access.log") ?? [], as: UTF8.self)
        return log.contains("DELETE /api/v1/webhooks/")
      }
      #expect(isWritten && !log.contains("secret-path"), "\(log)")
      #expect(!site.server.standardError.contains("secret-path"))
      try receiver.stop()
    }
  }

  @Test("With --console-url, messages link to the console") func console() throws {
    let receiver = try Receiver()
    try Site.with(["--console-url", "https://xcache.example.com/console/"]) { site in
      _ = try receiver.add(site, "/hook")
      try site.publish(["a.js": "1"])
      let link = try receiver.wait("/hook", 1)[0]["body"]?["data"]?["console"]?.string
      #expect(link == "https://xcache.example.com/console/#/release/shop/online/1")
      try receiver.stop()
    }
  }
}
