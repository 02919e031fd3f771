/// A content coding that an answer may have (RFC 9110 §8.4.1, RFC 8878, RFC 9842).
package enum BodyCoding: UInt8, Sendable, CaseIterable {
  case identity, gzip, zstd, dcz

  package var name: StaticString {
    switch self {
    case .identity: "identity"
    case .gzip: "gzip"
    case .zstd: "zstd"
    case .dcz: "dcz"
    }
  }
}
