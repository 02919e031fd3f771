import Testing
import Values

@testable import xcache

@Suite("Content-Security-Policies and the worker")
struct ContentPolicyTests {
  private static let refuses = "to connect-src: "

  @Test(
    "A worker's policy has to allow what it downloads from",
    arguments: [
      ("img-src 'none'", true), ("default-src 'self'", false), ("connect-src *", true),
      ("connect-src https:", true),
      ("default-src 'none'; connect-src 'self' https://o.test; script-src 'self'", true),
      ("connect-src o.test", true), ("connect-src O.TEST:443", true), ("connect-src o.test:8443", false),
      ("connect-src o.test:*", true), ("connect-src http://o.test", true),
      ("connect-src wss://o.test", false),
      ("connect-src *.o.test", false), ("connect-src *.test", true), ("connect-src 'none'", false),
      ("connect-src https://o.test/base/", true), ("connect-src https://o.test/other/", false),
      ("connect-src 'self' https://m.test", false),
    ])
  func downloads(_ policy: String, _ allows: Bool) throws {
    let advice = ContentPolicy(policy).advice(
      forWorkerOf: try ResourceURL("https://m.test/xcache-sw.js"),
      downloadingFrom: [try BaseURL("https://o.test/base")])
    #expect(advice.contains { $0.contains(Self.refuses) } == !allows, "\(advice)")
  }

  @Test("Each URL that is refused is named, and the site's own needs 'self'")
  func names() throws {
    let advice = ContentPolicy("default-src 'self'; script-src 'none'").advice(
      forWorkerOf: try ResourceURL("http://127.0.0.1:5000/xcache-sw.js"),
      downloadingFrom: [try BaseURL("http://127.0.0.1:5000/x"), try BaseURL("http://127.0.0.1:8080")])
    #expect(
      advice == [
        "add http://127.0.0.1:8080 to connect-src: default-src refuses what the worker downloads",
        "add 'self' to script-src, which refuses xcache-sw-packs.js",
      ])
  }

  @Test("A header may have several policies, and each counts")
  func several() {
    let policies = ContentPolicy.policies(of: "default-src *, script-src 'none'")
    #expect(policies.flatMap { $0.advice() }.count == 2)
  }
}
