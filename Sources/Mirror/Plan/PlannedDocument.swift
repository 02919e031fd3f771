/// A document of a channel's mirror: where it is, and how its bytes are made.
struct PlannedDocument: Sendable {
  /// When it is written: a document never names what a later one brings.
  enum Stage: Int, Comparable, CaseIterable, Sendable {
    /// Documents of one version.
    case versioned
    /// The newest of each kind.
    case current
    /// What devices look at first.
    case newest

    static func < (a: Stage, b: Stage) -> Bool { a.rawValue < b.rawValue }
  }

  /// From the mirror's root.
  let path: String
  let stage: Stage
  /// Whether a document that was once written under this path stays right.
  let isFixed: Bool
  let bytes: @Sendable () throws(MirrorError) -> [UInt8]
}
