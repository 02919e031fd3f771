import System

/// Something in a file that looks like a secret. The value itself is kept nowhere.
package struct Secret: Hashable, Sendable {
  /// What it is, with its article: `a private key`.
  package let noun: String
  /// Its place; nil if the file's name says it.
  package let position: TextPosition?
}

/// Finds the secrets in a file's name and contents.
package enum SecretFile {
  /// How much of a large file is read at a time.
  private static let pieceCount = 1 << 20
  /// A file with a zero byte in its first part is no text, and isn't searched (as in git's `buffer_is_binary`).
  private static let textStart = 8000

  /// Up to this size, a text in UTF-16 is searched: it is converted as a whole.
  private static let wideLimit = 16 << 20

  /// Finds the secrets in a text, in UTF-8 or another encoding that has ASCII, or in UTF-16.
  /// - Parameter isText: whether a zero byte doesn't make it a binary file: its name says that it is a text.
  package static func secrets(in bytes: [UInt8], isText: Bool = false) -> [Secret] {
    if let form = WideForm(bytes.prefix(textStart)) { return secrets(in: form.utf8(bytes), isText: true) }
    if !isText, bytes.prefix(textStart).contains(0) { return [] }
    var search = SecretSearch()
    bytes.withUnsafeBufferPointer { search.search($0, 0..<bytes.count, at: 0) }
    return search.matches.map { Secret(noun: $0.noun, position: TextPosition(of: $0.offset, in: bytes)) }
  }

  /// The names of texts: what is published under them is read as text, zero bytes or not.
  private static let texts: Set<String> = [
    "js", "mjs", "cjs", "html", "htm", "css", "json", "map", "svg", "txt", "xml", "yaml", "yml", "md",
    "webmanifest",
  ]

  private static func isText(_ path: String) -> Bool {
    guard let dot = path.utf8.lastIndex(of: UInt8(ascii: ".")) else { return false }
    return texts.contains(path[path.index(after: dot)...].lowercased())
  }

  /// Finds the secrets in a file; nil if it doesn't exist.
  package static func secrets(inFile path: String) throws(SystemError) -> [Secret]? {
    guard let file = try Kernel.openExisting(path, [.read, .nonBlocking]) else { return nil }
    return try secrets(in: file, size: try Kernel.status(file).size, isText: isText(path))
  }

  /// Finds the secrets in an open file, which is read piece by piece.
  package static func secrets(
    in file: borrowing Descriptor, size: Int64, isText: Bool = false
  ) throws(SystemError) -> [Secret] {
    if size <= Int64(pieceCount) {
      var bytes = [UInt8](repeating: 0, count: Int(size))
      let count = try read(file, at: 0, into: &bytes, from: 0)
      return secrets(in: count == bytes.count ? bytes : Array(bytes[..<count]), isText: isText)
    }
    if size <= Int64(wideLimit) {
      var start = [UInt8](repeating: 0, count: textStart)
      if try read(file, at: 0, into: &start, from: 0) == textStart, WideForm(start[...]) != nil {
        var bytes = [UInt8](repeating: 0, count: Int(size))
        let count = try read(file, at: 0, into: &bytes, from: 0)
        return secrets(in: Array(bytes[..<count]))
      }
    }
    var search = SecretSearch()
    var buffer = [UInt8](repeating: 0, count: pieceCount + 2 * SecretSearch.context)
    // `buffer[..<count]` begins at `start` in the file, and `searched` bytes of it are done.
    var (start, count, searched) = (0, 0, 0)
    while true {
      let read = try read(file, at: Int64(start + count), into: &buffer, from: count)
      count += read
      if start == 0, !isText, buffer.prefix(min(count, textStart)).contains(0) { return [] }
      let end = read == 0 ? count : max(searched, count - SecretSearch.context)
      buffer.withUnsafeBufferPointer {
        search.search(UnsafeBufferPointer(rebasing: $0[..<count]), searched..<end, at: start)
      }
      if read == 0 { break }
      let kept = max(0, end - SecretSearch.context)
      buffer.replaceSubrange(0..<count - kept, with: Array(buffer[kept..<count]))
      (start, count, searched) = (start + kept, count - kept, end - kept)
    }
    return try locations(of: search.matches, in: file)
  }

  /// Returns the matches with their places, for which the file is read again; nearly no file has any.
  private static func locations(of matches: [SecretSearch.Match], in file: borrowing Descriptor)
    throws(SystemError) -> [Secret]
  {
    if matches.isEmpty { return [] }
    var buffer = [UInt8](repeating: 0, count: pieceCount)
    var position = TextPosition(of: 0, in: [])
    var start = 0
    var secrets: [Secret] = []
    var left = matches.sorted { $0.offset < $1.offset }[...]
    while !left.isEmpty {
      let count = try read(file, at: Int64(start), into: &buffer, from: 0)
      var from = 0
      while let match = left.first, match.offset < start + count || count == 0 {
        let end = max(from, min(count, match.offset - start))
        position = position.advanced(over: buffer[from..<end])
        secrets.append(Secret(noun: match.noun, position: position))
        from = end
        left.removeFirst()
      }
      position = position.advanced(over: buffer[from..<count])
      start += count
    }
    return secrets
  }

  /// Reads until the buffer is full or the file ends.
  private static func read(
    _ file: borrowing Descriptor, at offset: Int64, into buffer: inout [UInt8], from first: Int
  ) throws(SystemError) -> Int {
    var done = first
    while done < buffer.count {
      let result = buffer.withUnsafeMutableBytes { bytes in
        Result { () throws(SystemError) in
          try Kernel.read(
            file, at: offset + Int64(done - first),
            into: UnsafeMutableRawBufferPointer(rebasing: bytes[done...]))
        }
      }
      let count = try result.get()
      if count == 0 { break }
      done += count
    }
    return done - first
  }
}
