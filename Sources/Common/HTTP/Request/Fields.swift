/// The request fields that are looked up by name; a head stores the first occurrence of each.
package enum FieldName: UInt8, Sendable, CaseIterable {
  case accept, acceptEncoding, accessControlRequestHeaders, accessControlRequestMethod
  case authorization, availableDictionary, connection, contentEncoding, contentLength, contentType
  case dictionaryID, expect, host, ifMatch, ifModifiedSince, ifNoneMatch, ifRange, ifUnmodifiedSince
  case origin, range, referer, te, transferEncoding, userAgent, xForwardedFor, xForwardedProto

  /// The number of names.
  package static let count = 26

  /// The name's bit in a set of names.
  @inline(__always)
  package var bit: UInt32 { 1 &<< UInt32(rawValue) }

  /// The name in lowercase.
  package var name: StaticString {
    switch self {
    case .accept: "accept"
    case .acceptEncoding: "accept-encoding"
    case .accessControlRequestHeaders: "access-control-request-headers"
    case .accessControlRequestMethod: "access-control-request-method"
    case .authorization: "authorization"
    case .availableDictionary: "available-dictionary"
    case .connection: "connection"
    case .contentEncoding: "content-encoding"
    case .contentLength: "content-length"
    case .contentType: "content-type"
    case .dictionaryID: "dictionary-id"
    case .expect: "expect"
    case .host: "host"
    case .ifMatch: "if-match"
    case .ifModifiedSince: "if-modified-since"
    case .ifNoneMatch: "if-none-match"
    case .ifRange: "if-range"
    case .ifUnmodifiedSince: "if-unmodified-since"
    case .origin: "origin"
    case .range: "range"
    case .referer: "referer"
    case .te: "te"
    case .transferEncoding: "transfer-encoding"
    case .userAgent: "user-agent"
    case .xForwardedFor: "x-forwarded-for"
    case .xForwardedProto: "x-forwarded-proto"
    }
  }

  /// The known field name that equals `name`, ignoring case, or nil.
  ///
  /// Length and one letter leave a single candidate, so that at most one name is compared.
  package init?(_ name: RawSpan) {
    guard name.byteCount > 1, let candidate = FieldName.candidate(name) else { return nil }
    guard name.equalsIgnoringCase(candidate.name) else { return nil }
    self = candidate
  }

  private static func candidate(_ name: RawSpan) -> FieldName? {
    let first = name[0] | 0x20
    switch name.byteCount {
    case 2: return .te
    case 4: return .host
    case 5: return .range
    case 6: return first == 0x61 ? .accept : first == 0x65 ? .expect : .origin
    case 7: return .referer
    case 8: return name[3] | 0x20 == 0x6D ? .ifMatch : .ifRange
    case 10: return first == 0x63 ? .connection : .userAgent
    case 12: return .contentType
    case 13: return first == 0x61 ? .authorization : first == 0x64 ? .dictionaryID : .ifNoneMatch
    case 14: return .contentLength
    case 15: return first == 0x61 ? .acceptEncoding : .xForwardedFor
    case 16: return .contentEncoding
    case 17:
      return first == 0x69 ? .ifModifiedSince : first == 0x74 ? .transferEncoding : .xForwardedProto
    case 19: return first == 0x69 ? .ifUnmodifiedSince : nil
    case 20: return .availableDictionary
    case 29: return .accessControlRequestMethod
    case 30: return .accessControlRequestHeaders
    default: return nil
    }
  }
}

/// Iterates over the header lines of a head that was parsed without errors.
package struct FieldLines: ~Escapable {
  private let bytes: RawSpan
  private var index = 0

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan) { self.bytes = bytes }

  /// Returns the value of the next line named `name`, ignoring case, without surrounding blanks.
  @_lifetime(copy self)
  package mutating func next(named name: RawSpan) -> RawSpan? {
    while index < bytes.byteCount, let end = bytes.firstIndex(of: 0x0A, from: index) {
      let line = bytes.extracting(index..<max(index, end &- 1))
      index = end &+ 1
      guard let colon = line.firstIndex(of: 0x3A) else { continue }
      if line.extracting(0..<colon).equalsIgnoringCase(name) {
        return line.extracting((colon &+ 1)..<line.byteCount).trimmed
      }
    }
    return nil
  }

  /// Returns how many of the remaining lines are named `name`.
  func count(of name: FieldName) -> Int {
    var walk = FieldLines(bytes)
    walk.index = index
    var count = 0
    while walk.next(name) != nil { count += 1 }
    return count
  }

  /// Returns the value of the next line of a known field.
  @_lifetime(copy self)
  package mutating func next(_ name: FieldName) -> RawSpan? { next(named: RawSpan(name.name)) }
}

/// Iterates over the members of a comma-separated list (RFC 9110 §5.6.1), without blanks and empty members.
///
/// Commas inside quotes don't separate. A backslash there is an ordinary byte: entity tags have no escapes (§8.8.3),
/// and no list that is read here allows quoted strings.
package struct ListItems: ~Escapable {
  private let bytes: RawSpan
  private var index = 0

  /// Starts at the first member.
  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan) { self.bytes = bytes }

  /// Returns the next member, or nil at the end.
  @_lifetime(copy self)
  package mutating func next() -> RawSpan? {
    while index < bytes.byteCount {
      let start = index
      var quoted = false
      while index < bytes.byteCount, quoted || bytes[index] != 0x2C {
        if bytes[index] == 0x22 { quoted.toggle() }
        index &+= 1
      }
      let item = bytes.extracting(start..<index).trimmed
      index = min(index &+ 1, bytes.byteCount)
      if item.byteCount > 0 { return item }
    }
    return nil
  }
}
