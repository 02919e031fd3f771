import HTTP
import Linux
import Testing

/// The connection state machine, without a socket and with a mock clock.
@Suite struct ConnectionTests {
  /// Events, and what the connection does after each until it waits.
  typealias Exchange = [(event: ConnectionEvent, done: String)]

  private static func get(_ path: String, _ field: String = "Host: h") -> String {
    "GET \(path) HTTP/1.1\r\n\(field == "Host: h" ? "" : "Host: h\r\n")\(field)\r\n\r\n"
  }

  private static func post(_ path: String, _ framing: String, _ body: String = "") -> String {
    "POST \(path) HTTP/1.1\r\nHost: h\r\n\(framing)\r\n\r\n\(body)"
  }

  private func expect(
    _ exchange: Exchange, _ rules: ConnectionRules = ConnectionRules(),
    _ location: SourceLocation = #_sourceLocation
  ) {
    var driver = ConnectionDriver(rules)
    var before = 0
    for (event, done) in exchange {
      driver.handle(event)
      let now = driver.done[before...].joined(separator: ", ")
      #expect(now == done, "after \(event)", sourceLocation: location)
      before = driver.done.count
    }
  }

  // MARK: Pipelining

  static let pipelines: [Exchange] = [
    [(.sends(get("/1")), "GET /1, send 10, wait 75")],
    [(.sends(get("/1") + get("/2")), "GET /1, GET /2, send 20, wait 75")],
    // An incomplete head doesn't delay answers.
    [
      (.sends(get("/1") + "GET /2 HT"), "GET /1, send 10, wait 15"),
      (.sends("TP/1.1\r\nHost: h\r\n\r\n"), "GET /2, send 10, wait 75"),
    ],
    // A worker's answer keeps its place, and nothing is read while it is busy.
    [
      (.sends(get("/1") + get("/later") + get("/2")), "GET /1, GET /later, send 10, wait"),
      (.sends(get("/3")), "wait"),
      (.answers, "answer, GET /2, send 20, GET /3, send 10, wait 75"),
    ],
    // Large answers are sent before the next request is read.
    [(.sends(get("/large") + get("/2")), "GET /large, send 100000, GET /2, send 10, wait 75")],
    // A client that doesn't read isn't read from.
    [
      (.hasRoom(70_000), "wait 75"),
      (.sends(get("/large") + get("/2")), "GET /large, send 70000, wait 60"),
      (.sends(get("/3")), "wait 60"),
      (.hasRoom(10_000), "send 10000, wait 60"),
      (.hasRoom(30_000), "send 20000, GET /2, send 10, GET /3, send 10, wait 75"),
    ],
    [
      (
        .sends(post("/1", "Content-Length: 5", "hello") + get("/2")),
        "POST /1, send 10, GET /2, send 10, wait 75"
      )
    ],
    [
      (
        .sends(post("/1", "Transfer-Encoding: chunked", "2\r\nhi\r\n0\r\n\r\n") + get("/2")),
        "POST /1, send 10, GET /2, send 10, wait 75"
      )
    ],
    // A body in two pieces; the rest of the second belongs to the next request.
    [
      (.sends(post("/1", "Content-Length: 5", "he")), "POST /1, send 10, wait 30"),
      (.passes(10), "wait 30"),
      (.sends("llo" + get("/2")), "GET /2, send 10, wait 85"),
    ],
    // The worker answers before the body has been discarded.
    [
      (.sends(post("/later", "Content-Length: 5", "he")), "POST /later, wait"),
      (.answers, "answer, send 10, wait 30"), (.sends("llo"), "wait 75"),
    ],
    // Empty lines before a request are ignored, and don't extend timeouts.
    [
      (.passes(50), "wait 75"), (.sends("\r\n\r\n"), "wait 75"),
      (.sends(get("/1")), "GET /1, send 10, wait 125"),
    ],
    [(.sends("\r"), "wait 15"), (.passes(10), "wait 15"), (.sends("\n"), "wait 85")],
    // A half-closed client gets its answers, if they don't take long.
    [
      (.sends(get("/1") + get("/later")), "GET /1, GET /later, send 10, wait"), (.ends, "wait 2"),
      (.answers, "answer, send 10, close"),
    ],
    [
      (.sends(get("/later")), "GET /later, wait"), (.ends, "wait 2"), (.passes(1), "wait 2"),
      (.passes(1), "close"),
    ],
    [(.sends("GET /half"), "wait 15"), (.ends, "close")],
    [(.ends, "close")],
  ]

