/// Why coded bytes could not be decoded.
package enum CodingError: Error, Equatable, Sendable {
  /// The bytes are no such coding, or end too early.
  case damaged
  /// The bytes are a delta on another base.
  case otherBase
  /// Decoding would give more than the caller allows.
  case overLimit
}
