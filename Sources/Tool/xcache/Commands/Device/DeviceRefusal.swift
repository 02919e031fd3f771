import Manifests
import Values
import XCacheDevice

/// Gives errors from an origin's device paths the API's error codes; the paths only return a message about what is missing.
struct DeviceRefusal {
  let remote: RemoteOrigin

  /// Runs `work`, which does what a device does.
  /// - Throws: What `work` throws; with the API's code if the origin doesn't have the app or channel.
  func naming<Result>(_ work: () throws -> Result) throws -> Result {
    do {
      return try work()
    } catch let error as DeviceError {
      guard case .status(_, 404, let message) = error else { throw error }
      // An origin says what it lacks; where there are only files, nobody does.
      guard message != nil else {
        guard try has("version.json", in: remote.channel) else { throw error }
        throw Failure(
          "\(error) Or is this a static copy? Give it as --fallback, and the origin as --server.",
          name: "static-copy")
      }
      throw try failure("\(error)", ofVersion: false)
    }
  }

  /// Returns the failure; `ofVersion` says that a version was requested, whose channel may exist.
  func failure(_ message: String, ofVersion: Bool) throws -> Failure {
    if ofVersion, try isThere(remote.channel) { return Failure(message, name: "unknown-version") }
    let isApp = try remote.channel == .online || !isThere(.online)
    // The message ends with a sentence of what to check.
    let suggestion = suggestion(isApp).replacing("; did", with: " Did")
    return Failure(message + suggestion, name: isApp ? "unknown-app" : "unknown-channel")
  }

  /// Names the nearest app or channel that the token may read; devices' paths name none.
  private func suggestion(_ isApp: Bool) -> String {
    guard let app = try? remote.app, let channels = try? remote.api.channels().value.channels else {
      return ""
    }
    return isApp
      ? Spelling.suggestion(for: app.text, among: Set(channels.map(\.app.text)).sorted())
      : Spelling.suggestion(
        for: remote.channel.text, among: channels.filter { $0.app == app }.map(\.channel.text).sorted())
  }

  /// Whether a channel exists, judged by its smallest document.
  private func isThere(_ channel: ChannelName) throws -> Bool { try has("policy.json", in: channel) }

  /// Whether the server has a document of a channel, as origins and static copies have them.
  private func has(_ document: String, in channel: ChannelName) throws -> Bool {
    let url = "\(try remote.server)/\(channel.space)/\(try remote.app)/\(document)"
    let transport = remote.transport(connections: 1)
    let reply = try? transport.get(TransportRequest(url, limit: 16 << 20)) { _ in true }
    return reply?.status == 200
  }
}
