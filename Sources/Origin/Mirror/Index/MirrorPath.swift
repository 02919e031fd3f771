import Manifests

/// The paths of a mirror's files, from its root, with unescaped names: `xcache/1/3/1/…/https%3A%2F%2F…`.
package enum MirrorPath {
  /// Whether a path from a document stays below the root.
  static func isSafe(_ path: String) -> Bool {
    // The bytes of the current segment, and how many of them are dots.
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

  /// Returns the content type of a mirror's own document, or of any other file that isn't a resource.
  static func documentType(_ path: String) -> String {
    switch path.split(separator: ".").last {
    case "json": "application/json"
    case "js": "application/javascript"
    case "zip": "application/zip"
    default: "application/octet-stream"
    }
  }

  /// What a file belongs to, according to its path.
  enum Owner: Hashable {
    /// A document of a channel.
    case document(MirroredChannel)
    /// A resource; its path has the app's ID.
    case resource(ChannelName, appID: Int64)
    /// A delta, shared by all apps of a channel name.
    case delta(ChannelName)
  }

  /// Returns the owner of a path, or nil if no run writes such paths.
  static func owner(_ path: String) -> Owner? {
    let parts = path.split(separator: "/", maxSplits: 2)
    guard parts.count == 3, let channel = ChannelName(space: parts[0]) else { return nil }
    if parts[1] == "delta" { return .delta(channel) }
    if let id = Int64(parts[1]), String(id) == parts[1] { return .resource(channel, appID: id) }
    return (try? AppName(String(parts[1]))).map { .document(MirroredChannel($0, channel)) }
  }

  /// Whether a path is `{space}/{app id}/…`; app names begin with a letter.
  static func isResource(_ path: String) -> Bool {
    let parts = path.split(separator: "/", maxSplits: 2)
    return parts.count == 3 && parts[0].hasPrefix("xcache")
      && parts[1].utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}
