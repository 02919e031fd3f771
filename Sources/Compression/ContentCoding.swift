/// How a body is coded on its way (RFC 9110 §8.4.1); the raw value is the coding's registered name.
package enum ContentCoding: String, CaseIterable, Sendable {
  case gzip
  case zstd
}

/// Why coded bytes could not be decoded.
package enum CodingError: Error, Equatable, Sendable {
  /// The bytes are no such coding, or end too early.
  case damaged
  /// Decoding would give more than the caller allows.
  case overLimit
}
