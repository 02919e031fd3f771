/// What a parsed head says, as offsets into the bytes it was parsed from.
package struct RequestHead: Sendable {
  package var method = Method.other
  /// HTTP/1.1 or a later 1.x; false: HTTP/1.0.
  package var isHTTP11 = true
  /// The whole target, as it was sent until the path is normalised.
  package var target = ByteSlice.absent
  /// The path, or `*`; see ``PathNormaliser`` for when it may be compared.
  package var path = ByteSlice.absent
  /// What follows the first `?`, without it.
  package var query = ByteSlice.absent
  package var hasQuery = false
  /// The authority that was asked for: the target's, else the Host field's.
  package var authority = ByteSlice.absent
  /// The path holds `%`, `//` or `/.` and isn't normal yet.
  package var pathNeedsNormalising = false
  package var bodyLength = BodyLength.none
  /// The client wants to go on after this request.
  package var keepAlive = true
  package var expectsContinue = false
  /// Where the first value of each field that is `present` stands, without blanks around it.
  package var fields = InlineArray<26, ByteSlice>(repeating: .absent)
  /// The known fields that are there, one bit each.
  package var present: UInt32 = 0
  /// The known fields that stand on more than one line, one bit each.
  package var repeated: UInt32 = 0
  /// Where the header lines begin and end, for the names that aren't known.
  package var lines = ByteSlice.absent
  package var fieldCount: UInt16 = 0

  package init() {}

  /// Forgets everything but `fields`, of which `present` says what counts.
  mutating func restart() {
    method = .other
    isHTTP11 = true
    target = .absent
    path = .absent
    query = .absent
    hasQuery = false
    authority = .absent
    pathNeedsNormalising = false
    bodyLength = .none
    keepAlive = true
    expectsContinue = false
    present = 0
    repeated = 0
    lines = .absent
    fieldCount = 0
  }

  package func has(_ name: FieldName) -> Bool { present & name.bit != 0 }

  /// Whether one of several fields is there; `names` is their bits.
  package func hasAny(_ names: UInt32) -> Bool { present & names != 0 }

  package func isRepeated(_ name: FieldName) -> Bool {
    repeated & name.bit != 0
  }
}
