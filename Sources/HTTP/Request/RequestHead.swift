/// What a parsed head says, as offsets into the bytes it was parsed from.
package struct RequestHead: Sendable {
  /// What is asked for.
  package var method = Method.other
  /// HTTP/1.1 or a later 1.x; false: HTTP/1.0.
  package var isHTTP11 = true
  /// The whole target, as it was sent until the path is normalised.
  package var target = ByteSlice.absent
  /// The path, or `*`; see ``PathNormaliser`` for when it may be compared.
  package var path = ByteSlice.absent
  /// What follows the first `?`, without it.
  package var query = ByteSlice.absent
  /// The target has a `?`.
  package var hasQuery = false
  /// The authority that was asked for: the target's, else the Host field's.
  package var authority = ByteSlice.absent
  /// The path holds `%`, `//` or `/.` and isn't normal yet.
  package var pathNeedsNormalising = false
  /// How long the body is.
  package var bodyLength = BodyLength.none
  /// The client wants to go on after this request.
  package var keepAlive = true
  /// The client waits to be told to send its body.
  package var expectsContinue = false
  /// Where the first value of each field that is `present` stands, without blanks around it.
  #if canImport(Darwin)
    // InlineArray needs iOS 26.
    package var fields = [ByteSlice](repeating: .absent, count: 26)
  #else
    package var fields = InlineArray<26, ByteSlice>(repeating: .absent)
  #endif
  /// The known fields that are there, one bit each.
  package var present: UInt32 = 0
  /// The known fields that stand on more than one line, one bit each.
  package var repeated: UInt32 = 0
  /// Where the header lines begin and end, for the names that aren't known.
  package var lines = ByteSlice.absent
  /// How many header lines there are.
  package var fieldCount: UInt16 = 0

  /// A head of which nothing was read.
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

  /// Whether a field is there.
  package func has(_ name: FieldName) -> Bool { present & name.bit != 0 }

  /// Whether one of several fields is there; `names` is their bits.
  package func hasAny(_ names: UInt32) -> Bool { present & names != 0 }

  /// Whether a field stands on more than one line.
  package func isRepeated(_ name: FieldName) -> Bool {
    repeated & name.bit != 0
  }
}

/// What a request asks for (RFC 9110 §9); methods this server doesn't know are `other`.
package enum Method: UInt8, Sendable, Equatable {
  case get, head, options, put, post, delete, other

  /// The method spelled by `token`, in which case matters.
  package init(_ token: RawSpan) {
    self =
      if token.equals("GET") {
        .get
      } else if token.equals("HEAD") {
        .head
      } else if token.equals("POST") {
        .post
      } else if token.equals("PUT") {
        .put
      } else if token.equals("DELETE") {
        .delete
      } else if token.equals("OPTIONS") {
        .options
      } else {
        .other
      }
  }

  /// The method as a request line has it; `-` for one that is not known.
  package var name: StaticString {
    switch self {
    case .get: "GET"
    case .head: "HEAD"
    case .options: "OPTIONS"
    case .put: "PUT"
    case .post: "POST"
    case .delete: "DELETE"
    case .other: "-"
    }
  }
}

/// A piece of a head, as 16-bit offsets into its bytes; four bytes in all.
package struct ByteSlice: Sendable, Equatable {
  /// Where it begins.
  package var start: UInt16
  /// How many bytes it has.
  package var count: UInt16

  /// No piece: nothing of interest starts at offset 0 of a head.
  package static let absent = ByteSlice(start: 0, count: 0)

  /// `count` bytes from `start` on.
  package init(start: UInt16, count: UInt16) {
    self.start = start
    self.count = count
  }

  /// The piece `range`, whose ends must fit 16 bits.
  package init(_ range: Range<Int>) {
    start = UInt16(truncatingIfNeeded: range.lowerBound)
    count = UInt16(truncatingIfNeeded: range.count)
  }

  /// It is no piece.
  package var isAbsent: Bool { start == 0 }
  /// The same as indices.
  package var range: Range<Int> { Int(start)..<Int(start) &+ Int(count) }
}
