import Manifests
import Platform

extension DocumentRequest {
  /// What the audit trail says of a new version of a document.
  func act(_ record: DocumentRecord) -> AuditAct {
    AuditAct(
      "\(document.rawValue).\(kind.rawValue)", app: app, channel: channel,
      parameters: ["message": .string(message), "source": source.map { .string(String($0)) } ?? .null],
      result: ["sha256": .string(SHA256.of(record.content).hex), "version": .string(String(record.version))])
  }
}
