import CCurl

/// Where a URL leads, as libcurl reads it.
struct Target {
  let host: String
  let port: Int
  let isSecure: Bool

  /// Nil unless `url` is absolute, with scheme http or https and without a user or password.
  init?(_ url: String) {
    guard let parsed = curl_url() else { return nil }
    defer { curl_url_cleanup(parsed) }
    guard !url.utf8.contains(0), curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK,
      let scheme = Target.part(CURLUPART_SCHEME, of: parsed), scheme == "http" || scheme == "https",
      Target.part(CURLUPART_USER, of: parsed) == nil,
      let host = Target.part(CURLUPART_HOST, of: parsed),
      let port = Target.part(CURLUPART_PORT, of: parsed).flatMap({ Int($0) })
    else { return nil }
    self.host = host
    self.port = port
    isSecure = scheme == "https"
  }

  private static func part(_ part: CURLUPart, of parsed: OpaquePointer) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(parsed, part, &text, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK, let text else {
      return nil
    }
    defer { curl_free(text) }
    return String(cString: text)
  }
}
