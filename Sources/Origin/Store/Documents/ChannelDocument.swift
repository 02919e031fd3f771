import Manifests
import System
import Trust
import Values

/// A document that a channel has besides its manifest, with versions of its own.
package enum ChannelDocument: String, Hashable, Sendable, CaseIterable {
  case policy, prefetch
}

/// A version of a document, and how it was made.
package struct DocumentRecord: Hashable, Sendable {
  /// The acts that make a version.
  package enum Kind: String, Hashable, Sendable {
    case push, rollback, restore, set, bypass, kill, resume, script
  }

  /// The version number.
  package let version: Int64
  /// The act that made it.
  package let kind: Kind
  /// The version whose content a rollback brought back.
  package let source: Int64?
  /// Milliseconds since 1970.
  package let at: Int64
  /// The author.
  package let author: String
  /// The author's message; may be empty.
  package let message: String
  /// The channel's newest release at that time; 0 if there was none yet.
  package let manifestVersion: ManifestVersion
  /// Canonical JSON; empty in a log, which doesn't read it.
  package let content: [UInt8]
  /// For a prefetch config that went along with a candidate and isn't, or never was, the channel's: the state of the rollout.
  package var rollout: String?
}

/// A request to change a document.
package struct DocumentRequest: Sendable {
  /// The channel's app.
  package let app: AppName
  /// The channel.
  package let channel: ChannelName
  /// The document to change.
  package let document: ChannelDocument
  /// The kind of act.
  package let kind: DocumentRecord.Kind
  /// The author.
  package let author: String
  /// The reason; may be empty.
  package let message: String
  /// Refuse the change if the document changed after this version.
  package let ifVersion: Int64?
  /// The version whose content a rollback brings back.
  package var source: Int64?
  /// The network address of the request; empty if it didn't come over a network.
  package var address = ""
  /// The hosts that the token is limited to; nil: all.
  package var hosts: HostList?
  /// The statement for a prefetch config, in an app with a root.
  package var statement: Signed<PrefetchStatement>?
  /// Why a prefetch config is changed in a frozen channel; nil: a freeze refuses it. A policy can always be changed.
  package var breakGlass: String?

  /// Creates a request without an address.
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

/// The outcome of a request to change a document.
package enum DocumentOutcome: Sendable {
  /// - Parameter ended: the rollout whose prefetch config it took the place of, with its state afterwards.
  case changed(DocumentRecord, replaced: DocumentRecord?, ended: Rollout? = nil)
  /// The document already is as requested; nil if there is none.
  case unchanged(DocumentRecord?)
  /// The document changed after the version that the request allows; with its newest version.
  case conflict(DocumentRecord)
}

/// A channel's documents and settings besides its manifest.
package struct ChannelExtras: Hashable, Sendable {
  /// The newest policy; nil if there is none.
  package var policy: DocumentRecord?
  /// The newest prefetch config; nil if there is none.
  package var prefetch: DocumentRecord?
  /// The prefetch config that goes along with the candidate of the open rollout; nil: none does.
  package var candidatePrefetch: DocumentRecord?
  /// The seconds between polls that devices are asked for.
  package var interval: Int?
  /// How many of 10,000 batches of counts devices should send; nil if not set, which means all.
  package var reports: Int?
  /// Whether devices send error samples.
  package var takesSamples = true
  /// The number of the newest root; nil if the app has none.
  package var root: Int64?
  /// The envelope of the prefetch config's statement, in canonical form; nil if there is none.
  package var prefetchTrust: [UInt8]?
  /// The same for the config that goes along with the candidate.
  package var candidatePrefetchTrust: [UInt8]?

  /// Creates extras without a document or a setting.
  package init() {}
}

extension ChannelExtras {
  /// The prefetch config of a channel that has none: an empty one.
  static let noPrefetch = Array("[]".utf8)

  /// What each `configure.json` contains of them.
  package var answerExtras: AnswerExtras {
    AnswerExtras(
      interval: interval, policy: policy?.version, prefetch: prefetch?.version, reports: reports,
      samples: takesSamples ? nil : 0, root: root)
  }

  /// `prefetchConfig.json` as sent to devices.
  package var prefetchDocument: [UInt8] {
    Documents.prefetchConfig(
      prefetch?.version ?? 0, config: prefetch?.content ?? Self.noPrefetch,
      trust: prefetchTrust)
  }

  /// `prefetchConfig/N.json`: the config that goes along with a candidate; nil if none does.
  package var candidateDocument: (version: Int64, bytes: [UInt8])? {
    candidatePrefetch.map {
      ($0.version, Documents.prefetchConfig($0.version, config: $0.content, trust: candidatePrefetchTrust))
    }
  }

  /// `policy.json` as sent to devices.
  package var policyDocument: [UInt8] {
    Documents.policy(policy?.version ?? 0, policy?.policy ?? .none)
  }
}

extension DocumentRecord {
  /// The content as a policy; if it can't be read, the policy of a channel without one.
  package var policy: Policy { (try? JSONValue.parse(content)).map { Policy(reading: $0) } ?? .none }
}

extension DocumentRequest {
  /// The audit trail's record of a new version of a document.
  func act(_ record: DocumentRecord) -> AuditEvent {
    AuditEvent(
      "\(document.rawValue).\(kind.rawValue)", app: app, channel: channel,
      parameters: ["message": .string(message), "source": source.map { .string(String($0)) } ?? .null],
      result: ["sha256": .string(SHA256.of(record.content).hex), "version": .string(String(record.version))])
  }
}
