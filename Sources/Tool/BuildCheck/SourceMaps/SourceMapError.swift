/// Why bytes aren't a source map that can be read.
package enum SourceMapError: Error, Hashable, Sendable {
  /// Larger than `SourceMap.sizeLimit`.
  case tooLarge
  /// Not a JSON object, or cut off; with the offset in bytes.
  case notJSON(at: Int)
  /// Its member `version` isn't 3, or is missing.
  case notVersion3
  /// It has neither `mappings` nor `sections`.
  case noMappings
  /// `mappings` isn't what ECMA-426 says; with the offset in bytes.
  case mappings(at: Int)
  /// More sections than `SourceMap.sectionLimit`, or sections within a section.
  case sections

  /// What is wrong, in words that follow the file's name and "is not a source map that can be read: ".
  package var message: String {
    switch self {
    case .tooLarge: "it is larger than \(SourceMap.sizeLimit >> 20) MB"
    case .notJSON(let offset): "it is no JSON object at byte \(offset)"
    case .notVersion3: "its \"version\" isn't 3"
    case .noMappings: "it has no \"mappings\""
    case .mappings(let offset): "its \"mappings\" are malformed at byte \(offset)"
    case .sections: "it has more than \(SourceMap.sectionLimit) sections, or sections in a section"
    }
  }
}
