/// One thing that a check-up of a data folder found.
package struct Finding: Hashable, Sendable {
  package enum Kind: String, Sendable {
    /// Something that the origin promises does not hold.
    case damage
    /// Nothing is wrong, but someone may want to know.
    case note
  }

  package let kind: Kind
  /// A word that stays the same, for programs.
  package let code: String
  /// What, and where.
  package let text: String

  static func damage(_ code: String, _ text: String) -> Finding {
    Finding(kind: .damage, code: code, text: text)
  }

  static func note(_ code: String, _ text: String) -> Finding { Finding(kind: .note, code: code, text: text) }
}

/// What a check-up looked at, and what it found.
package struct Checkup: Sendable {
  package internal(set) var findings: [Finding] = []
  package internal(set) var releases = 0
  package internal(set) var blobs = 0
  /// Rows of the audit trail that follow each other from the first on.
  package internal(set) var acts: Int64 = 0
  /// Bytes that were hashed; 0 unless the check-up was a deep one.
  package internal(set) var hashed: Int64 = 0

  package var isClean: Bool { !findings.contains { $0.kind == .damage } }
}
