import HTTP
import Manifests
import Store

/// Errors in the format of client documents: `{"code":404,"message":"…"}`, with the same status (docs/protocol.md §2).
enum ClientFailure {
  static func response(
    _ status: Status, _ message: String, allow: String? = nil, retryAfter: Int? = nil,
    cacheControl: String = "no-cache"
  ) -> Response {
    var fields = HeadFields([
      ("Content-Type", "application/json"), ("Cache-Control", cacheControl),
      ("Access-Control-Allow-Origin", "*"),
    ])
    if let allow { fields.add("Allow", allow) }
    if let seconds = retryAfter ?? (status == .serviceUnavailable ? 5 : nil) {
      fields.add("Retry-After", "\(seconds)")
    }
    return Response(status, fields, .bytes(SharedBytes(Documents.failure(Int(status.code), message))))
  }

  static func notFound(_ message: String) -> Response { response(.notFound, message) }

  /// The answer to a device for an error of the store; the details are for the log.
  static func response(_ error: StoreError) -> Response {
    switch error {
    case .corruptBlob: response(.internalServerError, "the stored file is damaged and was set aside")
    case .unknownBlob, .unknownVersion, .noVersion: notFound("not found")
    case .system(let error) where error.isOutOfDescriptors:
      response(.serviceUnavailable, "the origin has too many open files; try again in a moment")
    default: response(.internalServerError, "the origin can't read its data")
    }
  }
}

extension HeadFields {
  /// Header fields for publishers' bytes, which never change under their URL.
  ///
  /// They share an origin with the API and the console. Opened as a page, they are sandboxed: no script runs, and they get
  /// an origin of their own ("sandbox", CSP Level 3 §6.3.2). Their type can't be sniffed. What a page or an app fetches
  /// isn't affected: the policy applies to documents only.
  static func published(_ contentType: String) -> HeadFields {
    HeadFields([
      ("Content-Type", contentType), ("Cache-Control", "public, max-age=31536000, immutable"),
      ("Access-Control-Allow-Origin", "*"), ("Content-Security-Policy", "sandbox"),
      ("X-Content-Type-Options", "nosniff"),
    ])
  }
}
