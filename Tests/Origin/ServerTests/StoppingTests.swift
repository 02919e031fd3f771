import Glibc
import HTTP
import Server
import System
import Testing

@Suite struct StoppingTests {
  @Test func answersInFlightAreFinished() throws {
    let server = try TestServer()
    let slow = server.client()
    let idle = server.client()
    idle.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(idle.answer()?.status == 200)
    slow.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(server.events.has("slow"))
    server.server.stop(graceSeconds: 5)
    let answer = try #require(slow.answer())
    #expect(answer.text == "slow" && answer.closes)
    #expect(idle.isClosedByServer())
    #expect(!server.client().isConnected)
  }

  @Test func largeAnswersInFlightAreFinished() throws {
    let server = try TestServer()
    let client = server.client(receiveBuffer: 8_192)
    client.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(client.line() == "HTTP/1.1 200 OK")
    let stopper = try OSThread(name: "stopper") { [server = server.server] in server.stop(graceSeconds: 5) }
    let rest = client.rest()
    stopper.join()
    #expect((rest?.count ?? 0) > 3_000_000)
  }

  @Test func gracePeriodEnds() throws {
    let server = try TestServer()
    let client = server.client()
    client.send("PUT /count HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc")
    #expect(server.events.has("first"))
    let start = Clock.monotonicNanoseconds()
    server.server.stop(graceSeconds: 1)
    let seconds = Double(Clock.monotonicNanoseconds() - start) / 1e9
    #expect(seconds > 0.9 && seconds < 3)
    #expect(client.isClosedByServer())
    #expect(server.events.has("abort"))
  }

  @Test func halfClosedClientGetsItsAnswers() throws {
    let server = try TestServer()
    let client = server.client()
    client.send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
    client.send("GET /large HTTP/1.1\r\nHost: h\r\n\r\nGET /half HTTP/1.1\r\n")
    client.finishSending()
    #expect(client.answer()?.text == "/1")
    #expect(client.answer()?.text == "slow")
    #expect(client.answer()?.body.count == 1_000_000)
    #expect(client.isClosedByServer())
  }

  @Test func noDescriptorIsLeftOpen() throws {
    func count() -> Int {
      // Counts only sockets, epolls and event counters of this process, since other tests run concurrently.
      var found = 0
      for number in Int32(0)..<1024 where fcntl(number, F_GETFD) >= 0 { found += 1 }
      return found
    }
    let smallest = (0..<5).map { _ in
      let before = count()
      do {
        let server = try TestServer { $0.loops = 2 }
        let client = server.client()
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        _ = client.answer()
      } catch {}
      return count() - before
    }.min()
    #expect((smallest ?? 1) <= 0)
  }
}
