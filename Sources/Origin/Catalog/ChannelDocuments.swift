import Manifests
import Store

/// A channel's documents beside its manifest, rendered, and what every answer says of them.
struct ChannelDocuments: Sendable {
  let extras: AnswerExtras
  let prefetch: CodedDocument
  let policy: CodedDocument

  /// What a channel has before anybody said anything.
  static let none = ChannelDocuments(ChannelExtras())

  init(_ state: ChannelExtras) {
    extras = state.answerExtras
    prefetch = .json(state.prefetchDocument)
    policy = .json(state.policyDocument)
  }
}
