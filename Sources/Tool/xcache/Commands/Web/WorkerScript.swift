/// The script of a site's own worker, into which a line can be inserted; all other bytes stay as they are.
struct WorkerScript {
  private let bytes: [UInt8]
  /// The script with comments blanked.
  private let code: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    code = Self.withoutComments(bytes)
  }

  /// Whether it mentions a file outside comments.
  func names(_ file: String) -> Bool { String(decoding: code, as: UTF8.self).contains(file) }

  /// Whether it has `import` or `export` at the start of a statement.
  var isModule: Bool {
    var isStart = true
    for (index, byte) in code.enumerated() {
      if isStart, let after = word("import", at: index) ?? word("export", at: index) {
        let rest = code[after...].drop(while: Self.isSpace)
        // Except import(…) and import.meta, which scripts have, too, and longer names.
        if let next = rest.first {
          let isName = Self.isName(next) && rest.startIndex > after
          if isName || "\"'{*".utf8.contains(next) { return true }
        }
      }
      if !Self.isSpace(byte) || byte == UInt8(ascii: "\n") {
        isStart = byte == UInt8(ascii: ";") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "}")
      }
    }
    return false
  }

  /// Returns the script with a line at its start, but after a byte order mark and directives such as "use strict", which must
  /// come first.
  func beginning(with line: String) -> [UInt8] {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    var position = code.starts(with: mark) ? mark.count : 0
    while let end = directive(from: position) { position = end }
    let isFirst = position == 0 || position == mark.count && code.starts(with: mark)
    return Array(bytes[..<position]) + Array((isFirst ? line + "\n" : "\n" + line + "\n").utf8)
      + Array(bytes[position...])
  }

  /// Returns the end of a directive that begins at a position.
  private func directive(from position: Int) -> Int? {
    let rest = code[position...].drop(while: Self.isSpace)
    guard let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
      let close = rest.dropFirst().firstIndex(of: quote)
    else { return nil }
    let behind = code[(close + 1)...]
    let next = behind.drop(while: Self.isSpace)
    if next.first == UInt8(ascii: ";") { return next.startIndex + 1 }
    // Without a semicolon, a directive ends at the end of the line, unless an operator continues it.
    guard let byte = next.first else { return code.count }
    let isNewLine = behind[..<next.startIndex].contains(UInt8(ascii: "\n"))
    return isNewLine && (Self.isName(byte) || "\"'{".utf8.contains(byte)) ? close + 1 : nil
  }

  private func word(_ text: String, at position: Int) -> Int? {
    code[position...].starts(with: text.utf8) ? position + text.utf8.count : nil
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

  private static func isName(_ byte: UInt8) -> Bool {
    (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "_")
      || byte == UInt8(ascii: "$") || byte >= 0x80
  }

  private static func withoutComments(_ bytes: [UInt8]) -> [UInt8] {
    var code = bytes
    var quote: UInt8?
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      let next = index + 1 < bytes.count ? bytes[index + 1] : 0
      if let open = quote {
        if byte == UInt8(ascii: "\\") {
          index += 1
        } else if byte == open || byte == UInt8(ascii: "\n") && open != UInt8(ascii: "`") {
          quote = nil
        }
        index += 1
      } else if byte == UInt8(ascii: "/"), next == UInt8(ascii: "/") {
        while index < bytes.count, bytes[index] != UInt8(ascii: "\n") {
          code[index] = 0x20
          index += 1
        }
      } else if byte == UInt8(ascii: "/"), next == UInt8(ascii: "*") {
        let start = index
        index += 2
        while index < bytes.count,
          !(bytes[index - 1] == UInt8(ascii: "*") && bytes[index] == UInt8(ascii: "/") && index > start + 2)
        {
          index += 1
        }
        index = min(index + 1, bytes.count)
        for position in start..<index where bytes[position] != UInt8(ascii: "\n") { code[position] = 0x20 }
      } else {
        if "\"'`".utf8.contains(byte) { quote = byte }
        index += 1
      }
    }
    return code
  }
}
