import HTTP
import Testing

/// The handshake before the first request on a TLS port, without a socket.
@Suite struct HandshakeTests {
  static let exchanges: [ConnectionTests.Exchange] = [
    [(.sends("hello"), "handshake, wait 75"), (.sends(get), "GET /, send 10, wait 75")],
    // The first request may follow at once.
    [(.sends("hello" + get), "handshake, GET /, send 10, wait 75")],
    // It has the timeout of a head, however it arrives.
    [(.sends("he"), "wait 15"), (.passes(10), "wait 15"), (.sends("l"), "wait 15"), (.passes(5), "close")],
    [(.passes(15), "close")],
    // Other bytes are refused, and the connection lingers until the client has read that.
    [(.sends("what"), "no handshake, shut, wait 2"), (.sends("more"), "wait 2"), (.ends, "close")],
    [(.sends("hel"), "wait 15"), (.ends, "no handshake, shut, close")],
    // Draining: unfinished handshakes get 2 s, and one that is finished gets its answer.
    [(.sends("he"), "wait 15"), (.drains, "wait 2"), (.passes(2), "close")],
    [(.drains, "wait 2"), (.sends("hello" + get), "handshake, GET / (last), send 10, shut, wait 2")],
  ]

  private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

  @Test(arguments: exchanges) func handshakes(_ exchange: ConnectionTests.Exchange) {
    var driver = ConnectionDriver(handshakes: true)
    var before = 0
    for (event, done) in exchange {
      driver.handle(event)
      let now = driver.done[before...].joined(separator: ", ")
      #expect(now == done, "after \(event)")
      before = driver.done.count
    }
  }
}
