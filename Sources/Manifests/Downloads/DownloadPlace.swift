/// A download URL taken apart: the public URL, and the path below it.
package struct DownloadPlace: Hashable, Sendable {
  /// Without a slash at its end.
  package let base: String
  package let path: DownloadPath

  /// Segments of a `DownloadPath`.
  private static let depth = 6

  /// nil where the text is no download URL.
  package init?(_ download: String) {
    let bytes = download.utf8
    var index = bytes.endIndex
    var slashes = 0
    while slashes < Self.depth {
      guard index > bytes.startIndex else { return nil }
      bytes.formIndex(before: &index)
      if bytes[index] == UInt8(ascii: "/") { slashes += 1 }
    }
    let rest = Array(bytes[bytes.index(after: index)...])
    guard let path = DownloadPath(parsing: rest.span.bytes) else { return nil }
    base = String(download[..<index])
    self.path = path
  }
}
