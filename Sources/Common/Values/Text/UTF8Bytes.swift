#if canImport(Darwin)
  /// UTF-8, copied: `utf8Span` needs iOS 26.
  package typealias UTF8Bytes = [UInt8]
#else
  /// UTF-8, in place.
  package typealias UTF8Bytes = Span<UInt8>
#endif

extension String {
  #if canImport(Darwin)
    /// The text's bytes.
    package var utf8Bytes: UTF8Bytes { Array(utf8) }
  #else
    /// The text's bytes.
    package var utf8Bytes: UTF8Bytes { @_lifetime(borrow self) get { utf8Span.span } }
  #endif
}
