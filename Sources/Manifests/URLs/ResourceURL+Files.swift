extension ResourceURL {
  /// The URL of a file under `base`: `path`, with `/` between its parts, percent-encoded byte by byte.
  ///
  /// Escaped are the standard's path set and `%`, `?`, `#` and `\`, which in a file name are themselves. A
  /// path that ends in `/`, or is empty, gives the URL of the folder.
  /// - Throws: `pathNotUTF8`, `path` (an empty part, `.` or `..`), `tooLong`.
  package static func mapping(base: BaseURL, path: [UInt8]) throws(ResourceURLError) -> ResourceURL {
    guard String(validating: path, as: UTF8.self) != nil else {
      throw ResourceURLError(text: String(decoding: path, as: UTF8.self), problem: .pathNotUTF8)
    }
    var text = Array(base.text.utf8)
    let parts = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for (i, part) in parts.enumerated() {
      let isFolder = part.isEmpty && i == parts.count - 1
      guard isFolder || !(part.isEmpty || part.elementsEqual(".".utf8) || part.elementsEqual("..".utf8))
      else {
        throw ResourceURLError(text: String(decoding: path, as: UTF8.self), problem: .path)
      }
      text.append(UInt8(ascii: "/"))
      for byte in part {
        if URLEscapes.inFileName(byte) { ASCII.appendEscape(of: byte, to: &text) } else { text.append(byte) }
      }
    }
    return try ResourceURL(String(decoding: text, as: UTF8.self))
  }

  /// The same for a path that is text.
  package static func mapping(base: BaseURL, path: String) throws(ResourceURLError) -> ResourceURL {
    try mapping(base: base, path: Array(path.utf8))
  }
}
