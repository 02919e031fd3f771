import Manifests
import System
import Values

/// What a channel's newest content is, by a key that is online: it can choose among what publishers signed, no more.
package struct TrustHead: TrustDocument {
  package static let payloadType = "application/vnd.xcache.head+json"

  /// A version that a part of the devices takes.
  package struct Candidate: Hashable, Sendable {
    /// The digest of its manifest.
    package let digest: SHA256
    /// Its version, and who takes it.
    package let rule: RolloutRule

    package init(digest: SHA256, rule: RolloutRule) {
      self.digest = digest
      self.rule = rule
    }
  }

  package let app: AppName
  /// That of the root under which it is taken; nil if that has none.
  package let environment: TrustEnvironment?
  package let channel: ChannelName
  /// The full version.
  package let version: ManifestVersion
  /// The digest of its manifest.
  package let digest: SHA256
  /// The open candidate.
  package let candidate: Candidate?
  /// The version of the policy; 0 before the first one.
  package let policy: Int64
  /// The version of the prefetch config; 0 before the first one.
  package let prefetch: Int64
  /// When it was signed.
  package let at: TrustTime
  /// Until when devices expect to see a newer one.
  package let until: TrustTime

  /// - Throws: `member`, for what no reader would take.
  package init(
    app: AppName, environment: TrustEnvironment? = nil, channel: ChannelName, version: ManifestVersion,
    digest: SHA256, candidate: Candidate? = nil, policy: Int64 = 0, prefetch: Int64 = 0, at: TrustTime,
    until: TrustTime
  ) throws(TrustFormError) {
    guard candidate.map({ $0.rule.version > version }) ?? true else { throw .member("candidate") }
    guard at <= until else { throw .member("until") }
    self.app = app
    self.environment = environment
    self.channel = channel
    self.version = version
    self.digest = digest
    self.candidate = candidate
    self.policy = policy
    self.prefetch = prefetch
    self.at = at
    self.until = until
  }

  package init(json: JSONValue) throws(TrustFormError) {
    try self.init(
      app: try json.app(), environment: try json.environment(),
      channel: try json.required("channel") { $0.string.flatMap { try? ChannelName($0) } },
      version: try json.required("version") { $0.string.flatMap { ManifestVersion(text: $0) } },
      digest: try json.digest("digest"), candidate: try json.optional("candidate", Candidate.init(reading:)),
      policy: try json.counter("policy"), prefetch: try json.counter("prefetch"),
      at: try json.required("at") { $0.integer.flatMap { TrustTime($0) } },
      until: try json.required("until") { $0.integer.flatMap { TrustTime($0) } })
  }

  package var json: JSONValue {
    var object = JSONObject()
    object["app"] = .string(app.text)
    object.set("environment", environment.map { .string($0.text) })
    object["channel"] = .string(channel.text)
    object["version"] = .string(version.text)
    object["digest"] = .string(digest.hex)
    object.set("candidate", candidate.map { ["digest": .string($0.digest.hex), "rollout": $0.rule.json] })
    if policy > 0 { object["policy"] = .string(String(policy)) }
    if prefetch > 0 { object["prefetch"] = .string(String(prefetch)) }
    object["at"] = .integer(at.milliseconds)
    object["until"] = .integer(until.milliseconds)
    return .object(object)
  }
}

extension TrustHead.Candidate {
  fileprivate init?(reading json: JSONValue) {
    guard let digest = json["digest"]?.string.flatMap({ SHA256(hex: $0) }),
      let rule = json["rollout"].flatMap({ try? RolloutRule(reading: $0) })
    else { return nil }
    self.init(digest: digest, rule: rule)
  }
}
