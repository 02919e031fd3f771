import Backports

/// A parsed head, as offsets into its bytes.
package struct RequestHead: Sendable {
  /// The method.
  package var method = Method.other
  /// Whether the version is HTTP/1.1 or a later 1.x; false for HTTP/1.0.
  package var isHTTP11 = true
  /// The whole target, as it was sent until the path is normalised.
  package var target = ByteSlice.absent
  /// The path, or `*`; see ``PathNormaliser`` for when it can be compared.
  package var path = ByteSlice.absent
  /// The part after the first `?`.
  package var query = ByteSlice.absent
  /// Whether the target has a `?`.
  package var hasQuery = false
  /// The requested authority: the target's, else the Host field's.
  package var authority = ByteSlice.absent
  /// Whether the path holds `%`, `//` or `/.` and isn't normalised yet.
  package var pathNeedsNormalising = false
  /// The length of the body.
  package var bodyLength = BodyLength.none
  /// Whether the client wants to keep the connection after this request.
  package var keepAlive = true
  /// Whether the client waits to be told to send its body.
  package var expectsContinue = false
  /// The slices of the first value of each field in `present`, without surrounding blanks.
  #if canImport(Darwin)
    // InlineArray needs iOS 26.
    package var fields = [ByteSlice](repeating: .absent, count: 26)
  #else
    package var fields = InlineArray<26, ByteSlice>(repeating: .absent)
  #endif
  /// The known fields that are present, one bit each.
  package var present: UInt32 = 0
  /// The known fields that are on more than one line, one bit each.
  package var repeated: UInt32 = 0
  /// The slice of the header lines, for names that aren't known.
  package var lines = ByteSlice.absent
  /// The number of header lines.
  package var fieldCount: UInt16 = 0

  /// Creates an empty head.
  package init() {}

  /// Resets everything but `fields`, whose valid elements `present` names.
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

  /// Whether a field is present.
  package func has(_ name: FieldName) -> Bool { present & name.bit != 0 }

  /// Whether any of several fields is present; `names` holds their bits.
  package func hasAny(_ names: UInt32) -> Bool { present & names != 0 }

  /// Whether a field is on more than one line.
  package func isRepeated(_ name: FieldName) -> Bool {
    repeated & name.bit != 0
  }
}

/// A request method (RFC 9110 §9); methods that this server doesn't know are `other`.
package enum Method: UInt8, Sendable, Equatable {
  case get, head, options, put, post, delete, other

  /// The method that `token` spells; case matters.
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

  /// The method that a text spells; case matters.
  package init(_ text: String) { self.init(Array(text.utf8).span.bytes) }

  /// The method as in a request line; `-` for an unknown one.
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

/// A slice of a head, as 16-bit offsets into its bytes; four bytes in all.
package struct ByteSlice: Sendable, Equatable {
  /// The offset of its first byte.
  package var start: UInt16
  /// The number of bytes.
  package var count: UInt16

  /// No slice: nothing of interest starts at offset 0 of a head.
  package static let absent = ByteSlice(start: 0, count: 0)

  /// Creates a slice of `count` bytes from `start` on.
  package init(start: UInt16, count: UInt16) {
    self.start = start
    self.count = count
  }

  /// Creates a slice from a range, whose ends must fit in 16 bits.
  package init(_ range: Range<Int>) {
    start = UInt16(truncatingIfNeeded: range.lowerBound)
    count = UInt16(truncatingIfNeeded: range.count)
  }

  /// Whether there is no slice.
  package var isAbsent: Bool { start == 0 }
  /// The slice as a range of indices.
  package var range: Range<Int> { Int(start)..<Int(start) &+ Int(count) }
}
