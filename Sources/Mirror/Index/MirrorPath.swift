import Manifests

/// Paths of a mirror's files, from its root, names unescaped: `xcache/1/3/1/…/https%3A%2F%2F…`.
package enum MirrorPath {
  /// Whether a path that a document names stays below the root.
  static func isSafe(_ path: String) -> Bool {
    // Bytes of the segment so far, and how many of them are dots.
    var (count, dots) = (0, 0)
    func ends() -> Bool { count > 0 && !(count == dots && count <= 2) }
    for byte in path.utf8 {
      switch byte {
      case 0: return false
      case UInt8(ascii: "/"):
        guard ends() else { return false }
        (count, dots) = (0, 0)
      default:
        count += 1
        if byte == UInt8(ascii: ".") { dots += 1 }
      }
    }
    return ends()
  }

  /// The type of a mirror's own document, or of anything else that isn't a resource.
  static func documentType(_ path: String) -> String {
    switch path.split(separator: ".").last {
    case "json": "application/json"
    case "js": "application/javascript"
    case "zip": "application/zip"
    default: "application/octet-stream"
    }
  }

  /// Whose a file is, as its path says.
  enum Owner: Hashable {
    /// A document of a channel.
    case document(MirroredChannel)
    /// A resource; a path has the app's id.
    case resource(ChannelName, appID: Int64)
    /// A delta, which all apps of a channel's name share.
    case delta(ChannelName)
  }

  /// nil: no run ever wrote a file with such a path.
  static func owner(_ path: String) -> Owner? {
    let parts = path.split(separator: "/", maxSplits: 2)
    guard parts.count == 3, let channel = ChannelName(space: parts[0]) else { return nil }
    if parts[1] == "delta" { return .delta(channel) }
    if let id = Int64(parts[1]), String(id) == parts[1] { return .resource(channel, appID: id) }
    return (try? AppName(String(parts[1]))).map { .document(MirroredChannel($0, channel)) }
  }

  /// `{space}/{app id}/…`: an app's name begins with a letter.
  static func isResource(_ path: String) -> Bool {
    let parts = path.split(separator: "/", maxSplits: 2)
    return parts.count == 3 && parts[0].hasPrefix("xcache")
      && parts[1].utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}
