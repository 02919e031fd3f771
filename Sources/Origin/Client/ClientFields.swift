import HTTP
import Manifests
import Store

/// Failures as client documents have them: `{"code":404,"message":"…"}`, the status saying the same (DESIGN §3).
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

  /// What a device is told of trouble in the store; the details are for the log.
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
  /// The fields of bytes that publishers wrote and that never change under their URL.
  ///
  /// They share an origin with the API and the console. Opened there as a page, they are sandboxed: no script runs, and
  /// their origin is one of their own ("sandbox", CSP Level 3 §6.3.2). Nothing takes them for another type than theirs.
  /// What a page or an app fetches is not affected: the policy is about documents alone.
  static func published(_ contentType: String) -> HeadFields {
    HeadFields([
      ("Content-Type", contentType), ("Cache-Control", "public, max-age=31536000, immutable"),
      ("Access-Control-Allow-Origin", "*"), ("Content-Security-Policy", "sandbox"),
      ("X-Content-Type-Options", "nosniff"),
    ])
  }
}
