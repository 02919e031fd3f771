import HTTP
import HTTPClient
import Manifests
import OriginAPI
import OriginClient
import Publishing
import System
import Values
import XCacheDevice

/// `xcache pull --version V` and `--at TIME`: a device at an earlier version, made from the origin's zip of it.
struct PullVersion {
  let remote: RemoteOrigin
  let device: Device
  let folder: String

  /// How long the origin may take to make a zip, in seconds.
  private static let timeout = 600

  /// Makes the device hold the version `word`, a number or a time.
  func run(_ word: String, progress: @escaping @Sendable (Progress) -> Void) throws -> PresetReport {
    let version = try number(word)
    let path = "\(folder)/.version-\(version).zip"
    defer { try? Kernel.remove(path) }
    try fetch(version, to: path)
    let report = try device.install(preset: path, progress: progress)
    guard report.isTaken || report.from == report.version else {
      throw Failure(
        "\(folder) already has version \(report.from), and devices accept only newer ones; give a new folder with --to "
          + "for version \(report.version)")
    }
    return report
  }

  private func number(_ word: String) throws -> String {
    if ManifestVersion(text: word) != nil { return word }
    // Only tokens that may read the log can look up versions by time.
    return try remote.api.release(word, of: try remote.address).value.version.text
  }

  private func fetch(_ version: String, to path: String) throws {
    let url = "\(try remote.server)/\(remote.channel.space)/\(try remote.app)/bundle/\(version).zip"
    // To a token that may read the channel, the origin gives every version that it keeps; to devices, only those in use.
    let fields: HTTPFields =
      try remote.credentialIfAny.map {
        [("Authorization", "Bearer \($0.token.text)")]
      } ?? []
    for _ in 0..<Self.timeout {
      let reply = try get(HTTPRequest("GET", url, fields: fields), to: path)
      if reply.status == 200 { return }
      let words = (try? JSONValue.parse(reply.body))?["message"]?.string
      // The zip is still being made.
      guard reply.status == 503 else { throw try refusal(of: url, reply.status, words) }
      Clock.sleep(for: .seconds(1))
    }
    throw Failure("\(url): the origin didn't finish the zip within \(Self.timeout) s; try again later")
  }

  private func get(_ request: HTTPRequest, to path: String) throws -> HTTPReply {
    let file = try Kernel.open(path, [.write, .create, .truncate, .noFollow])
    do throws(HTTPClientError) {
      return try remote.http.send(
        request, into: .stream(limit: 1 << 40, write: { try Kernel.write($0.bytes, to: file, path: path) }))
    } catch {
      if case .callback(let cause) = error { throw Failure("\(cause)") }
      throw OriginError.unreachable(server: try remote.server.text, error)
    }
  }

  private func refusal(of url: String, _ status: Int, _ words: String?) throws -> any Error {
    guard status == 404, let words else { return DeviceError.status(url: url, code: status, message: words) }
    return try DeviceRefusal(remote: remote).failure("\(url): \(words)", ofVersion: true)
  }
}
