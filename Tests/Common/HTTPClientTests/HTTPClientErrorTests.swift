import HTTP
import SocketServer
import Testing

@testable import HTTPClient

/// The messages for servers that can't be reached or that misbehave.
@Suite struct HTTPClientErrorTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let steps: [SocketServer.Step]
    let words: String
  }

  static func raw(_ text: String) -> SocketServer.Step { .send(Array(text.utf8)) }

  @Test(arguments: [
    Case(testDescription: "closed at once", steps: [.close], words: "closed the connection"),
    Case(testDescription: "reset at once", steps: [.reset], words: "closed the connection"),
    Case(
      testDescription: "body cut short",
      steps: [raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), .close],
      words: "closed the connection in the middle of its answer"),
    Case(
      testDescription: "chunked body cut short",
      steps: [raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal"), .close],
      words: "closed the connection in the middle of its answer"),
    Case(testDescription: "not HTTP", steps: [raw("220 mail ready\r\n"), .close], words: "it isn't HTTP"),
    Case(
      testDescription: "too long", steps: .answer(body: [UInt8](repeating: 0, count: 101)),
      words: "the answer is longer than 100 bytes"),
    Case(
      testDescription: "never answers", steps: [.sleep(milliseconds: 3000), .close],
      words: "took too long to answer"),
    Case(
      testDescription: "redirect to a file", steps: .answer(302, [("Location", "file:///etc/passwd")]),
      words: "a redirect that isn't followed"),
    Case(
      testDescription: "redirects for ever", steps: .answer(302, [("Location", "/")]),
      words: "a redirect that"),
  ])
  func misbehavingServers(_ item: Case) throws {
    let server = SocketServer { _ in item.steps }
    let request = HTTPRequest("GET", server.url, timeouts: HTTPTimeouts(stallSeconds: 1), redirects: 3)
    let words = try #require(failure(of: request))
    #expect(words.contains(item.words), "\(words)")
    // A misbehavingServers exchange leaves nothing behind that the next one could read.
    let good = SocketServer { _ in .answer(body: [1]) }
    #expect(try client.send(HTTPRequest("GET", good.url)).body == [1])
  }

  @Test func closedPorts() throws {
    let port = SocketServer { _ in [] }.port
    #expect(
      failure(of: HTTPRequest("GET", "http://127.0.0.1:\(port)/"))
        == "nothing answers at 127.0.0.1 port \(port)")
  }

  @Test func unknownHosts() {
    #expect(
      failure(of: HTTPRequest("GET", "http://no-such-host.invalid/"))
        == "no host named no-such-host.invalid")
  }

  @Test func serversWithoutTLS() throws {
    let server = SocketServer { _ in [] }
    let words = failure(
      of: HTTPRequest(
        "GET", "https://127.0.0.1:\(server.port)/", timeouts: HTTPTimeouts(connectMilliseconds: 1000)))
    #expect(words != nil)
  }

  /// What to do about a private issuer depends on who asks: a command has an option, a server may have none.
  @Test func unknownIssuers() {
    let error = HTTPClientError.tls(host: "h", reason: "unable to get local issuer certificate")
    #expect(error.description.contains("if it is a private one, give its issuer's file with --cacert ("))
    #expect(
      error.description(authorities: nil).contains(
        "if it is a private one, add its issuer to the system's certificates (update-ca-certificates) ("))
  }

  @Test(arguments: [
    "file:///etc/passwd", "ftp://h/", "/relative", "h/x", "", "http://", "http://user:pw@h/",
    "http://h:99999/", "http://h/\0",
  ])
  func invalidURLsAreRefused(_ url: String) {
    #expect(failure(of: HTTPRequest("GET", url))?.contains("is not an http or https URL") == true)
  }

  @Test(
    arguments: [
      [("X", "a\r\nHost: evil")], [("X\n", "a")], [("A:B", "c")], [("", "")],
    ] as [HTTPFields])
  func invalidFieldsAreRefused(_ fields: HTTPFields) {
    let words = failure(of: HTTPRequest("GET", "http://127.0.0.1/", fields: fields))
    #expect(words?.contains("control character") == true)
  }

  @Test func requestBodiesThatEndEarly() throws {
    let server = SocketServer { _ in .answer() }
    let body = HTTPBody.stream(length: 10) { offset, buffer in
      guard offset < 4 else { return 0 }
      buffer[0] = 1
      return 1
    }
    #expect(
      failure(of: HTTPRequest("PUT", server.url, body: body)) == "the request body ended early, at 4")
  }

  @Test func errorsOfCallbacksAreRethrown() throws {
    struct Mine: Error {}
    let server = SocketServer { _ in .answer(body: [1]) }
    let body = HTTPBody.stream(length: 10) { _, _ in throw Mine() }
    #expect(failure(of: HTTPRequest("PUT", server.url, body: body)) == "Mine()")
    #expect(
      failure(of: HTTPRequest("GET", server.url), into: .stream(limit: 9) { _ in throw Mine() }) == "Mine()")
  }

  let client = HTTPClient()

  func failure(of request: HTTPRequest, into sink: HTTPSink = .memory(limit: 100)) -> String? {
    do {
      _ = try client.send(request, into: sink)
      return nil
    } catch {
      return "\(error)"
    }
  }
}
