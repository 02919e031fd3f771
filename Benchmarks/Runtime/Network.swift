import Manifests
import System
import Values
import XCacheDevice

/// An origin in memory with one version, and a count of what it was asked.
final class Network: Transport {
  private let bodies: [String: [UInt8]]
  private let count = Locked(0)

  /// How many requests came.
  var asked: Int { count.withLock { $0 } }

  /// - Parameter count: files of the one version; 0: nobody answers.
  init(count: Int) {
    var bodies: [String: [UInt8]] = [:]
    var map = JSONObject()
    for number in 0..<count {
      let file = Self.file(number)
      let url = "https://m.test/assets/chunk-\(number).js"
      let download = Self.download(of: url, file)
      bodies[download] = file
      map[url] = [
        "ctype": "text/javascript;charset=UTF-8", "download": .string(download),
        "md5": .string(MD5.of(file).hex), "sha256": .string(SHA256.of(file).hex),
        "size": .integer(file.count), "version": "1",
      ]
    }
    let digest = SHA256.of(JSONValue.object(map).canonical).hex
    let answer: JSONValue = [
      "code": 200,
      "data": [
        "digest": .string(digest), "resourcemap": .object(map), "update": true, "version": "1",
      ],
    ]
    if count > 0 {
      bodies["https://origin.test/configure.json?app=shop&channel=online&patch=1"] = answer.canonical
    }
    self.bodies = bodies
  }

  /// As an origin makes it.
  private static func download(of url: String, _ file: [UInt8]) -> String {
    guard let channel = try? ChannelName("online"), let address = try? ResourceURL(url),
      let base = try? BaseURL("https://cdn.test")
    else { fatalError("they are right") }
    return DownloadPath(
      channel: channel, appID: 1, manifestVersion: ManifestVersion(1), resourceVersion: 1,
      sha256: SHA256.of(file), url: address
    ).url(publicURL: base)
  }

  /// 1 to 9 KB, 5 on average: 2,000 of them are about the 10 MB of the memory cache.
  static func size(_ number: Int) -> Int { 1024 + number * 7919 % 8192 }

  static func file(_ number: Int) -> [UInt8] {
    let text = Array("export const part\(number)=\(number);\n".utf8)
    return (0..<size(number)).map { text[$0 % text.count] }
  }

  func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    count.withLock { $0 += 1 }
    guard let body = bodies[request.url] else { throw TransportError(.unreachable, "nobody is there") }
    guard receive(body.span.bytes) else { throw TransportError(.stopped, "stopped") }
    return TransportReply(status: 200, received: Int64(body.count))
  }
}
