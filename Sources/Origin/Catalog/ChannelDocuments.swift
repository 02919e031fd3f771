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
    extras = AnswerExtras(
      interval: state.interval, policy: state.policy?.version, prefetch: state.prefetch?.version)
    prefetch = .json(
      Documents.prefetchConfig(
        state.prefetch?.version ?? 0, config: state.prefetch?.content ?? Array("[]".utf8)))
    policy = .json(Documents.policy(state.policy?.version ?? 0, state.policy?.policy ?? .none))
  }
}

extension DocumentRecord {
  /// A policy's content; that of a channel without one where it can't be read.
  var policy: Policy { (try? JSONValue.parse(content)).map { Policy(reading: $0) } ?? .none }
}