  @Test(arguments: pipelines) func pipelining(_ exchange: Exchange) { expect(exchange) }

  /// The same requests are read, however the input is divided.
  @Test(arguments: [1, 2, 3, 7, 50, 1_000_000]) func requestsDoNotDependOnHowInputIsDivided(_ size: Int) {
    var input = ""
    var wanted: [String] = []
    for index in 0..<40 {
      switch index % 4 {
      case 0:
        input += "\r\n" + Self.get("/\(index)")
        wanted.append("GET /\(index)")
      case 1:
        input += Self.post("/\(index)", "Transfer-Encoding: chunked", "3;a=b\r\nabc\r\n0\r\nT: x\r\n\r\n")
        wanted.append("POST /\(index)")
      case 2:
        input += Self.post("/\(index)", "Content-Length: 4", "body")
        wanted.append("POST /\(index)")
      default:
        input += Self.get("/large")
        wanted.append("GET /large")
      }
    }
    var driver = ConnectionDriver()
    var rest = Substring(input)
    while !rest.isEmpty {
      let piece = String(decoding: Array(rest.utf8.prefix(size)), as: UTF8.self)
      driver.handle(.sends(piece))
      rest = Substring(String(decoding: Array(rest.utf8.dropFirst(size)), as: UTF8.self))
    }
    #expect(driver.done.filter { !$0.hasPrefix("send") && !$0.hasPrefix("wait") } == wanted)
    #expect(driver.done.last == "wait 75" && driver.connection.unsent == 0)
  }

  // MARK: Keep-alive

  static let ends: [(request: String, done: String)] = [
    ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET /, send 10, wait 75"),
    ("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET / (last), send 10, close"),
    ("GET / HTTP/1.0\r\n\r\n", "GET / (last), send 10, close"),
    ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET / (kept), send 10, wait 75"),
    // The server decides to close: the client may be sending more.
    ("GET /bye HTTP/1.1\r\nHost: h\r\n\r\n", "GET /bye (last), send 10, shut, wait 2"),
    ("nonsense\r\n\r\n", "refuse 400 (last), send 10, shut, wait 2"),
    ("GET / HTTP/2.0\r\n\r\n", "refuse 505 (last), send 10, shut, wait 2"),
    // A client that sends on after `Connection: close`.
    (
      "GET /1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\n",
      "GET /1 (last), send 10, shut, wait 2"
    ),
    // A body that is too long to discard, or that waits for 100 (Continue).
    (
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nhello",
      "POST / (last), send 10, shut, wait 2"
    ),
    (
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
      "POST / (last), send 10, shut, wait 2"
    ),
    (
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "POST /, send 10, shut, wait 2"
    ),
  ]

  @Test(arguments: ends) func persistence(_ request: String, _ done: String) {
    expect([(.sends(request), done)])
  }

  @Test func requestsAreLimited() {
    expect(
      [
        (
          .sends(Self.get("/1") + Self.get("/2") + Self.get("/3")),
          "GET /1, GET /2 (last), send 20, shut, wait 2"
        )
      ], ConnectionRules(requests: 2))
    // The client doesn't know that this was the last request: it may be sending the next one.
    expect(
      [(.sends(Self.get("/1")), "GET /1 (last), send 10, shut, wait 2"), (.ends, "close")],
      ConnectionRules(requests: 1))
  }

