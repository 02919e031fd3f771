import Manifests
import XCacheClient

/// What an origin's paths for devices refuse, called as its API calls it: they say in words alone what isn't there.
struct DeviceRefusal {
  let remote: RemoteOrigin

  /// Does what a device does.
  /// - Throws: what `work` throws; where an origin has no such app or channel, with the API's code.
  func naming<Result>(_ work: () throws -> Result) throws -> Result {
    do {
      return try work()
    } catch let error as ClientError {
      guard case .status(_, 404, _?) = error else { throw error }
      throw try failure("\(error)", ofVersion: false)
    }
  }

  /// - Parameter ofVersion: whether a version was asked for, of a channel that may well be there.
  func failure(_ message: String, ofVersion: Bool) throws -> Failure {
    if ofVersion, try isThere(remote.channel) { return Failure(message, name: "unknown-version") }
    let isApp = try remote.channel == .online || !isThere(.online)
    return Failure(message, name: isApp ? "unknown-app" : "unknown-channel")
  }

  /// Whether a channel's smallest document is there.
  private func isThere(_ channel: ChannelName) throws -> Bool {
    let url = "\(try remote.server)/\(channel.space)/\(try remote.app)/policy.json"
    let transport = remote.transport(connections: 1)
    let reply = try? transport.get(TransportRequest(url, limit: 16 << 20)) { _ in true }
    return reply?.status == 200
  }
}
