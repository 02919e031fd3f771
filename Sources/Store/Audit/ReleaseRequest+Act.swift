import Manifests

extension ReleaseInput {
  /// What the audit trail says of a release that was made.
  func act(_ outcome: ReleaseOutcome) -> AuditAct {
    var parameters = JSONObject()
    parameters["breakGlass"] = breakGlass.map { .string($0) }
    parameters["bundles"] = .strings(bundles.map(\.name.text))
    parameters["message"] = .string(message)
    if let source {
      parameters["from"] = .string(source.channel.name.text)
      parameters["fromVersion"] = .string(source.version.text)
    }
    return AuditAct(
      kind.rawValue, app: app, channel: channel, parameters: .object(parameters),
      result: [
        "added": .integer(outcome.counts.added), "changed": .integer(outcome.counts.changed),
        "digest": outcome.channel?.digest.map { .string($0.hex) } ?? .null,
        "removed": .integer(outcome.counts.removed), "version": .string(outcome.version.text),
      ])
  }
}