  @Test func discardedChunkedBodiesAreLimited() {
    let chunk = "3e80\r\n\(String(repeating: "x", count: 16_000))\r\n"
    let head = Self.post("/1", "Transfer-Encoding: chunked")
    expect([
      (.sends(head + chunk + chunk), "POST /1, send 10, wait 30"), (.sends("0\r\n\r\n"), "wait 75"),
    ])
    expect([
      (.sends(head + chunk + chunk), "POST /1, send 10, wait 30"),
      (.sends(chunk + chunk + chunk), "shut, wait 2"), (.sends(chunk), "wait 2"), (.ends, "close"),
    ])
    // While the answer isn't sent, the body isn't read at all.
    expect([
      (.hasRoom(4), "wait 75"), (.sends(head + chunk), "POST /1, send 4, wait 60"),
      (.floods(500_000), "wait 60"),
      (.hasRoom(6), "send 6, shut, wait 2"),
    ])
  }

  // MARK: Bodies

  static let bodies: [Exchange] = [
    [
      (
        .sends(post("/count", "Content-Length: 4", "body") + get("/2")),
        "POST /count, store 4, deliver last, wait"
      ),
      (.answers, "answer, GET /2, send 20, wait 75"),
    ],
    [
      (.sends(post("/count", "X: y")), "POST /count, deliver last, wait"),
      (.answers, "answer, send 10, wait 75"),
    ],
    [(.sends(post("/count", "Content-Length: 500001")), "POST /count 413 (last), send 10, shut, wait 2")],
    // Bytes that arrive while a worker has a piece are kept for the next piece.
    [
      (.sends(post("/count", "Content-Length: 10", "abc")), "POST /count, store 3, deliver, wait 30"),
      (.sends("de"), "body 2, wait 30"), (.takes, "deliver, wait 30"), (.sends("fghij"), "body 5, wait"),
      (.takes, "deliver last, wait"), (.answers, "answer, send 10, wait 75"),
    ],
    // A worker that is slower than its client: the timeout is suspended, and at most two pieces are read.
    [
      (.sends(post("/count", "Content-Length: 450000")), "POST /count, wait 30"),
      (.floods(450_000), "body 262144, deliver, body 187856, wait"), (.passes(1_000), "wait"),
      (.takes, "deliver last, wait"),
    ],
    [
      (
        .sends(post("/count", "Transfer-Encoding: chunked", "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: x\r\n\r\n")),
        "POST /count, store 3, store 2, deliver last, wait"
      ),
      (.answers, "answer, send 10, wait 75"),
    ],
    [
      (
        .sends(post("/count", "Transfer-Encoding: chunked", "z")),
        "POST /count, abandon 400 (last), send 10, shut, wait 2"
      )
    ],
    // An answer before the end of the body: the rest isn't read.
    [
      (.sends(post("/count", "Content-Length: 10", "abc")), "POST /count, store 3, deliver, wait 30"),
      (.answers, "answer (last), send 10, shut, wait 2"),
    ],
    [
      (.sends(post("/count", "Content-Length: 10", "abc")), "POST /count, store 3, deliver, wait 30"),
      (.ends, "close"),
    ],
    // With `Expect: 100-continue`, 100 is sent when the receiver is ready, and the timeout runs from then on.
    [
      (.sends(post("/count", "Content-Length: 3\r\nExpect: 100-continue")), "POST /count, deliver, wait"),
      (.passes(100), "wait"), (.takes, "continue, send 25, wait 130"),
      (.sends("abc"), "body 3, deliver last, wait"),
      (.answers, "answer, send 10, wait 175"),
    ],
    // Or the request is refused before its body was sent.
    [
      (.sends(post("/count", "Content-Length: 3\r\nExpect: 100-continue")), "POST /count, deliver, wait"),
      (.answers, "answer (last), send 10, shut, wait 2"),
    ],
    // An empty body needs no 100.
    [
      (
        .sends(post("/count", "Content-Length: 0\r\nExpect: 100-continue")), "POST /count, deliver last, wait"
      )
    ],
    // A client that doesn't wait for 100.
    [
      (
        .sends(post("/count", "Transfer-Encoding: chunked\r\nExpect: 100-continue", "1\r\na\r\n0\r\n\r\n")),
        "POST /count, deliver, wait"
      ), (.takes, "continue, send 25, store 1, deliver last, wait"),
    ],
  ]

