import Compression
import DeviceLinux
import DeviceTestSupport
import SocketServer
import System
import Testing
import TestSupport
import XCacheDevice

@testable import XCacheRuntime

/// Decoding bombs, and how decoding is cancelled.
@Suite(.unhurried) struct ContentDecoderTests {
  /// A gzip body that begins with many empty stored blocks (RFC 1951 §3.2.4): hundreds of megabytes in a few kilobytes
  /// of zstd.
  private static let nothing: [UInt8] = {
    let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
    let blocks = [UInt8]((0..<1 << 20).flatMap { _ in [0, 0, 0, 0xFF, 0xFF] as [UInt8] })
    let frame = Zstd.encode([blocks])
    return Zstd.encode([head]) + (0..<60).flatMap { _ in frame }
  }()

  /// 16 MB of zeros in a few kilobytes.
  private static let long = Gzip.encode([[UInt8](repeating: 0, count: 16 << 20)])

  private static func ends(after asked: Int, _ count: Locked<Int>) -> @Sendable () -> Bool {
    {
      count.withLock {
        $0 += 1
        return $0 >= asked
      }
    }
  }

  @Test(arguments: [(["gzip", "zstd"], nothing), (["gzip"], long)])
  func cancellationEndsDecoding(codings: [String], coded: [UInt8]) throws {
    let asked = Locked(0)
    let decoder = try #require(
      ContentDecoder(codings, from: "host", isCancelled: Self.ends(after: 3, asked)))
    let error = #expect(throws: TransportError.self) { try decoder.decode(coded.span.bytes) { _ in } }
    #expect(error?.kind == .stopped && asked.withLock { $0 } == 3)
  }

  /// The answer has few pieces of its own at which the network could check for cancellation.
  @Test(arguments: [false, true]) func closedPagesEndDecoding(overStreams: Bool) async {
    let server = SocketServer { _ in .answer(200, [("Content-Encoding", "gzip, zstd")], body: Self.nothing) }
    let asked = Locked(0)
    let request = NetworkRequest(server.url, isCancelled: Self.ends(after: 30, asked))
    let got = await Collected.fetch(request, by: fetcher(overStreams))
    #expect(got.error?.kind == .stopped && got.body.isEmpty, "\(String(describing: got.error))")
  }

  /// The body of a redirect isn't decoded, since nobody reads it, and its connection is reused.
  @Test(arguments: [false, true]) func bodiesOfRedirectsAreNotDecoded(overStreams: Bool) async {
    let server = SocketServer { request in
      request.path == "/start"
        ? .answer(302, [("Location", "/end"), ("Content-Encoding", "gzip")], body: Self.long)
        : .answer(body: [7])
    }
    let got = await Collected.fetch(NetworkRequest("\(server.url)/start"), by: fetcher(overStreams))
    #expect(got.body == [7] && server.connections == 1)
  }

  private func fetcher(_ overStreams: Bool) -> PageFetcher {
    let transport: any PageTransport =
      overStreams ? StreamPageTransport(LinuxProxyNetwork()) : CurlPageTransport()
    return PageFetcher(transport, cookies: FakeCookies([]))
  }
}
