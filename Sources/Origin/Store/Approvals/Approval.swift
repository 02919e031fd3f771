import Manifests
import System
import Values

/// How many others have to approve what is done to a channel.
package struct Protection: Hashable, Sendable {
  /// How many approvals an act waits for, 1 to `maxApprovals`.
  package let approvals: Int
  /// Who may approve: a pattern of names; nil: whoever may decide over releases of the channel.
  package let approvers: ApproverGlob?
  /// Steps of a rollout up to this share, of 10,000 devices, wait for no approval.
  package let share: Int

  /// The most approvals that an act can be made to wait for.
  package static let maxApprovals = 9

  /// Creates a protection; nil for numbers out of range.
  package init?(approvals: Int, approvers: ApproverGlob? = nil, share: Int = 0) {
    guard (1...Self.maxApprovals).contains(approvals), (0...RolloutRule.all).contains(share) else {
      return nil
    }
    self.approvals = approvals
    self.approvers = approvers
    self.share = share
  }
}

/// A pattern of the names of those who may approve: `*` matches any characters, `?` one; alternatives are separated by commas.
package struct ApproverGlob: Hashable, Sendable, CustomStringConvertible {
  /// The pattern as written.
  package let text: String

  /// The pattern as written.
  package var description: String { text }

  /// The most bytes of a pattern.
  package static let limit = 256

  /// Creates a pattern; nil for an empty or too long text, an empty alternative, and control characters.
  package init?(_ text: String) {
    guard (1...Self.limit).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
      text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty })
    else { return nil }
    self.text = text
  }

  /// Whether a name of a token or a person matches.
  package func matches(_ name: String) -> Bool { Wildcard.matches(anyOf: text, name) }
}

/// Someone's consent to an act.
package struct Approval: Hashable, Sendable {
  /// Tells those who approve apart, whatever they signed in with (`AccessToken.approverKey`).
  package let approver: String
  /// The id of the token with which it was given.
  package let token: String
  /// The name of that token or person.
  package let name: String
  /// When it was given, in milliseconds since 1970.
  package let at: Int64

  /// Whether the holder of a token gave it, as far as can be told.
  package func isBy(_ caller: AccessToken) -> Bool { caller.isSame(as: approver, named: name) }
}

extension AccessToken {
  /// Whether its holder is somebody whose `authorKey` and name were kept.
  ///
  /// A token that was made again has another id, and a person who has a token of their name has two keys: where either is a token's, one
  /// name counts as one person. Two people who sign in may have one name.
  func isSame(as key: String, named name: String) -> Bool {
    authorKey == key || name == self.name && (authorKey.hasPrefix("token:") || key.hasPrefix("token:"))
  }
}

/// The approvals that an act takes and has.
package struct ApprovalStanding: Hashable, Sendable {
  /// How many it takes: as many as when it was asked for, or as the channel takes now if that is more.
  package let required: Int
  /// Those that count, in the order in which they were given: the tokens of the others were revoked, or they aren't named any more.
  package let given: [Approval]
  /// Who may approve; nil: whoever may decide over releases of the channel.
  package let approvers: ApproverGlob?
  /// Who asked for the act, who therefore may not approve it.
  package let author: String

  /// How many more it takes.
  package var missing: Int { max(0, required - given.count) }
}

/// Why someone may not approve or reject an act.
package enum ApprovalRefusal: Hashable, Sendable {
  /// It is their own.
  case author
  /// CI jobs approve nothing.
  case job
  /// The channel's pattern of approvers doesn't match their name.
  case notNamed(ApproverGlob, name: String)
  /// Their token is for other bundles.
  case bundles(BundleGlob)
}
