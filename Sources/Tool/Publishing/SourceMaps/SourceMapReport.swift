import OriginAPI

/// What a publish did with source maps.
package struct SourceMapReport: Sendable {
  /// Which maps belong to which files.
  package let pairing: SourceMapPairing
  /// What the origin did with them; nil in a dry run, and if they couldn't be sent.
  package internal(set) var answer: SourceMapAnswer?
  /// Why the maps of a release that created its channel couldn't be stored; nil if they were.
  package internal(set) var problem: PublishError?
}
