import Manifests

/// Paths of a mirror's files, from its root, names unescaped: `xcache/1/3/1/…/https%3A%2F%2F…`.
package enum MirrorPath {
  /// Whether a path that a document names stays below the root.
  static func isSafe(_ path: String) -> Bool {
    !path.isEmpty && !path.utf8.contains(0)
      && path.split(separator: "/", omittingEmptySubsequences: false).allSatisfy {
        !$0.isEmpty && $0 != "." && $0 != ".."
      }
  }

  /// The path as it stands in a URL.
  static func escaped(_ path: String) -> String {
    var out: [UInt8] = []
    out.reserveCapacity(path.utf8.count + 32)
    for byte in path.utf8 {
      if byte == UInt8(ascii: "%") { out.append(contentsOf: "%25".utf8) } else { out.append(byte) }
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// Where an entry's download is below its public URL; nil where the text is no download URL.
  static func ofDownload(_ download: String) -> (base: String, path: DownloadPath)? {
    var slashes = 0
    var index = download.utf8.endIndex
    while index > download.utf8.startIndex {
      download.utf8.formIndex(before: &index)
      guard download.utf8[index] == UInt8(ascii: "/") else { continue }
      slashes += 1
      guard slashes == 6 else { continue }
      let rest = Array(download.utf8[download.utf8.index(after: index)...])
      return DownloadPath(parsing: rest.span.bytes).map { (String(download[..<index]), $0) }
    }
    return nil
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

  /// `{space}/{app id}/…`: an app's name begins with a letter.
  static func isResource(_ path: String) -> Bool {
    let parts = path.split(separator: "/", maxSplits: 2)
    return parts.count == 3 && parts[0].hasPrefix("xcache")
      && parts[1].utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}
