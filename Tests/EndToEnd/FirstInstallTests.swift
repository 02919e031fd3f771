import Compression
import Manifests
import SocketServer
import System
import Testing
import TestSupport
import Values

/// `xcache pull` of an app of 80 MB by a first pack: two requests, and the memory that it takes (docs/protocol.md §11, D-179).
@Suite struct FirstInstallTests {
  private static let count = 160

  /// A channel with one version, and its first pack, of files that a compressor gains a little on.
  private struct Channel {
    let document: @Sendable (String) -> [UInt8]
    let pack: [UInt8]
    let bytes: Int64

    init() throws {
      let files = (0..<FirstInstallTests.count).map { _ in
        Secrets.random(450_000) + [UInt8](repeating: 0x20, count: 74_000)
      }
      let items = files.map { FirstPackItem(SHA256.of($0), size: Int64($0.count)) }
      let head = try FirstPackHead(version: ManifestVersion(1), items: items)
      var pack = head.bytes
      let encoder = PackFrameEncoder(size: head.total, level: 1)
      for file in files {
        encoder.push(file.span.bytes) { piece in piece.withUnsafeBytes { pack.append(contentsOf: $0) } }
      }
      encoder.finish { piece in piece.withUnsafeBytes { pack.append(contentsOf: $0) } }
      self.pack = pack
      let size = Int64(pack.count)
      bytes = files.reduce(0) { $0 + Int64($1.count) }
      let digests = files.map { file in
        var hasher = FileHasher()
        hasher.update(file.span.bytes)
        return hasher.finish()
      }
      document = { server in
        let items = digests.enumerated().compactMap { index, digest -> ManifestItem? in
          guard let url = try? ResourceURL("https://m.example.com/\(index).bin") else { return nil }
          let entry = Entry(
            ctype: "application/octet-stream", download: "\(server)/file/\(index)", md5: digest.md5,
            sha256: digest.sha256, size: digest.size, version: 1)
          return ManifestItem(url: url, entry: entry)
        }
        let map = Manifest(version: ManifestVersion(1), items: items).map
        return Documents.whole(
          ManifestVersion(1), map,
          first: PackOffer(download: "\(server)/pack/0-1.xpk", size: size))
      }
    }
  }

  @Test("80 MB take two requests, and at most 16 MB of memory", .disabled(if: Privileges.hasSanitizer))
  func installs() throws {
    let channel = try Channel()
    let address = Locked("")
    let asked = Locked<[String]>([])
    let server = SocketServer { request in
      asked.withLock { $0.append(request.path) }
      if request.path.contains("&version=1") {
        return .answer(body: Array(#"{"code":200,"data":{"update":false,"version":"1"}}"#.utf8))
      }
      if request.path.hasPrefix("/configure.json") {
        return .answer(body: channel.document(address.withLock { $0 }))
      }
      return request.path.hasSuffix(".xpk") ? .answer(body: channel.pack) : .answer(404)
    }
    address.withLock { $0 = server.url }
    let scratch = try Scratch()
    func pull() throws -> (report: JSONValue, peak: Int) {
      let child = try Child(
        [
          Binary.path, "pull", "--server", server.url, "--to", "device", "--app", "shop", "--force", "--json",
        ],
        environment: ["PATH": "/usr/bin:/bin", "HOME": scratch.path, "SWIFT_BACKTRACE": "enable=no"],
        in: scratch.path)
      let outcome = try Outcome(child, seconds: 300)
      #expect(outcome.exitCode == 0, "\(outcome.errors)")
      return (try JSONValue.parse(Array(outcome.output.utf8)), outcome.peakMemory)
    }
    let (report, peak) = try pull()
    let update = try #require(report["update"])
    #expect(update["fetched"]?.integer == Int64(Self.count) && update["bytesTotal"]?.integer == channel.bytes)
    #expect(update["bytesFetched"]?.integer == Int64(channel.pack.count))
    #expect(asked.withLock { $0.count } == 2)
    // A second pull holds the same, and fetches nothing.
    let (nothing, idle) = try pull()
    #expect(nothing["update"]?["kept"]?.integer == Int64(Self.count))
    print("first install of \(channel.bytes >> 20) MiB: \(peak >> 20) MiB, idle \(idle >> 20) MiB")
    #expect(idle > 1 << 20 && peak - idle < 16 << 20)
  }
}
