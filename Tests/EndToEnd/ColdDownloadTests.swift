import Glibc
import System
import Testing

/// Large files that haven't been requested since they were published or since the server started.
@Suite("Cold large files")
struct ColdDownloadTests {
  private static let block = 1 << 20

  /// Text that compresses well, but slowly.
  private static func script(_ megabytes: Int) -> String {
    var state: UInt64 = 36
    var text = ""
    while text.utf8.count < megabytes << 20 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      text += "call(\(state >> 33), 'line \(text.utf8.count)')\n"
    }
    return text
  }

  private static func metric(_ name: String, _ site: Site) throws -> Int? {
    // Metrics are cached for a second.
    Clock.sleep(for: .milliseconds(1100))
    let line = try site.web.ask("/metrics").text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
    return line.flatMap { Int($0.dropFirst(name.utf8.count + 1)) }
  }

  /// Repeats the request until the answer has a content coding.
  private static func awaitCoding(_ site: Site, _ path: String) throws -> Bool {
    try Wait.until(120) {
      try site.web.ask(path, "HEAD", ["Accept-Encoding": "gzip"])["content-encoding"] != nil
    }
  }

  @Test("60 clients make each coding once, and a small file doesn't wait for them")
  func crowd() throws {
    try Site.with { site throws in
      try site.publish(["large.js": Self.script(15), "small.js": "// small"])
      let large = Site.path(of: try site.entry("large.js"))
      let small = Site.path(of: try site.entry("small.js"))
      let before = try Self.metric("xcache_codings_made_total", site)
      let sockets = try (0..<60).map { number in
        let socket = try WebSocket(site.port)
        let coding = ["gzip", "zstd", "gzip, zstd, br"][number % 3]
        socket.send(
          Array(
            "GET \(large) HTTP/1.1\r\nHost: h\r\nConnection: close\r\nRange: bytes=0-99\r\nAccept-Encoding: \(coding)\r\n\r\n"
              .utf8))
        return socket
      }
      let begin = Clock.monotonicNanoseconds()
      #expect(try site.web.ask(small).text == "// small")
      let milliseconds = (Clock.monotonicNanoseconds() - begin) / 1_000_000
      #expect(milliseconds < 500, "a cold file of 8 bytes took \(milliseconds) ms")
      for socket in sockets {
        #expect(try Web.answer(try socket.receiveAll(), to: "GET").status == 206)
      }
      #expect(try Self.awaitCoding(site, large))
      // large.js as gzip and as zstd; small.js is too small to be coded.
      #expect(try Self.metric("xcache_codings_made_total", site) == (before ?? 0) + 2)
    }
  }

  @Test("That a file isn't worth coding is remembered across a restart")
  func notWorthIt() throws {
    try Site.with { site throws in
      // Incompressible bytes with a compressible content type.
      let bytes = Array(Secrets.random(400_000))
      let folder = try site.scratch.folder("site", ["index.html": "<p>"])
      try site.scratch.write("site/font.ttf", bytes)
      let published = try site.run(
        "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base, "--now",
        "--no-check", "all")
      try #require(published.exitCode == 0, "\(published.errors)")
      let path = Site.path(of: try site.entry("font.ttf"))
      func ask() throws -> Web.Answer { try site.web.ask(path, "GET", ["Accept-Encoding": "gzip, zstd"]) }
      #expect(try ask().body == bytes)
      #expect(try Wait.until(20) { try Self.metric("xcache_codings_made_total", site) == 2 })
      try site.crash()
      for _ in 0..<3 {
        let answer = try ask()
        #expect(answer.body == bytes && answer["content-encoding"] == nil)
        // No coding is pending, so a CDN may keep the answer.
        #expect(answer["cdn-cache-control"] == nil)
      }
      #expect(try Self.metric("xcache_codings_made_total", site) == 0)
    }
  }

  /// A published file of 64 MB with one byte changed in its second-to-last block while the server was down.
  private static func damaged(
    _ body: (_ site: Site, _ path: String, _ bytes: [UInt8], _ bad: Range<Int>) throws -> Void
  ) throws {
    let site = try Site()
    let bytes = (0..<(64 << 20) + 5000).map { UInt8(truncatingIfNeeded: ($0 >> 12) &* 37 &+ $0 &* 7) }
    let folder = try site.scratch.folder("site", ["index.html": "<p>", "small.js": "// small"])
    try site.scratch.write("site/film.mp4", bytes)
    let published = try site.run(
      "publish", "--create", folder, "--app", "shop", "--bundle", "main", "--base-url", Site.base, "--now")
    try #require(published.exitCode == 0, "\(published.errors)")
    let path = Site.path(of: try site.entry("film.mp4"))
    site.server.signal(SIGTERM)
    _ = try site.server.wait(seconds: 15)
    let digest = SHA256.of(bytes).hex
    let blob = "\(site.data)/blobs/\(digest.prefix(2))/\(digest.dropFirst(2))"
    let bad = 63 * block..<64 * block
    let file = open(blob, O_WRONLY)
    try #require(file >= 0)
    var byte = bytes[bad.lowerBound + 1000] ^ 1
    try #require(pwrite(file, &byte, 1, off_t(bad.lowerBound + 1000)) == 1)
    close(file)
    try site.start()
    try body(site, path, bytes, bad)
    site.server.signal(SIGTERM)
    #expect(try site.server.wait(seconds: 15) == 0)
  }

  @Test("After a restart, a range is sent before the whole file is verified, and a small file isn't delayed")
  func firstByte() throws {
    try Self.damaged { site, path, bytes, _ in
      let small = Site.path(of: try site.entry("small.js"))
      // The damage proves that the whole file hasn't been read yet: once it is, the file isn't served any more.
      let part = try site.web.ask(path, "GET", ["Range": "bytes=5000000-5000999"])
      #expect(part.status == 206 && part.body == Array(bytes[5_000_000..<5_001_000]))
      #expect(try site.web.ask(small).text == "// small")
    }
  }

  @Test(
    "After a restart, a damaged block is never sent",
    arguments: ["", "Range: bytes=66000000-66100000\r\n"])
  func badBlock(field: String) throws {
    try Self.damaged { site, path, bytes, bad in
      let socket = try WebSocket(site.port)
      socket.send(Array("GET \(path) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\(field)\r\n".utf8))
      let answer = (try? socket.receiveAll()) ?? []
      let head = answer.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? answer.count
      if answer.starts(with: Array("HTTP/1.1 20".utf8)) {
        let (body, first) = (answer[head...], field.isEmpty ? 0 : 66_000_000)
        #expect(first + body.count <= bad.lowerBound)
        #expect(body.elementsEqual(bytes[first..<first + body.count]))
      } else {
        #expect(answer.starts(with: Array("HTTP/1.1 500".utf8)))
      }
      // Now the file is known to be damaged.
      #expect(
        try Wait.until(10) { try site.web.ask(path, "GET", ["Range": "bytes=0-99"]).status == 500 })
    }
  }
}
