/// How serious something is that needs attention.
package enum ProblemSeverity: String, Hashable, Sendable, Comparable {
  /// Devices or releases may be affected.
  case warning
  /// They are affected now.
  case error

  package static func < (a: Self, b: Self) -> Bool { a == .warning && b == .error }
}

/// Which problem is meant.
package struct ProblemName: Hashable, Sendable {
  /// The channel's id; nil: the origin's own.
  package let channel: Int64?
  /// As in the API's overview, such as `lagging`.
  package let code: String
  /// Which of several of that code in that place, such as a webhook's id; empty if there can be only one.
  package let subject: String

  /// Creates a name. A subject that is too long to be kept is cut off.
  package init(channel: Int64?, code: String, subject: String = "") {
    self.channel = channel
    self.code = code
    self.subject = String(subject.unicodeScalars.prefix(Self.longest))
  }

  /// Unicode scalars of a subject.
  private static let longest = 1024
}

/// Somebody's word that a problem is known.
package struct ProblemAcknowledgement: Hashable, Sendable {
  /// The name of whoever said so.
  package let author: String
  /// Milliseconds since 1970, as all times here.
  package let at: Int64
  package let reason: String
  /// When it ends by itself.
  package let until: Int64

  /// Creates an acknowledgement.
  package init(author: String, at: Int64, reason: String, until: Int64) {
    self.author = author
    self.at = at
    self.reason = reason
    self.until = until
  }

  /// Whether it holds at a moment, in milliseconds since 1970. What a clock said that was ahead doesn't, or it might hold for years.
  package func holds(at now: Int64) -> Bool { until > now && at <= now.addingClamped(Self.slack) }

  /// Milliseconds by which clocks are set back at most without anything being wrong: an hour.
  private static let slack: Int64 = 3_600_000
}

/// A problem as it is kept.
package struct ProblemRecord: Hashable, Sendable {
  package let name: ProblemName
  package var severity: ProblemSeverity
  /// When it began, as far as that is known, else when it was first seen; in milliseconds since 1970.
  package var since: Int64
  /// Nil if nobody acknowledged it. It may be over.
  package var acknowledgement: ProblemAcknowledgement?

  /// Creates a record.
  package init(
    name: ProblemName, severity: ProblemSeverity, since: Int64,
    acknowledgement: ProblemAcknowledgement? = nil
  ) {
    self.name = name
    self.severity = severity
    self.since = since
    self.acknowledgement = acknowledgement
  }
}
