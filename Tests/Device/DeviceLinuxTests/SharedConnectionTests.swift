import DeviceTestSupport
import SocketServer
import System
import Testing
import TestSupport
import XCacheDevice

@testable import DeviceLinux
@testable import XCacheRuntime

/// Requests of pages over one shared HTTP/2 connection to nginx, and without HTTP/2.
@Suite(.unhurried, .enabled(if: NginxServer.isPossible)) struct SharedConnectionTests {
  /// The upstream server of nginx, which answers when the test opens it.
  private final class Backend: Sendable {
    struct State {
      var asked: [SocketServer.Request] = []
      var isOpen = false
    }

    let state = Monitor(State())

    var asked: [SocketServer.Request] { state.withLock { $0.asked } }

    func open() { state.broadcasting { $0.isOpen = true } }

    // Ends all waiting requests.
    deinit { open() }

    /// Answers below /api/hang wait until `open`.
    func server() -> SocketServer {
      let state = state
      return SocketServer { request in
        state.broadcasting { $0.asked.append(request) }
        if request.path.hasPrefix("/api/hang") { state.waiting { $0.isOpen ? () : nil } }
        return .answer(body: Array("answer of \(request.path)".utf8))
      }
    }
  }

  private func until(_ condition: () -> Bool) async {
    while !condition() { try? await Task.sleep(for: .milliseconds(2)) }
  }

  private func fetcher(_ server: NginxServer) -> PageFetcher {
    PageFetcher(CurlPageTransport(30, 120, authorities: server.certificate), cookies: FakeCookies([]))
  }

  private func fetch(_ url: String, _ fetcher: PageFetcher) -> Task<Collected, Never> {
    Task { await Collected.fetch(NetworkRequest(url), by: fetcher) }
  }

  @Test func ninetyRequestsShareOneConnection() async throws {
    let file = [UInt8](repeating: 42, count: 20_000)
    let server = try NginxServer(["file": file])
    let fetcher = fetcher(server)
    let tasks = (0..<90).map { _ in fetch("\(server.url)/file", fetcher) }
    for task in tasks {
      let got = await task.value
      #expect(got.error == nil && got.head?.status == 200 && got.body == file)
    }
    let log = try server.log(of: 90)
    #expect(
      log.count == 90 && Set(log).count == 1 && log.allSatisfy { $0.hasSuffix("HTTP/2.0") }, "\(Set(log))")
  }

  /// Trailers aren't added to the headers, and the connection is reused after them.
  @Test(.enabled(if: ClosingServer.isPossible)) func trailersAreReadAndDropped() async throws {
    let server = try ClosingServer(.goAway)
    let cookies = FakeCookies([])
    let fetcher = PageFetcher(CurlPageTransport(30, 120, authorities: server.certificate), cookies: cookies)
    for _ in 0..<3 {
      let got = await fetch("\(server.url)/trailers", fetcher).value
      #expect(got.error == nil && got.head?.status == 200 && got.body == Array("0".utf8))
      #expect(got.head?.headers.values("x-late") == [] && cookies.taken == [])
    }
  }

  /// The short body of a redirect is read, so that the next request can use its connection.
  @Test(arguments: [false, true]) func redirectsKeepTheirConnection(overStreams: Bool) async {
    let server = SocketServer { request in
      request.path == "/start"
        ? .answer(302, [("Location", "/end")], body: Array("moved".utf8)) : .answer(body: [7])
    }
    let transport: any PageTransport =
      overStreams ? StreamPageTransport(LinuxProxyNetwork()) : CurlPageTransport()
    let got = await Collected.fetch(
      NetworkRequest("\(server.url)/start"), by: PageFetcher(transport, cookies: FakeCookies([])))
    #expect(got.body == [7] && server.connections == 1)
  }

  /// More than six hang from the first request on: that they share a connection is known before any answer.
  @Test func hangingRequestsDoNotBlockOthers() async throws {
    let backend = Backend()
    let upstream = backend.server()
    let server = try NginxServer([:], upstream: upstream.port)
    let fetcher = fetcher(server)
    let hanging = (0..<12).map { fetch("\(server.url)/api/hang/\($0)", fetcher) }
    await until { backend.asked.count == 12 }
    for number in 0..<20 {
      let got = await fetch("\(server.url)/api/\(number)", fetcher).value
      #expect(got.body == Array("answer of /api/\(number)".utf8))
    }
    backend.open()
    for task in hanging { #expect(await task.value.head?.status == 200) }
    let log = try server.log(of: 32)
    #expect(log.count == 32 && Set(log).count == 1)
  }

  /// A slow reader of a large body doesn't block others, and gets every byte.
  @Test func slowReadersDoNotBlockOthers() async throws {
    let block = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 12) }
    let large = (0..<48).flatMap { [UInt8($0)] + block }
    let server = try NginxServer(["large": large, "small": [7]])
    let fetcher = fetcher(server)
    let goes = Monitor(false)
    let hasBegun = Locked(false)
    let got = Locked<[UInt8]>([])
    let reading = Task { () -> TransportError? in
      do throws(TransportError) {
        try await fetcher.fetch(NetworkRequest("\(server.url)/large")) { _ in
          true
        } receive: { bytes in
          hasBegun.withLock { $0 = true }
          goes.waiting { $0 ? () : nil }
          got.withLock { got in bytes.withUnsafeBytes { got.append(contentsOf: $0) } }
          return true
        }
        return nil
      } catch {
        return error
      }
    }
    await until { hasBegun.withLock { $0 } }
    for _ in 0..<40 { #expect(await fetch("\(server.url)/small", fetcher).value.body == [7]) }
    goes.broadcasting { $0 = true }
    #expect(await reading.value == nil)
    #expect(got.withLock { $0 == large })
    #expect(Set(try server.log(of: 41)).count == 1)
  }

  @Test func cancellationEndsOnlyItsRequest() async throws {
    let backend = Backend()
    let upstream = backend.server()
    let server = try NginxServer([:], upstream: upstream.port)
    let fetcher = fetcher(server)
    let gone = fetch("\(server.url)/api/hang/gone", fetcher)
    let stays = fetch("\(server.url)/api/hang/stays", fetcher)
    await until { backend.asked.count == 2 }
    gone.cancel()
    #expect(await gone.value.error?.kind == .stopped)
    #expect(await fetch("\(server.url)/api/next", fetcher).value.error == nil)
    backend.open()
    #expect(await stays.value.body == Array("answer of /api/hang/stays".utf8))
    #expect(Set(try server.log(of: 3)).count == 1)
  }

  /// A page that stops reading in the middle of an answer.
  @Test func stoppedAnswersEndOnlyThemselves() async throws {
    let server = try NginxServer(["large": [UInt8](repeating: 1, count: 8 << 20), "small": [7]])
    let fetcher = fetcher(server)
    for _ in 0..<3 {
      var error: TransportError?
      do throws(TransportError) {
        try await fetcher.fetch(NetworkRequest("\(server.url)/large")) { _ in
          true
        } receive: { _ in
          false
        }
      } catch let thrown {
        error = thrown
      }
      #expect(error?.kind == .stopped)
      #expect(await fetch("\(server.url)/small", fetcher).value.body == [7])
    }
    #expect(Set(try server.log(of: 6)).count == 1)
  }

  /// Request bodies are sent unchanged, and one that isn't available yet doesn't block others.
  @Test func uploadsShareTheConnection() async throws {
    let backend = Backend()
    let upstream = backend.server()
    let server = try NginxServer([:], upstream: upstream.port)
    let fetcher = fetcher(server)
    let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 17 &+ $0 >> 9) }
    let goes = Monitor(false)
    let isWanted = Locked(false)
    let upload = NetworkRequest(
      "\(server.url)/api/up", method: "PUT",
      body: .stream(length: Int64(body.count)) { offset, buffer in
        if offset > 1_000_000 {
          isWanted.withLock { $0 = true }
          goes.waiting { $0 ? () : nil }
        }
        let piece = body.dropFirst(Int(offset)).prefix(min(buffer.count, 77_777))
        buffer.copyBytes(from: piece)
        return piece.count
      })
    let sending = Task { await Collected.fetch(upload, by: fetcher) }
    await until { isWanted.withLock { $0 } }
    for number in 0..<10 { #expect(await fetch("\(server.url)/api/\(number)", fetcher).value.error == nil) }
    let post = NetworkRequest(
      "\(server.url)/api/post", method: "POST", body: .bytes(Array(body.prefix(500_000))))
    #expect(await Collected.fetch(post, by: fetcher).error == nil)
    goes.broadcasting { $0 = true }
    let got = await sending.value
    #expect(got.error == nil && got.head?.status == 200)
    let asked = backend.asked
    #expect(asked.first { $0.path == "/api/up" }?.body == body)
    #expect(asked.first { $0.path == "/api/post" }?.body == Array(body.prefix(500_000)))
    #expect(Set(try server.log(of: 12)).count == 1)
  }

  /// A body that ends early or can't be read only ends its own request.
  @Test func failingBodiesEndOnlyTheirRequest() async throws {
    struct Broken: Error {}
    let backend = Backend()
    let upstream = backend.server()
    let server = try NginxServer([:], upstream: upstream.port)
    let fetcher = fetcher(server)
    for isShort in [true, false] {
      let upload = NetworkRequest(
        "\(server.url)/api/up", method: "PUT",
        body: .stream(length: 500_000) { offset, buffer in
          guard offset > 0 else { return min(buffer.count, 1_000) }
          guard isShort else { throw Broken() }
          return 0
        })
      #expect(await Collected.fetch(upload, by: fetcher).error != nil)
      #expect(await fetch("\(server.url)/api/next", fetcher).value.error == nil)
    }
  }

  /// Each event arrives before the next one is sent.
  @Test func eventsArriveAsTheyAreSent() async throws {
    let got = Monitor("")
    let upstream = SocketServer { request in
      guard request.path == "/api/events" else { return .answer(body: [7]) }
      return [
        .send(Array("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n".utf8))
      ]
        + (1...5).flatMap { number -> [SocketServer.Step] in
          [
            .send(Array("data: \(number)\n\n".utf8)),
            .run { got.waiting { $0.contains("data: \(number)\n\n") ? () : nil } },
          ]
        } + [.close]
    }
    let server = try NginxServer([:], upstream: upstream.port)
    let fetcher = fetcher(server)
    let events = Task { () -> Bool in
      do throws(TransportError) {
        try await fetcher.fetch(NetworkRequest("\(server.url)/api/events")) { _ in
          true
        } receive: { bytes in
          let text = String(decoding: bytes.withUnsafeBytes { Array($0) }, as: UTF8.self)
          got.broadcasting { $0 += text }
          return true
        }
        return true
      } catch {
        return false
      }
    }
    #expect(await fetch("\(server.url)/api/other", fetcher).value.body == [7])
    #expect(await events.value && got.withLock { $0 } == (1...5).map { "data: \($0)\n\n" }.joined())
    #expect(Set(try server.log(of: 2)).count == 1)
  }

  /// A server without HTTP/2 gets six connections; waiting requests are sent in order.
  @Test(arguments: [false, true]) func sixConnectionsInOrderWithoutHTTP2(isSecure: Bool) async throws {
    let backend = Backend()
    let upstream = backend.server()
    let server = try NginxServer([:], upstream: upstream.port, isHTTP2: false)
    let fetcher = fetcher(server)
    let base = isSecure ? server.url : upstream.url
    var hanging: [Task<Collected, Never>] = []
    for number in 0..<6 {
      hanging.append(fetch("\(base)/api/hang/\(number)", fetcher))
      await until { backend.asked.count == number + 1 }
    }
    var waiting: [Task<Collected, Never>] = []
    for number in 0..<8 {
      waiting.append(fetch("\(base)/api/\(number)", fetcher))
      await until { fetcher.gate.waiting == number + 1 }
    }
    #expect(backend.asked.count == 6)
    // One connection is free, and they use it one after another.
    hanging[2].cancel()
    for task in waiting { #expect(await task.value.error == nil) }
    #expect(backend.asked.dropFirst(6).map(\.path) == (0..<8).map { "/api/\($0)" })
    backend.open()
    for task in hanging { _ = await task.value }
  }
}
