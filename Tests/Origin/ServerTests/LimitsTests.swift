import Glibc
import HTTP
import Server
import System
import Testing

@Suite struct LimitsTests {
  private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
  private static let millisecond: UInt64 = 1_000_000

  @Test func idleConnectionIsClosed() throws {
    let server = try TestServer { $0.timeouts.idle = 100 * Self.millisecond }
    let client = server.client()
    client.send(Self.get)
    #expect(client.answer()?.status == 200)
    #expect(client.isClosedByServer())
  }

  @Test func slowHeadIs408() throws {
    let server = try TestServer { $0.timeouts.head = 50 * Self.millisecond }
    let client = server.client()
    for byte in "GET / HTTP/1.1\r\nHo".utf8 { client.send([byte]) }
    let answer = try #require(client.answer())
    #expect(answer.status == 408 && answer.closes)
    #expect(client.isClosedByServer())
    #expect(server.server.metrics.timeouts == 1)
  }

  @Test func emptyLinesAreNotRequests() throws {
    let server = try TestServer { $0.timeouts.idle = 50 * Self.millisecond }
    let client = server.client()
    client.send(Self.get)
    #expect(client.answer()?.status == 200)
    // They don't keep a connection open, and get no answer.
    let start = Clock.monotonicNanoseconds()
    var sent = UInt64(Self.get.utf8.count)
    while client.send("\r\n"), Clock.monotonicNanoseconds() - start < 8 * Timeouts.second {
      // One by one: many at once are a head that is too large.
      sent += 2
      #expect(server.waitUntil { $0.bytesIn >= sent || $0.open == 0 })
    }
    #expect(Clock.monotonicNanoseconds() - start < 4 * Timeouts.second)
    #expect(client.isClosedByServer())
  }

  @Test func stalledBodyIs408() throws {
    let server = try TestServer { $0.timeouts.body = 100 * Self.millisecond }
    let client = server.client()
    client.send("PUT /count HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc")
    #expect(client.answer()?.status == 408)
    #expect(client.isClosedByServer())
    #expect(server.events.has("abort"))
  }

  @Test func stalledReaderIsClosed() throws {
    let server = try TestServer { $0.timeouts.write = 200 * Self.millisecond }
    let client = server.client(receiveBuffer: 4_096)
    for _ in 0..<10 { client.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n") }
    #expect(server.waitUntil { $0.timeouts == 1 && $0.open == 0 })
  }

  @Test func slowReaderAboveTheRateIsKept() throws {
    let server = try TestServer {
      // On a busy machine the client may have to wait for a while.
      $0.timeouts.write = 500 * Self.millisecond
      $0.timeouts.minimumRate = 10_000
    }
    let client = server.client(receiveBuffer: 4_096)
    client.send("GET /huge HTTP/1.1\r\nHost: h\r\n\r\n")
    // At most a kilobyte in a millisecond: no machine is fast enough to read all of it meanwhile.
    let start = Clock.monotonicNanoseconds()
    var received = 0
    while Clock.monotonicNanoseconds() - start < 1500 * Self.millisecond {
      received += client.read(1_024).count
      usleep(1_000)
    }
    #expect(server.server.metrics.timeouts == 0 && server.server.metrics.open == 1)
    #expect(received > 0 && received < 20_000_000)
  }

  @Test(TestServer.answersRefused) func connectionOverTheLimitGets503() throws {
    let server = try TestServer { $0.limits.connections = 2 }
    let first = server.client()
    let second = server.client()
    for client in [first, second] {
      client.send(Self.get)
      #expect(client.answer()?.status == 200)
    }
    let third = server.client()
    third.send(Self.get)
    let refusal = try #require(third.answer())
    #expect(refusal.status == 503 && refusal["retry-after"] == "5" && refusal.closes)
    first.send(Self.get)
    #expect(first.answer()?.status == 200)
    #expect(server.server.metrics.refused == 1)
    second.reset()
    #expect(server.waitUntil { $0.open <= 2 })
    let fourth = server.client()
    fourth.send(Self.get)
    #expect(fourth.answer()?.status == 200)
  }

  @Test func fullWorkerQueueIs503() throws {
    let server = try TestServer {
      $0.workers = 1
      $0.workerQueue = 1
    }
    let clients = (0..<4).map { _ in server.client() }
    for client in clients { client.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n") }
    let statuses = clients.map { $0.answer()?.status }.sorted { ($0 ?? 0) < ($1 ?? 0) }
    #expect(statuses.first == 200 && statuses.last == 503)
    for client in clients {
      client.send(Self.get)
      #expect(client.answer()?.status == 200)
    }
  }

  @Test func portInUseIsAnError() throws {
    let server = try TestServer()
    let expected = ServerError.listen(
      server.address, SystemError("bind", on: server.address.description, code: .addressInUse))
    #expect(throws: expected) {
      try Server(configuration: ServerConfiguration(address: server.address))
    }
  }

  @Test(TestServer.answersRefused) func withoutDescriptorsClientsAreRefusedWithoutBusyLoop() async {
    await #expect(processExitsWith: .success) {
      let server = try TestServer()
      let established = server.client()
      established.send(LimitsTests.get)
      guard established.answer()?.status == 200 else { exit(1) }
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let clients = (0..<3).map { _ in TestClient(server.address, seconds: 2, connects: false) }
      let next = dup(0)
      close(next)
      // The clients have their sockets; no descriptors are left for the server's ends.
      limit.rlim_cur = rlim_t(next)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      for client in clients { client.connect(server.address) }
      clients[0].send(LimitsTests.get)
      guard clients[0].answer()?.status == 503 else { exit(2) }
      established.send(LimitsTests.get)
      guard established.answer()?.status == 200 else { exit(3) }
      var usage = rusage()
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
      let before = usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
      // Between any two of them, accepting pauses.
      guard server.waitUntil({ $0.refused >= 3 }) else { exit(6) }
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
      let spent = usage.ru_utime.tv_usec + usage.ru_stime.tv_usec - before
      guard spent < 100_000 else { exit(4) }
      limit.rlim_cur = 200
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let late = server.client()
      late.send(LimitsTests.get)
      exit(late.answer()?.status == 200 ? 0 : 5)
    }
  }

  /// Public requests keep every common worker busy, and more are queued.
  @Test func reservedWorkersAnswerMeanwhile() throws {
    let server = try TestServer()
    let pollers = (0..<6).map { _ in server.client() }
    for poller in pollers { poller.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n") }
    #expect(server.events.has("held"))
    let publisher = server.client(seconds: 3)
    publisher.send("GET /api/hold HTTP/1.1\r\nHost: h\r\n\r\n")
    let uploader = server.client(seconds: 3)
    uploader.send("PUT /api/count HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab")
    #expect(uploader.answer()?.text == "2 195")
    server.events.add("release")
    #expect(publisher.answer()?.text == "held")
    for poller in pollers { #expect(poller.answer()?.text == "held") }
  }
}
