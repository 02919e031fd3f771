import Compression
import DeviceLinux
import DeviceTestSupport
import SocketServer
import Testing
import XCacheDevice

@testable import XCacheRuntime

/// What a page gets of a body with a content coding: the same over libcurl and our own HTTP/1.1, and the same as in
/// Chromium, unless Chromium drops a part of the body.
@Suite struct ContentCodingTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// `Content-Encoding`.
    let codings: [String]
    let sent: [UInt8]
    /// The body that the page gets; nil: an error.
    let body: [UInt8]?
    /// Whether the page gets the Content-Encoding, since its body is still coded.
    var isLeft = false
  }

  static let text = ExchangeTests.text
  static let gzip = Gzip.encode([text])
  static let zstd = Zstd.encode([text])
  /// A stored block (RFC 1951 §3.2.4), and the same with zlib's header and checksum (RFC 1950).
  static let stored: [UInt8] = [1, 3, 0, 252, 255] + Array("abc".utf8)
  static let zlib: [UInt8] = [0x78, 1] + stored + [0x02, 0x4D, 0x01, 0x27]

  static let notCoded = [UInt8](repeating: 0xFF, count: 100_000)
  /// Valid up to the middle.
  static let damaged = Gzip.encode([ContentCodingTests.long]).enumerated().map {
    $0.offset > 40_000 ? 0xFF : $0.element
  }
  /// Text that gzip compresses to 80 KB at best.
  static let long: [UInt8] = {
    var state: UInt32 = 1
    return (0..<100_000).map { _ in
      state = state &* 1_664_525 &+ 1_013_904_223
      return UInt8(state >> 25)
    }
  }()

  static let cases: [Case] = [
    Case(testDescription: "unknown", codings: ["x-own"], sent: text, body: text, isLeft: true),
    Case(
      testDescription: "unknown behind gzip", codings: ["gzip, x-own"], sent: gzip, body: gzip, isLeft: true),
    Case(testDescription: "unknown and empty", codings: ["x-own"], sent: [], body: [], isLeft: true),
    Case(testDescription: "identity", codings: ["identity"], sent: text, body: text, isLeft: true),
    Case(testDescription: "x-gzip", codings: ["X-GZIP"], sent: gzip, body: text),
    Case(testDescription: "deflate", codings: ["deflate"], sent: zlib, body: Array("abc".utf8)),
    Case(
      testDescription: "deflate without a head", codings: ["deflate"], sent: stored, body: Array("abc".utf8)),
    Case(testDescription: "br", codings: ["br"], sent: ExchangeTests.brotli, body: text),
    Case(testDescription: "zstd", codings: ["zstd"], sent: zstd, body: text),
    Case(testDescription: "two", codings: ["zstd", "gzip"], sent: Gzip.encode([zstd]), body: text),
    Case(testDescription: "empty gzip", codings: ["gzip"], sent: [], body: []),
    Case(testDescription: "empty br", codings: ["br"], sent: [], body: []),
    Case(testDescription: "empty of two", codings: ["gzip, zstd"], sent: [], body: []),
    Case(testDescription: "more behind gzip", codings: ["gzip"], sent: gzip + [1, 2, 3], body: text),
    Case(
      testDescription: "zeros behind gzip", codings: ["gzip"],
      sent: gzip + [UInt8](repeating: 0, count: 70_000), body: text),
    Case(
      testDescription: "two members", codings: ["gzip"], sent: gzip + Gzip.encode([Array("second".utf8)]),
      body: text),
    Case(
      testDescription: "more behind br", codings: ["br"], sent: ExchangeTests.brotli + [1, 2, 3], body: text),
    Case(testDescription: "two frames of zstd", codings: ["zstd"], sent: zstd + zstd, body: text + text),
    Case(testDescription: "more behind zstd", codings: ["zstd"], sent: zstd + [1, 2, 3, 4, 5], body: text),
    Case(
      testDescription: "the start of a frame behind zstd", codings: ["zstd"], sent: zstd + [0x28, 0xB5],
      body: text),
    Case(
      testDescription: "zeros behind zstd", codings: ["zstd"],
      sent: zstd + [UInt8](repeating: 0, count: 70_000), body: text),
    Case(
      testDescription: "half a frame behind zstd", codings: ["zstd"], sent: zstd + zstd.prefix(20), body: nil),
    Case(
      testDescription: "three", codings: ["gzip, gzip, gzip"], sent: Gzip.encode([Gzip.encode([gzip])]),
      body: Gzip.encode([Gzip.encode([gzip])]), isLeft: true),
    Case(testDescription: "cut gzip", codings: ["gzip"], sent: Array(gzip.dropLast(20)), body: nil),
    Case(testDescription: "cut check", codings: ["gzip"], sent: Array(gzip.dropLast()), body: nil),
    Case(
      testDescription: "cut br", codings: ["br"], sent: Array(ExchangeTests.brotli.dropLast(2)), body: nil),
    Case(testDescription: "cut zstd", codings: ["zstd"], sent: Array(zstd.dropLast()), body: nil),
    Case(testDescription: "cut deflate", codings: ["deflate"], sent: Array(zlib.dropLast()), body: nil),
    Case(testDescription: "a byte of deflate", codings: ["deflate"], sent: [0x78], body: nil),
    // A body that isn't coded at all is passed on, as WebKitGTK does without the proxy.
    Case(testDescription: "no gzip", codings: ["gzip"], sent: text, body: text),
    Case(testDescription: "much that is no gzip", codings: ["gzip"], sent: notCoded, body: notCoded),
    Case(testDescription: "no gzip around zstd", codings: ["zstd, gzip"], sent: zstd, body: text),
    Case(testDescription: "gzip around no zlib", codings: ["deflate, gzip"], sent: gzip, body: text),
    Case(testDescription: "no br", codings: ["br"], sent: notCoded, body: notCoded),
    Case(testDescription: "no deflate", codings: ["deflate"], sent: notCoded, body: notCoded),
    Case(testDescription: "no zstd", codings: ["zstd"], sent: notCoded, body: nil),
    // Damage after a valid beginning is an error.
    Case(
      testDescription: "gzip's magic and no more of it", codings: ["gzip"], sent: [0x1F, 0x8B] + notCoded,
      body: nil),
    Case(
      testDescription: "zlib's head and no more of it", codings: ["deflate"], sent: [0x78, 1] + notCoded,
      body: nil),
    Case(testDescription: "damaged gzip", codings: ["gzip"], sent: damaged, body: nil),
  ]

  @Test(arguments: cases, [false, true])
  func bodiesAreDecoded(_ one: Case, overStreams: Bool) async throws {
    let server = SocketServer { request in
      .answer(
        200, one.codings.map { ("Content-Encoding", $0) }, body: request.method == "HEAD" ? [] : one.sent)
    }
    let transport: any PageTransport =
      overStreams ? StreamPageTransport(LinuxProxyNetwork()) : CurlPageTransport()
    let fetcher = PageFetcher(transport, cookies: FakeCookies([]))
    let got = await Collected.fetch(NetworkRequest(server.url), by: fetcher)
    guard let body = one.body else {
      #expect(got.error?.kind == .broken, "\(String(describing: got.error))")
      return
    }
    #expect(got.error == nil && got.body == body, "\(String(describing: got.error)), \(got.body.count) bytes")
    #expect(got.head?.headers.values("content-encoding") == (one.isLeft ? one.codings : []))
    #expect(got.head?.headers.values("content-length") == (one.isLeft ? ["\(one.sent.count)"] : []))
  }
}
