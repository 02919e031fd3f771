/// A source map (ECMA-426): where each place of a script or style that a build tool made was in the text that it was made of.
///
/// The bytes stay as they are: of the document only the places of what matters are kept, and of `mappings` one state for every few
/// kilobytes. So a map takes little more memory than its file, and a position is found by decoding a few kilobytes.
package struct SourceMap: Sendable {
  /// The size of the largest map that is read, in bytes.
  package static let sizeLimit = 64 << 20
  /// How many maps an index map may consist of.
  package static let sectionLimit = 10_000

  /// A place in the text that a script was made of.
  package struct Place: Hashable, Sendable {
    /// The source file: `sourceRoot` and the name in `sources`, at most 1,024 bytes.
    package let file: String
    /// From 1.
    package let line: Int
    /// From 1, in UTF-16 units.
    package let column: Int
    /// The name that stood there, if the map has one; at most 256 bytes.
    package let name: String?
    /// Where the text is, for `excerpt`.
    fileprivate let text: Range<Int>?
  }

  /// Lines of a source file.
  package struct Excerpt: Hashable, Sendable {
    package let lines: [String]
    /// The number of the first one, from 1.
    package let firstLine: Int
  }

  /// The file that the map says it is of, if it does; at most 1,024 bytes.
  package let file: String?

  private let bytes: [UInt8]
  /// In the order of their offsets; one that begins at 0 if the map isn't an index map.
  private let sections: [Section]

  /// A map, or one of an index map.
  struct Section: Sendable {
    /// Where it begins in the generated file, from 0.
    var (line, column) = (0, 0)
    var root = ""
    var sources = JSONTextList()
    var contents = JSONTextList()
    var names = JSONTextList()
    var mappings = 0..<0
    /// States of the decoder, in the order of `mappings`.
    var marks: [MappingDecoder] = []
  }

  /// Reads a map.
  /// - Throws: `SourceMapError`
  package init(_ bytes: [UInt8]) throws(SourceMapError) {
    guard bytes.count <= Self.sizeLimit else { throw .tooLarge }
    var reader = SourceMapReader(bytes)
    let document = try reader.read()
    var sections = document.sections
    for index in sections.indices {
      sections[index].marks = try MappingDecoder.marks(sections[index].mappings, in: bytes)
    }
    (self.bytes, self.sections, file) = (bytes, sections, document.file)
  }

  /// The memory that it takes, in bytes, near enough.
  package var cost: Int {
    sections.reduce(bytes.count) {
      $0 + $1.marks.count * MemoryLayout<MappingDecoder>.stride + MemoryLayout<Section>.stride
    }
  }

  /// Returns where a place in the generated file was made of; nil if the map doesn't tell.
  /// - Parameters:
  ///   - line: from 1.
  ///   - column: from 1, in UTF-16 units. What stands there began at the last place of the map up to it.
  package func place(line: Int, column: Int) -> Place? {
    guard line > 0, column > 0 else { return nil }
    let (line, column) = (line - 1, column - 1)
    let after = sections.firstIndex { ($0.line, $0.column) > (line, column) } ?? sections.count
    guard after > 0 else { return nil }
    let section = sections[after - 1]
    let found = MappingDecoder.segment(
      line: line - section.line, column: line == section.line ? column - section.column : column,
      section.mappings, section.marks, in: bytes)
    guard let found, found.hasSource, found.sourceLine >= 0, found.sourceColumn >= 0,
      let source = section.sources.range(found.source, in: bytes)
    else { return nil }
    let name = found.hasName ? section.names.range(found.name, in: bytes) : nil
    return Place(
      file: JSONText.cut(section.root + JSONText.decode(bytes, source, limit: 1024), to: 1024),
      line: found.sourceLine + 1, column: found.sourceColumn + 1,
      name: name.map { JSONText.decode(bytes, $0, limit: 256) },
      text: section.contents.range(found.source, in: bytes))
  }

  /// Returns up to five lines around a place, each at most 200 bytes; nil if the map doesn't contain the text.
  package func excerpt(at place: Place) -> Excerpt? {
    guard let text = place.text else { return nil }
    let first = max(0, place.line - 3)
    let lines = JSONText.lines(first..<place.line + 2, of: text, in: bytes)
    guard lines.count > place.line - 1 - first else { return nil }
    return Excerpt(lines: lines.map { JSONText.decode(bytes, $0, limit: 200) }, firstLine: first + 1)
  }
}
