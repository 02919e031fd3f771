import System

/// Finds what matters in the bytes of a source map, in one pass and without a tree of its values.
struct SourceMapReader {
  private let bytes: [UInt8]
  private var at = 0

  /// What is found.
  struct Document {
    var file: String?
    var sections: [SourceMap.Section] = []
  }

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Reads the document.
  /// - Throws: `SourceMapError`
  mutating func read() throws(SourceMapError) -> Document {
    // ECMA-426, "JSON values utilities": a first line that begins with )]}' keeps the file from being run as a script.
    if bytes.starts(with: Array(")]}'".utf8)) {
      while at < bytes.count, bytes[at] != UInt8(ascii: "\n") { at += 1 }
    } else if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
      at = 3
    }
    var document = Document()
    var own = SourceMap.Section()
    let found = try map(&own, &document, isSection: false)
    guard found.isVersion3 else { throw .notVersion3 }
    guard found.hasMappings || found.hasSections else { throw .noMappings }
    // An index map has no mappings of its own.
    if !found.hasSections { document.sections = [own] }
    document.sections.sort { ($0.line, $0.column) < ($1.line, $1.column) }
    return document
  }

  private typealias Found = (isVersion3: Bool, hasMappings: Bool, hasSections: Bool)

  /// Reads a map's members into a section. Of those that are there twice, the last one counts.
  private mutating func map(
    _ section: inout SourceMap.Section, _ document: inout Document, isSection: Bool
  ) throws(SourceMapError) -> Found {
    var found: Found = (false, false, false)
    try object { (self, key) throws(SourceMapError) in
      switch key {
      case "version": found.isVersion3 = try self.integer() == 3
      case "file" where !isSection: document.file = try self.text()
      case "sourceRoot":
        let root = try self.text() ?? ""
        section.root = root.isEmpty || root.hasSuffix("/") ? root : root + "/"
      case "sources": section.sources = try self.texts()
      case "sourcesContent": section.contents = try self.texts()
      case "names": section.names = try self.texts()
      case "mappings":
        section.mappings = try self.string()
        found.hasMappings = true
      case "sections":
        if isSection { throw .sections }
        document.sections = []
        try self.array { (self) throws(SourceMapError) in
          guard document.sections.count < SourceMap.sectionLimit else { throw .sections }
          document.sections.append(try self.section(&document))
        }
        found.hasSections = true
      default: try self.skip()
      }
    }
    return found
  }

  /// Reads `{"offset": {"line": L, "column": C}, "map": {…}}`.
  private mutating func section(_ document: inout Document) throws(SourceMapError) -> SourceMap.Section {
    var section = SourceMap.Section()
    try object { (self, key) throws(SourceMapError) in
      switch key {
      case "offset":
        try self.object { (self, key) throws(SourceMapError) in
          switch key {
          case "line": section.line = try self.integer() ?? 0
          case "column": section.column = try self.integer() ?? 0
          default: try self.skip()
          }
        }
      case "map": _ = try self.map(&section, &document, isSection: true)
      default: try self.skip()
      }
    }
    return section
  }

  // MARK: - JSON

  private var isAtEnd: Bool { at >= bytes.count }
  private var fault: SourceMapError { .notJSON(at: at) }

  private mutating func skipSpace() {
    while at < bytes.count, bytes[at] == 0x20 || bytes[at] == 0x0A || bytes[at] == 0x0D || bytes[at] == 0x09 {
      at += 1
    }
  }

  /// Moves behind a byte, if it comes next.
  private mutating func take(_ byte: Unicode.Scalar) -> Bool {
    skipSpace()
    guard at < bytes.count, bytes[at] == UInt8(ascii: byte) else { return false }
    at += 1
    return true
  }

  /// Reads an object; `member` reads the value of each key. Keys with escapes are none that matter.
  private mutating func object(
    _ member: (inout SourceMapReader, String) throws(SourceMapError) -> Void
  ) throws(SourceMapError) {
    guard take("{") else { throw fault }
    if take("}") { return }
    repeat {
      let key = try string()
      guard take(":") else { throw fault }
      let name = key.count > 32 ? "" : String(decoding: bytes[key], as: UTF8.self)
      try member(&self, name)
    } while take(",")
    guard take("}") else { throw fault }
  }

  private mutating func array(
    _ element: (inout SourceMapReader) throws(SourceMapError) -> Void
  ) throws(SourceMapError) {
    guard take("[") else { throw fault }
    if take("]") { return }
    repeat { try element(&self) } while take(",")
    guard take("]") else { throw fault }
  }

  /// Reads a string; returns the range of what is between the quotes.
  private mutating func string() throws(SourceMapError) -> Range<Int> {
    guard take("\"") else { throw fault }
    let start = at
    let bytes = bytes
    let span = bytes.span
    var place = at
    while place < span.count {
      let byte = span[place]
      if byte == UInt8(ascii: "\"") {
        at = place + 1
        return start..<place
      }
      place += byte == UInt8(ascii: "\\") ? 2 : 1
    }
    at = span.count
    throw fault
  }

  /// Reads a string or null, of at most 1,024 bytes.
  private mutating func text() throws(SourceMapError) -> String? {
    skipSpace()
    guard !isAtEnd, bytes[at] == UInt8(ascii: "\"") else {
      try skip()
      return nil
    }
    return JSONText.decode(bytes, try string(), limit: 1024)
  }

  /// Reads an array of strings and nulls; anything else in it counts as null.
  private mutating func texts() throws(SourceMapError) -> JSONTextList {
    skipSpace()
    guard !isAtEnd, bytes[at] == UInt8(ascii: "[") else {
      try skip()
      return JSONTextList()
    }
    var list = JSONTextList()
    try array { (self) throws(SourceMapError) in
      self.skipSpace()
      list.append(at: self.at)
      try self.skip()
    }
    return list
  }

  /// Reads a whole number from 0 to 2^31 − 1; nil for any other value.
  private mutating func integer() throws(SourceMapError) -> Int? {
    skipSpace()
    let start = at
    try skip()
    let text = bytes[start..<at]
    guard (1...10).contains(text.count), text.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    let number = text.reduce(0) { $0 * 10 + Int($1) - 0x30 }
    return number <= Int(Int32.max) ? number : nil
  }

  /// Moves behind a value, whose brackets are only counted.
  private mutating func skip() throws(SourceMapError) {
    var depth = 0
    repeat {
      skipSpace()
      guard !isAtEnd else { throw fault }
      switch bytes[at] {
      case UInt8(ascii: "\""): _ = try string()
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        depth += 1
        at += 1
      case UInt8(ascii: "]"), UInt8(ascii: "}"):
        depth -= 1
        guard depth >= 0 else { throw fault }
        at += 1
      case UInt8(ascii: ","), UInt8(ascii: ":"):
        guard depth > 0 else { throw fault }
        at += 1
      default: try word()
      }
    } while depth > 0
  }

  /// Moves behind a number, true, false or null.
  private mutating func word() throws(SourceMapError) {
    let start = at
    while at < bytes.count, Self.isOfWord(bytes[at]) { at += 1 }
    guard at > start else { throw fault }
  }

  private static func isOfWord(_ byte: UInt8) -> Bool {
    TextBytes.isLetter(byte) || TextBytes.isDigit(byte) || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: "+")
      || byte == UInt8(ascii: ".")
  }
}