  @Test(arguments: bodies) func bodiesAreDelivered(_ exchange: Exchange) { expect(exchange) }

  @Test func chunkedBodiesAreLimited() {
    let chunk = "1d4c0\r\n\(String(repeating: "x", count: 120_000))\r\n"
    var driver = ConnectionDriver()
    driver.handle(.sends(Self.post("/count", "Transfer-Encoding: chunked")))
    for _ in 0..<4 {
      driver.handle(.sends(chunk))
      while driver.done.last == "wait" || driver.done.last == "wait 30", driver.done.contains("deliver") {
        let before = driver.done.count
        driver.handle(.takes)
        if driver.done[before...] == ["wait 30"] { break }
      }
    }
    #expect(!driver.done.contains { $0.hasPrefix("abandon") })
    driver.handle(.sends(chunk))
    for _ in 0..<4 where !driver.done.contains("shut") { driver.handle(.takes) }
    #expect(driver.done.suffix(4) == ["abandon 413 (last)", "send 10", "shut", "wait 2"])
  }

  // MARK: Time

  static let times: [Exchange] = [
    // An idle connection is closed without an answer.
    [(.passes(74), "wait 75"), (.passes(1), "close")],
    [(.sends(get("/1")), "GET /1, send 10, wait 75"), (.passes(75), "close")],
    // But not while an answer is unacknowledged.
    [
      (.sends(get("/1")), "GET /1, send 10, wait 75"), (.unacknowledged(10), "wait 75"),
      (.passes(75), "shut, wait 77"),
      (.unacknowledged(0), "wait 77"), (.passes(2), "close"),
    ],
    // The timeout of a head runs from its first byte, for each head anew.
    [
      (.passes(10), "wait 75"), (.sends("GET /"), "wait 25"), (.passes(10), "wait 25"),
      (.sends("1"), "wait 25"),
      (.passes(5), "refuse 408 (last), send 10, shut, wait 27"),
    ],
    [
      (.sends("GET /1 HTTP/1.1\r\n"), "wait 15"), (.passes(14), "wait 15"),
      (.sends("Host: h\r\n\r\nGET"), "GET /1, send 10, wait 29"),
    ],
    // A body must keep a rate: 256 bytes add one second, and no more time than the initial one is left at any moment.
    [
      (.sends(post("/count", "Content-Length: 400000")), "POST /count, wait 30"), (.passes(10), "wait 30"),
      (.floods(256), "body 256, deliver, wait 31"), (.passes(10), "wait 31"),
      (.floods(200_000), "body 200000, wait 50"), (.passes(29), "wait 50"),
      (.passes(1), "abandon 408 (last), send 10, shut, wait 52"),
    ],
    // So must a discarded body whose request was answered already.
    [
      (.sends(post("/1", "Content-Length: 9")), "POST /1, send 10, wait 30"), (.passes(30), "shut, wait 32"),
    ],
    // While a worker is busy, no timeout runs.
    [(.sends(get("/later")), "GET /later, wait"), (.passes(100_000), "wait")],
    // A client that doesn't read is disconnected.
    [
      (.hasRoom(0), "wait 75"), (.sends(get("/1")), "GET /1, send 0, wait 60"), (.passes(60), "close"),
    ],
    // A client that reads 256 bytes a second isn't: it has acknowledged more than at the last check.
    [
      (.hasRoom(90_000), "wait 75"), (.unacknowledged(90_000), "wait 75"),
      (.sends(get("/large")), "GET /large, send 90000, wait 60"),
      (.unacknowledged(90_000 - 2_560), "wait 60"),
      (.passes(60), "wait 70"), (.passes(10), "close"),
    ],
    // Answers are sent while a worker is busy, and no timeout runs meanwhile.
    [
      (.hasRoom(4), "wait 75"), (.sends(get("/1") + get("/later")), "GET /1, GET /later, send 4, wait"),
      (.passes(1_000), "wait"), (.hasRoom(6), "send 6, wait"), (.hasRoom(4), "wait"),
      (.answers, "answer, send 4, wait 1060"),
    ],
  ]

