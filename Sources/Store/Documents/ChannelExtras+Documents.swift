import Manifests

extension ChannelExtras {
  /// What every answer of `configure.json` carries of them.
  package var answerExtras: AnswerExtras {
    AnswerExtras(interval: interval, policy: policy?.version, prefetch: prefetch?.version)
  }

  /// `prefetchConfig.json` as devices get it.
  package var prefetchDocument: [UInt8] {
    Documents.prefetchConfig(prefetch?.version ?? 0, config: prefetch?.content ?? Array("[]".utf8))
  }

  /// `policy.json` as devices get it.
  package var policyDocument: [UInt8] {
    Documents.policy(policy?.version ?? 0, policy?.policy ?? .none)
  }
}

extension DocumentRecord {
  /// A policy's content; that of a channel without one where it can't be read.
  package var policy: Policy { (try? JSONValue.parse(content)).map { Policy(reading: $0) } ?? .none }
}
