import HTTP
import Testing

/// What comes before the first request where the server speaks TLS, told without a socket.
@Suite struct HandshakeTests {
  static let exchanges: [ConnectionTests.Exchange] = [
    [(.sends("hello"), "handshake, wait 75"), (.sends(get), "GET /, send 10, wait 75")],
    // The first request may come right behind.
    [(.sends("hello" + get), "handshake, GET /, send 10, wait 75")],
    // It takes no longer than a head may, however it arrives.
    [(.sends("he"), "wait 15"), (.passes(10), "wait 15"), (.sends("l"), "wait 15"), (.passes(5), "close")],
    [(.passes(15), "close")],
    // What is none is told so, and listened to until the client has read that.
    [(.sends("what"), "no handshake, shut, wait 2"), (.sends("more"), "wait 2"), (.ends, "close")],
    [(.sends("hel"), "wait 15"), (.ends, "no handshake, shut, close")],
    // A server that stops waits for nobody who says nothing, and serves who does.
    [(.sends("he"), "wait 15"), (.drains, "wait 2"), (.passes(2), "close")],
    [(.drains, "wait 2"), (.sends("hello" + get), "handshake, GET / (last), send 10, shut, wait 2")],
  ]

  private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

  @Test(arguments: exchanges) func handshakes(_ exchange: ConnectionTests.Exchange) {
    var driver = ConnectionDriver(handshakes: true)
    var before = 0
    for (happening, done) in exchange {
      driver.handle(happening)
      let now = driver.done[before...].joined(separator: ", ")
      #expect(now == done, "after \(happening)")
      before = driver.done.count
    }
  }
}