  @Test(arguments: times) func timeouts(_ exchange: Exchange) { expect(exchange) }

  @Test func bodiesBelowTheRateAreAborted() {
    var driver = ConnectionDriver()
    driver.handle(.sends(Self.post("/count", "Content-Length: 400000")))
    var seconds = 0
    while driver.connection.phase == .body, seconds < 1_000 {
      seconds += 1
      driver.handle(.passes(1))
      if driver.connection.phase == .body { driver.handle(.floods(128)) }
    }
    #expect(seconds == 60 || seconds == 59)
    #expect(driver.done.suffix(4).first == "abandon 408 (last)")
  }

  // MARK: Lingering (RFC 9112 §9.6)

  static let lingering: [Exchange] = [
    // What the client still sends is discarded until it closes.
    [
      (.sends(get("/bye")), "GET /bye (last), send 10, shut, wait 2"), (.sends(get("/late")), "wait 2"),
      (.floods(1_000_000), "wait 2"), (.ends, "close"),
    ],
    // Or until the timeout is over and everything is acknowledged.
    [(.sends(get("/bye")), "GET /bye (last), send 10, shut, wait 2"), (.passes(2), "close")],
    [
      (.unacknowledged(100_010), "wait 75"),
      (.sends(get("/large") + "x\r\n"), "GET /large, send 100000, refuse 400 (last), send 10, shut, wait 2"),
      (.unacknowledged(97_450), "wait 2"), (.passes(2), "wait 12"), (.passes(10), "close"),
    ],
    // Answers are sent first.
    [
      (.hasRoom(0), "wait 75"), (.sends(get("/bye") + get("/late")), "GET /bye (last), send 0, wait 60"),
      (.hasRoom(10), "send 10, shut, wait 2"),
    ],
    // No lingering for a client that has closed.
    [(.sends(get("/later")), "GET /later, wait"), (.ends, "wait 2"), (.answers, "answer, send 10, close")],
  ]

  @Test(arguments: lingering) func closedConnectionsLinger(_ exchange: Exchange) { expect(exchange) }

  // MARK: Draining

  static let drains: [Exchange] = [
    [(.drains, "close")],
    // An unacknowledged answer is delivered.
    [
      (.sends(get("/1")), "GET /1, send 10, wait 75"), (.unacknowledged(10), "wait 75"),
      (.drains, "shut, wait 2"),
    ],
    // Requests in progress are answered, with `Connection: close`.
    [
      (.sends(get("/later")), "GET /later, wait"), (.drains, "wait"),
      (.answers, "answer (last), send 10, shut, wait 2"),
    ],
    [
      (.hasRoom(4), "wait 75"), (.sends(get("/1")), "GET /1, send 4, wait 60"), (.drains, "wait 60"),
      (.hasRoom(6), "send 6, close"),
    ],
    // An incomplete head is waited for, empty lines aren't.
    [
      (.sends("GET /1 HTTP/1.1\r\nHo"), "wait 15"), (.drains, "wait 15"),
      (.sends("st: h\r\n\r\n"), "GET /1 (last), send 10, shut, wait 2"),
    ],
    [(.sends("\r\n"), "wait 75"), (.drains, "close")],
    [
      (.sends(post("/count", "Content-Length: 3")), "POST /count, wait 30"), (.drains, "wait 30"),
      (.sends("abc"), "body 3, deliver last, wait"), (.answers, "answer (last), send 10, shut, wait 2"),
    ],
  ]

  @Test(arguments: drains) func drainingClosesIdleConnections(_ exchange: Exchange) { expect(exchange) }
}
