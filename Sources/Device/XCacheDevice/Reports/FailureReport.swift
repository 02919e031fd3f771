import Trust
import Values

/// A device's report of a failure to the origin: nothing beyond these members, and nothing about the device.
struct FailureReport: Hashable, Sendable {
  /// The origin's fixed list (`POST /report`).
  enum Reason: String, Sendable {
    case download, integrity, manifest, patch, storage, timeout
    case notFound = "not-found"
    // The steps of the check of docs/protocol.md §14.
    case trustRoot = "trust-root"
    case trustHead = "trust-head"
    case trustEntry = "trust-entry"
    case trustContent = "trust-content"
    case trustScope = "trust-scope"
    case trustFloor = "trust-floor"
    case trustPolicy = "trust-policy"
    case trustPrefetch = "trust-prefetch"
    case trustStale = "trust-stale"
    case returned
  }

  /// The manifest version that the device was updating to, or holds.
  let version: String
  /// The resource's URL; empty if the manifest itself failed.
  let url: String
  let reason: Reason
  /// What keeps it apart from others for the same version and URL.
  var occasion = ""
  /// Why the device went back; nil for other reports.
  var cause: ReturnCause?

  /// The body of the request.
  var body: [UInt8] {
    let json: JSONValue = [
      "reason": .string(reason.rawValue), "url": .string(url), "version": .string(version),
    ]
    guard let cause else { return json.canonical }
    var members = json.object ?? JSONObject()
    members["cause"] = .string(cause.rawValue)
    return JSONValue.object(members).canonical
  }

  /// Identifies a report: one is sent per version and URL, whatever the reason.
  var key: String { occasion.isEmpty ? "\(version) \(url)" : "\(version) \(url) \(occasion)" }
}

extension FailureReport.Reason {
  /// The reason to report for an error; nil if it concerns only the device.
  init?(_ error: DeviceError) {
    switch error {
    case .noAnswer(_, let error): self.init(error.kind)
    case .status(_, let code, _): self = code == 404 || code == 410 ? .notFound : .download
    case .wrongBytes, .tooLong: self = .integrity
    case .wrongDigest: self = .patch
    case .unreadable, .unsafeEntry, .sameName: self = .manifest
    case .file where error.isDiskFull: self = .storage
    default: return nil
    }
  }

  /// The reason to report for a failed check.
  init(_ step: TrustStep) {
    self =
      switch step {
      case .root: .trustRoot
      case .head: .trustHead
      case .entry: .trustEntry
      case .content: .trustContent
      case .scope: .trustScope
      case .floor: .trustFloor
      case .policy: .trustPolicy
      case .prefetch: .trustPrefetch
      }
  }

  private init?(_ kind: TransportError.Kind) {
    switch kind {
    case .timedOut: self = .timeout
    case .tooLong: self = .integrity
    // It was stopped by another file's failure, or by the app.
    case .stopped: return nil
    case .unreachable, .broken, .other: self = .download
    }
  }
}
