import Testing

@Suite struct WorkersTests {
  /// What anybody may ask for keeps every common worker busy, and more of it waits.
  @Test func whatIsReservedIsAnsweredMeanwhile() throws {
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
