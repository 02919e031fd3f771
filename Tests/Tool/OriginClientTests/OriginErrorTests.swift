import HTTPClient
import Manifests
import OriginAPI
import OriginClient
import System
import Testing

/// The message for each kind of error, and its exit code.
@Suite struct OriginErrorTests {
  private static let problem = Problem(status: 422, title: "No", code: "other", detail: "the name is taken")

  /// The error, its message, and whether it is temporary.
  private static let cases: [(error: OriginError, message: String, isOutage: Bool)] = [
    (
      .unreachable(server: "https://o.example", .couldNotConnect(host: "o.example", port: 443)),
      "https://o.example can't be reached: nothing answers at o.example port 443; make sure 'xcache serve' is "
        + "running there, or give another server with --server or XCACHE_SERVER", true
    ),
    (
      .unreachable(server: "http://o.example", .reset(host: "o.example", port: 80)),
      "http://o.example can't be reached: it closed the connection; if it uses TLS, use https:// in the address",
      true
    ),
    (
      .unreachable(server: "https://o.example", .reset(host: "o.example", port: 443)),
      "https://o.example can't be reached: o.example port 443 closed the connection", true
    ),
    (
      .unreachable(server: "https://o.example", .couldNotResolve(host: "o.example")),
      "https://o.example can't be reached: no host named o.example", true
    ),
    (
      .notAnOrigin(server: "https://o.example", found: "an answer that isn't JSON"),
      "https://o.example doesn't answer like an xcache origin: an answer that isn't JSON", false
    ),
    (
      .notAnOrigin(server: "https://o.example", found: "status 502 without a reason", status: 502),
      "https://o.example doesn't answer like an xcache origin: status 502 without a reason", true
    ),
    (
      .unknownOutcome(server: "https://o.example", .status(503, retryAfter: nil)),
      "https://o.example gave no answer (status 503), but may have made the change: check `xcache log` and "
        + "`xcache audit log` before you retry", true
    ),
    (.refused(problem), "the name is taken", false),
    (
      .body(SystemError("read", on: "a.zip", code: .ioError)),
      "the data to send can't be read: a.zip: Input/output error (read)", false
    ),
  ]

  @Test(arguments: cases.indices) func words(index: Int) {
    let (error, message, isOutage) = Self.cases[index]
    #expect(error.message == message)
    #expect(error.isOutage == isOutage && error.exitCode == 1)
  }

  /// The answers of origin 0.2.0 to unknown requests.
  @Test func olderOriginIsNamed() {
    let create = Problem(
      status: 400, title: "Bad Request", code: "bad-request",
      detail: "\"create\" is not a member of this request; nothing was done; leave it out")
    let error = OriginError.refused(create)
    #expect(error.exitCode == 3 && error.message.contains("Nothing was released. To create it, add --create"))
    let path = Problem(
      status: 404, title: "Not Found", code: "not-found", detail: "the API has no such path")
    #expect(OriginError.refused(path).message.contains("the origin's xcache is too old for this"))
  }

  /// 3: the origin understood the request and refuses it; only another release can succeed.
  @Test(
    arguments: [
      (409, "version", 3), (409, "url-conflict", 3), (422, "foreign-hosts", 3), (400, "foreign-hosts", 3),
      (422, "name", 1), (403, "scope", 1), (404, "unknown-app", 1), (500, "internal", 1), (503, "busy", 1),
    ] as [(Int, String, Int32)])
  func exitCodes(status: Int, code: String, exitCode: Int32) {
    let error = OriginError.refused(Problem(status: status, title: "T", code: code, detail: nil))
    #expect(error.exitCode == exitCode && error.isOutage == (status >= 500))
    #expect(error.problem?.code == code)
  }
}
