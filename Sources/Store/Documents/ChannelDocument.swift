import Manifests
import System

/// A document that a channel has beside its manifest, with a counter of its own.
package enum ChannelDocument: String, Hashable, Sendable, CaseIterable {
  case policy, prefetch
}

/// A version of a document, and how it came to be.
package struct DocumentRecord: Hashable, Sendable {
  /// The acts that make a version.
  package enum Kind: String, Hashable, Sendable {
    case push, rollback, restore, set, bypass, kill, resume, script
  }

  /// Its number.
  package let version: Int64
  /// The act that made it.
  package let kind: Kind
  /// The version whose content a rollback brought back.
  package let source: Int64?
  /// Milliseconds since 1970.
  package let at: Int64
  /// Who made it.
  package let author: String
  /// What that one said of it; may be empty.
  package let message: String
  /// The newest release of the channel then; 0: none yet.
  package let manifestVersion: ManifestVersion
  /// Canonical JSON; empty in a log, which doesn't read it.
  package let content: [UInt8]
}

/// Who changes a document, how and why.
package struct DocumentRequest: Sendable {
  /// The channel's app.
  package let app: AppName
  /// The channel.
  package let channel: ChannelName
  /// Which of its documents.
  package let document: ChannelDocument
  /// The act.
  package let kind: DocumentRecord.Kind
  /// Who acts.
  package let author: String
  /// Why; may be empty.
  package let message: String
  /// Refuse where the document changed after this version.
  package let ifVersion: Int64?
  /// The version whose content a rollback brings back.
  package var source: Int64?
  /// Where the request came from; empty where no network did.
  package var address = ""
  /// The hosts that the token is limited to; nil: all.
  package var hosts: HostList?

  /// A request without an address.
  package init(
    app: AppName, channel: ChannelName, document: ChannelDocument, kind: DocumentRecord.Kind, author: String,
    message: String, ifVersion: Int64? = nil, source: Int64? = nil
  ) {
    self.app = app
    self.channel = channel
    self.document = document
    self.kind = kind
    self.author = author
    self.message = message
    self.ifVersion = ifVersion
    self.source = source
  }
}

/// What became of a request to change a document.
package enum DocumentOutcome: Sendable {
  case changed(DocumentRecord, replaced: DocumentRecord?)
  /// It is as it was asked to be; nil where there is none.
  case unchanged(DocumentRecord?)
  /// It changed after the version that the request allows: this is the newest.
  case conflict(DocumentRecord)
}

/// Everything that a channel says beside its manifest.
package struct ChannelExtras: Hashable, Sendable {
  /// The newest policy; nil: none.
  package var policy: DocumentRecord?
  /// The newest prefetch config; nil: none.
  package var prefetch: DocumentRecord?
  /// Seconds between polls that the operator asks for.
  package var interval: Int?
  /// Of 10,000 batches of what devices count, how many they shall send; nil: not said, so all.
  package var reports: Int?

  /// Nothing.
  package init() {}
}

extension ChannelExtras {
  /// The prefetch config of a channel that has none: an empty one.
  static let noPrefetch = Array("[]".utf8)

  /// What every answer of `configure.json` carries of them.
  package var answerExtras: AnswerExtras {
    AnswerExtras(
      interval: interval, policy: policy?.version, prefetch: prefetch?.version, reports: reports)
  }

  /// `prefetchConfig.json` as devices get it.
  package var prefetchDocument: [UInt8] {
    Documents.prefetchConfig(prefetch?.version ?? 0, config: prefetch?.content ?? Self.noPrefetch)
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

extension DocumentRequest {
  /// What the audit trail says of a new version of a document.
  func act(_ record: DocumentRecord) -> AuditAct {
    AuditAct(
      "\(document.rawValue).\(kind.rawValue)", app: app, channel: channel,
      parameters: ["message": .string(message), "source": source.map { .string(String($0)) } ?? .null],
      result: ["sha256": .string(SHA256.of(record.content).hex), "version": .string(String(record.version))])
  }
}
