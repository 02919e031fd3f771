import Manifests
import Platform

/// What a `configure.json` says to a device.
struct PollAnswer: Sendable {
  enum Content: Sendable {
    case upToDate
    case whole(digest: String, map: JSONObject)
    case patch(base: ManifestVersion, digest: String, changes: JSONObject)
  }

  let version: ManifestVersion
  let content: Content
  /// Seconds that the operator asks devices to wait between polls.
  let interval: Int64?

  /// Reads a document; keys that aren't known here are passed over.
  init(_ bytes: [UInt8]) throws(PollFault) {
    let document: JSONValue
    do {
      document = try JSONValue.parse(bytes)
    } catch {
      throw .notJSON(error)
    }
    guard let code = document["code"]?.integer else { throw .member("code") }
    guard code == 200 else { throw .code(Int(clamping: code), document["message"]?.string) }
    guard let data = document["data"], data.object != nil else { throw .member("data") }
    guard let version = data["version"]?.string.flatMap({ ManifestVersion(text: $0) }) else {
      throw .member("data.version")
    }
    self.version = version
    interval = data["interval"]?.integer
    content = try Self.content(of: data)
  }

  private static func content(of data: JSONValue) throws(PollFault) -> Content {
    guard let isNew = data["update"]?.bool else { throw .member("data.update") }
    guard isNew else { return .upToDate }
    guard let digest = data["digest"]?.string else { throw .member("data.digest") }
    if let map = data["resourcemap"] {
      guard let map = map.object else { throw .member("data.resourcemap") }
      return .whole(digest: digest, map: map)
    }
    guard let changes = data["patch"]?.object else { throw .member("data.resourcemap") }
    guard let base = data["base"]?.string.flatMap({ ManifestVersion(text: $0) }) else {
      throw .member("data.base")
    }
    return .patch(base: base, digest: digest, changes: changes)
  }
}

/// Why a document is no good answer to a poll.
enum PollFault: Error, Hashable, Sendable {
  case notJSON(JSONError)
  /// The document's `code` isn't 200.
  case code(Int, String?)
  /// A member is missing, or isn't what the design says.
  case member(String)
}

extension ClientError {
  init(_ fault: PollFault, url: String) {
    switch fault {
    case .notJSON: self = .unreadable(url: url, reason: "it isn't JSON")
    case .code(let code, let message): self = .status(url: url, code: code, message: message)
    case .member(let name): self = .unreadable(url: url, reason: "\"\(name)\" is missing or wrong")
    }
  }

  init(_ fault: ManifestFault, url: String) {
    switch fault {
    case .entry(let entry, let error):
      var reason = "the entry of \(entry) is no entry"
      if case .member(let name) = error { reason = "\"\(name)\" of \(entry) is missing or wrong" }
      self = .unreadable(url: url, reason: reason)
    case .unsafe(let entry, let download): self = .unsafeEntry(url: entry, download: download)
    case .sameName(let name, let urls): self = .sameName(name: name, urls: urls)
    }
  }
}
