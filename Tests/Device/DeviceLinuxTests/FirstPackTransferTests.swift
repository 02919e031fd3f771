import DeviceLinux
import DeviceTestSupport
import SocketServer
import System
import Testing
import TestSupport

@testable import XCacheDevice

/// First packs over real connections, from servers that do as they like (docs/protocol.md §11, D-179…D-184).
@Suite struct FirstPackTransferTests {
  private let scratch: Scratch
  private let origin = FakeOrigin()
  private let pack: (url: String, bytes: [UInt8])
  private static let files = (0..<8).map { PackBench.text($0 + 1, 60_000) }

  init() throws {
    scratch = try Scratch()
    try origin.publish(
      Dictionary(
        uniqueKeysWithValues: Self.files.enumerated().map { ("https://m.test/\($0.offset).js", $0.element) }))
    pack = try origin.offerFirst(Self.files)
  }

  /// Polls in memory, and fetches from a server of the test.
  private struct CDN: Transport {
    let origin: FakeOrigin
    let curl = CurlTransport(connectSeconds: 5, stallSeconds: 1)
    let url: String

    func get(
      _ request: TransportRequest, receive: (RawSpan) -> Bool
    ) throws(TransportError) -> TransportReply {
      try get(request, begin: { _ in true }, receive: receive)
    }

    func get(
      _ request: TransportRequest, begin: (TransportHead) -> Bool, receive: (RawSpan) -> Bool
    ) throws(TransportError) -> TransportReply {
      guard request.url.hasPrefix("https://cdn.test") else {
        return try origin.get(request, begin: begin, receive: receive)
      }
      var asked = TransportRequest(
        url + request.url.dropFirst("https://cdn.test".count), limit: request.limit,
        isUncoded: request.isUncoded)
      (asked.start, asked.entityTag) = (request.start, request.entityTag)
      (asked.isOneOfMany, asked.isCancelled) = (request.isOneOfMany, request.isCancelled)
      return try curl.get(asked, begin: begin, receive: receive)
    }
  }

  /// What one device comes to, and what it asked the server for.
  private func run(
    updates: Int = 1, _ answer: @escaping @Sendable (SocketServer.Request) -> [SocketServer.Step]
  ) throws -> (device: Device, report: UpdateReport, packs: [SocketServer.Request], singles: Int) {
    let asked = Locked<[SocketServer.Request]>([])
    let origin = origin
    let server = SocketServer { request in
      asked.withLock { $0.append(request) }
      if request.path.contains("xpk") { return answer(request) }
      return .answer(body: origin.fetch("https://cdn.test" + request.path).body)
    }
    var settings = DeviceSettings(
      folder: "\(scratch.path)/device", server: FakeOrigin.server, app: "shop", hosts: ["*"])
    settings.retryPauses = [0, 0]
    let device = try Device(settings, transport: CDN(origin: origin, url: server.url))
    let report = try device.update()
    for _ in 1..<updates { _ = try device.update(force: true) }
    let requests = asked.withLock { $0 }
    return (
      device, report, requests.filter { $0.path.contains("xpk") },
      requests.count { !$0.path.contains("xpk") }
    )
  }

  /// That every file is held, and right.
  private func isWhole(_ device: Device) throws -> Bool {
    try device.heldFiles().allSatisfy { file in
      try file.path.map { SHA256.of(try DurableFile.read($0) ?? []).hex == file.sha256 } ?? false
    } && Kernel.status("\(scratch.path)/device/first.json") == nil
  }

  private static func head(_ lines: String...) -> SocketServer.Step {
    .send(Array(("HTTP/1.1 " + lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
  }

  @Test func redirectsAreFollowed() throws {
    let pack = pack
    let (device, report, packs, singles) = try run { request in
      request.path.hasSuffix("/elsewhere.xpk")
        ? .answer(body: pack.bytes)
        : .answer(302, [("Location", "/elsewhere.xpk")])
    }
    #expect(report.pack?.files == 8 && report.pack?.failure == nil && packs.count == 2 && singles == 0)
    #expect(packs.allSatisfy { $0.fields["accept-encoding"] == "identity" })
    #expect(try isWhole(device))
  }

  @Test(arguments: [-1, 1]) func otherLengthsAreRefused(more: Int) throws {
    let bytes = pack.bytes + [0]
    let (device, report, packs, singles) = try run { _ in .answer(body: bytes.prefix(bytes.count - 1 + more))
    }
    #expect(report.pack?.failure != nil && report.backlog == 0 && packs.count == 1 && singles == 8)
    #expect(try isWhole(device))
  }

  /// A body without a length that goes on after the pack, for ever.
  @Test func endlessBodiesAreEnded() throws {
    let pack = pack
    let (device, report, packs, singles) = try run { _ in
      let chunk = SocketServer.Step.send(
        Array("10000\r\n".utf8) + [UInt8](repeating: 7, count: 1 << 16) + Array("\r\n".utf8))
      let count = String(pack.bytes.count, radix: 16)
      return [
        Self.head("200 OK", "Transfer-Encoding: chunked"),
        .send(Array("\(count)\r\n".utf8) + pack.bytes + Array("\r\n".utf8)),
      ] + [SocketServer.Step](repeating: chunk, count: 4000)
    }
    // What is wanted came before, but for what came with the first byte too many.
    #expect(report.backlog == 0 && packs.count == 1 && (report.pack?.files ?? 0) + singles == 8)
    #expect(singles < 2)
    #expect(try isWhole(device))
  }

  /// The same, with other bytes from the start.
  @Test func endlessBodiesOfOtherBytesAreEnded() throws {
    let (device, report, packs, singles) = try run { _ in
      let chunk = SocketServer.Step.send(
        Array("10000\r\n".utf8) + [UInt8](repeating: 7, count: 1 << 16) + Array("\r\n".utf8))
      return [Self.head("200 OK", "Transfer-Encoding: chunked")]
        + [SocketServer.Step](repeating: chunk, count: 4000)
    }
    #expect(report.pack?.failure != nil && report.backlog == 0 && packs.count == 1 && singles == 8)
    #expect(try isWhole(device))
  }

  /// A body that stops coming, and whose connection stays open: it is asked for again from there.
  @Test func bodiesThatStopAreResumed() throws {
    let pack = pack
    let (device, report, packs, singles) = try run { request in
      let tag = ("ETag", "\"p\"")
      if let range = request.fields["range"], let start = Int(range.dropFirst(6).dropLast()) {
        let total = pack.bytes.count
        return .answer(
          206, [("Content-Range", "bytes \(start)-\(total - 1)/\(total)"), tag],
          body: pack.bytes.dropFirst(start))
      }
      return [
        Self.head("200 OK", "Content-Length: \(pack.bytes.count)", "ETag: \"p\""),
        .send(Array(pack.bytes.prefix(150_000))), .sleep(milliseconds: 3000),
      ]
    }
    #expect(report.pack?.files == 8 && report.pack?.resumed == 1 && singles == 0)
    #expect(packs.map { $0.fields["range"] } == [nil, "bytes=150000-"])
    #expect(packs.map { $0.fields["if-range"] } == [nil, "\"p\""])
    #expect(try isWhole(device))
  }

  /// A server that resets each connection before a byte of the body is given up at the third job.
  @Test func serversThatResetAreGivenUp() throws {
    let pack = pack
    let (device, report, packs, singles) = try run(updates: 3) { _ in
      [Self.head("200 OK", "Content-Length: \(pack.bytes.count)"), .reset]
    }
    #expect(report.to == "1" && report.backlog == 8 && packs.count >= 9 && singles == 8)
    #expect(try isWhole(device))
  }
}
