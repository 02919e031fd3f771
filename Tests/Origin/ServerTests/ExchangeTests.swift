import HTTP
import Linux
import Server
import Testing

@Suite struct ExchangeTests {
  private static let h = "Host: h\r\n"

  /// A request, the status it gets, and whether the server closes after it.
  static let exchanges: [(String, Int, Bool)] = [
    ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 200, false),
    ("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 200, true),
    ("GET / HTTP/1.0\r\n\r\n", 200, true),
    ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, false),
    ("GET /bye HTTP/1.1\r\nHost: h\r\n\r\n", 200, true),
    ("GET /empty HTTP/1.1\r\nHost: h\r\n\r\n", 204, false),
    ("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 200, false),
    ("FROB / HTTP/1.1\r\nHost: h\r\n\r\n", 501, true),
    ("GET / HTTP/1.1\r\n\r\n", 400, true),
    ("GET / HTTP/2.0\r\n\r\n", 505, true),
    ("GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n", 400, true),
    ("GET /" + String(repeating: "a", count: 9_000) + " HTTP/1.1\r\nHost: h\r\n\r\n", 414, true),
    ("GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 17_000) + "\r\n\r\n", 431, true),
    ("POST /collect HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501, true),
    ("POST /collect HTTP/1.1\r\nHost: h\r\nExpect: miracles\r\n\r\n", 417, true),
    ("POST /collect HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n", 413, true),
    ("POST /collect HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", 200, false),
    ("POST /collect HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", 200, false),
    ("POST /collect HTTP/1.1\r\nHost: h\r\n\r\n", 200, false),
    (
      "POST /collect HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", 200,
      false
    ),
    ("POST /collect HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400, true),
    (
      "POST /collect HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n"
        + String(repeating: "a", count: 101) + "\r\n0\r\n\r\n", 413, true
    ),
    // A body without a reader: a small one is skipped, a large one closes the connection.
    ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", 200, false),
    ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", 200, false),
    ("POST /later HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello", 200, false),
    ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nhello", 200, true),
    ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", 200, true),
  ]

  @Test(arguments: exchanges) func answers(_ request: String, _ status: Int, _ closes: Bool) throws {
    let server = try TestServer()
    let client = server.client()
    client.send(request)
    let answer = try #require(client.answer())
    #expect(answer.status == status)
    #expect(answer.closes == closes)
    #expect(answer["date"]?.hasSuffix(" GMT") == true)
    if closes {
      #expect(client.isClosedByServer())
    } else {
      client.send("GET /again HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(client.answer()?.text == "/again")
    }
  }

  @Test(arguments: exchanges.filter { !$0.2 }) func byteByByte(
    _ request: String, _ status: Int, _ closes: Bool
  ) throws {
    let server = try TestServer()
    let client = server.client()
    for byte in request.utf8 { client.send([byte]) }
    #expect(client.answer()?.status == status)
    client.send("GET /again HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.answer()?.text == "/again")
  }

  @Test func pathsAreNormalisedBeforeTheHandler() throws {
    let server = try TestServer()
    let client = server.client()
    client.send("GET /a/%2e%2e/%7eb/https%253A%252F?x=%2e%2e HTTP/1.1\r\n\(Self.h)\r\n")
    #expect(client.answer()?.text == "/~b/https%253A%252F?x=%2e%2e")
  }

  @Test(arguments: ["/", "/large", "/file", "/later?x", "/empty", "/pieces"])
  func headEqualsGetWithoutTheBody(_ path: String) throws {
    let server = try TestServer()
    let client = server.client()
    client.send("GET \(path) HTTP/1.1\r\n\(Self.h)\r\n")
    let whole = try #require(client.answer())
    client.send("HEAD \(path) HTTP/1.1\r\n\(Self.h)\r\nGET /next HTTP/1.1\r\n\(Self.h)\r\n")
    let head = try #require(client.answer(toHead: true))
    let names = { (answer: TestAnswer) in answer.fields.filter { $0.name != "date" }.map { "\($0)" } }
    #expect(names(whole) == names(head) && whole.status == head.status)
    #expect(client.answer()?.text == "/next")
  }

  @Test func bodiesOfEveryKindArriveWhole() throws {
    let server = try TestServer()
    let client = server.client()
    for path in ["/large", "/file", "/pieces"] { client.send("GET \(path) HTTP/1.1\r\n\(Self.h)\r\n") }
    let large = TestHandler.pattern(1_000_000)
    #expect(client.answer()?.body == large)
    #expect(client.answer()?.body == TestHandler.pattern(3_000_000))
    #expect(client.answer()?.body == [0x61] + large + [0x7A])
  }

  @Test func rangesOfAFile() throws {
    let server = try TestServer()
    let client = server.client()
    let pattern = TestHandler.pattern(3_000_000)
    client.send("GET /file HTTP/1.1\r\n\(Self.h)Range: bytes=1000-2000999\r\n\r\n")
    let part = try #require(client.answer())
    #expect(part.status == 206 && part.body == [UInt8](pattern[1000..<2_001_000]))
    client.send("GET /file HTTP/1.1\r\n\(Self.h)Range: bytes=0-0,2999999-\r\n\r\n")
    let parts = try #require(client.answer())
    #expect(parts["content-type"]?.hasPrefix("multipart/byteranges") == true)
    #expect(parts.text.contains("Content-Range: bytes 2999999-2999999/3000000"))
  }

  @Test func severalLoopsAnswer() throws {
    let server = try TestServer { $0.loops = 4 }
    let clients = (0..<40).map { _ in server.client() }
    for (index, client) in clients.enumerated() { client.send("GET /\(index) HTTP/1.1\r\n\(Self.h)\r\n") }
    for (index, client) in clients.enumerated() { #expect(client.answer()?.text == "/\(index)") }
  }

  @Test func listensOnIPv6() throws {
    let server = try TestServer("[::1]:0")
    let client = server.client()
    client.send("GET /peer HTTP/1.1\r\n\(Self.h)\r\n")
    #expect(client.answer()?.text == "::1")
    #expect(server.address.description.hasPrefix("[::1]:"))
  }

  @Test func listensOnEveryAddress() throws {
    let server = try TestServer("[::]:0")
    for host in ["127.0.0.1", "[::1]"] {
      let client = TestClient(try #require(SocketAddress("\(host):\(server.address.port)")))
      client.send("GET /peer HTTP/1.1\r\n\(Self.h)\r\n")
      #expect(client.answer()?.text == host.filter { !"[]".contains($0) })
    }
  }

  @Test func trustedProxiesNameTheClient() throws {
    let trusted = try #require(AddressRange("127.0.0.0/8"))
    let server = try TestServer { $0.trustedProxies = [trusted] }
    let client = server.client()
    client.send("GET /peer HTTP/1.1\r\n\(Self.h)X-Forwarded-For: 1.1.1.1, 203.0.113.9\r\n\r\n")
    #expect(client.answer()?.text == "203.0.113.9")
    client.send(
      "GET /peer HTTP/1.1\r\n\(Self.h)X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 203.0.113.8\r\n\r\n")
    #expect(client.answer()?.text == "203.0.113.8")
    client.send(
      "GET /peer HTTP/1.1\r\n\(Self.h)X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-For: 127.0.0.2\r\n\r\n")
    #expect(client.answer()?.text == "203.0.113.7")
    client.send("GET /peer HTTP/1.1\r\n\(Self.h)\r\n")
    #expect(client.answer()?.text == "127.0.0.1")
  }

  @Test func noProxyIsTrustedByDefault() throws {
    let server = try TestServer()
    let client = server.client()
    client.send("GET /peer HTTP/1.1\r\n\(Self.h)X-Forwarded-For: 203.0.113.9\r\n\r\n")
    #expect(client.answer()?.text == "127.0.0.1")
  }

  @Test func requestsPerConnectionAreLimited() throws {
    let server = try TestServer { $0.limits.requestsPerConnection = 3 }
    let client = server.client()
    for _ in 0..<5 { client.send("GET / HTTP/1.1\r\n\(Self.h)\r\n") }
    #expect((0..<3).map { _ in client.answer()?.closes } == [false, false, true])
    #expect(client.answer() == nil && client.isEnded)
  }

  @Test func errorBodiesAreConfigurable() throws {
    let server = try TestServer {
      $0.errorBody = {
        ErrorBody(contentType: "application/json", text: "{\"code\":\($0.code),\"at\":\"\($1 ?? "")\"}")
      }
    }
    let client = server.client()
    client.send("POST /collect HTTP/1.1\r\n\(Self.h)Content-Length: 101\r\n\r\n")
    let answer = try #require(client.answer())
    #expect(
      answer.text == "{\"code\":413,\"at\":\"/collect\"}" && answer["content-type"] == "application/json")
  }
}
