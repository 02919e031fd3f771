import Manifests

/// What a device tells the origin of a failure: no more than this, and nothing of itself.
struct FailureReport: Hashable, Sendable {
  /// The origin's fixed list (`POST /report`).
  enum Reason: String, Sendable {
    case download, integrity, manifest, patch, storage, timeout
    case notFound = "not-found"
  }

  /// The version that the device was going to, or has.
  let version: String
  /// The resource's; empty where the manifest itself failed.
  let url: String
  let reason: Reason

  /// The body of the request.
  var body: [UInt8] {
    let json: JSONValue = [
      "reason": .string(reason.rawValue), "url": .string(url), "version": .string(version),
    ]
    return json.canonical
  }

  /// One per version and URL, whatever the reason.
  var key: String { "\(version) \(url)" }
}

extension FailureReport.Reason {
  /// The reason that an error is told by; nil: it is nobody's business but the device's.
  init?(_ error: ClientError) {
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

  private init?(_ kind: TransportError.Kind) {
    switch kind {
    case .timedOut: self = .timeout
    case .tooLong: self = .integrity
    // Another file's failure, or the app, ended it.
    case .stopped: return nil
    case .unreachable, .broken, .other: self = .download
    }
  }
}
