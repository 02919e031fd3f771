import HTTP

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
