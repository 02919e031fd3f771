import HTTP

/// The fields of a preview's answers: what its pages may do.
///
/// A release's scripts run, in an origin of their own. They reach its files and nothing else: no call to a network, no form, no other
/// window, no camera. WebRTC is left where a browser doesn't know `webrtc 'block'`, such as Chromium. The console's frame is sandboxed as
/// well; these hold if somebody opens the address in a tab. There is no Cross-Origin-Opener-Policy: browsers refuse to open a sandboxed
/// page that has one (HTML §7.4.5, "final sandboxing flag set").
enum PreviewPolicy {
  /// Returns the fields of a file.
  /// - Parameters:
  ///   - type: its media type.
  ///   - version: the version that is looked at.
  ///   - host: the one whose ticket the request has.
  ///   - address: where previews are.
  ///   - origin: the request's Origin field: files of one ticket may be read from pages of the others (CORS).
  static func fields(
    _ type: String, _ version: PreviewedVersion, _ host: PreviewedVersion.Host, _ address: PreviewAddress,
    from origin: String? = nil
  ) -> HeadFields {
    let others = version.hosts.filter { $0.label != host.label }.map { address.origin(of: $0.label) }
    var fields = HeadFields([("Content-Type", type)])
    add(content(others, frames: version.frames), to: &fields)
    // Hosts below `localhost` are other sites to each other. Whoever wants to read a file needs the ticket.
    fields.add("Cross-Origin-Resource-Policy", others.isEmpty ? "same-origin" : "cross-origin")
    if let origin, others.contains(origin) {
      fields.add("Access-Control-Allow-Origin", origin)
      fields.add("Vary", "Origin")
    }
    return fields
  }

  /// Returns an answer in words, which no page can read.
  static func refusal(_ status: Status, _ words: String, allow: String? = nil) -> Response {
    var fields = HeadFields([("Content-Type", "text/plain; charset=utf-8")])
    add(content([], frames: nil), to: &fields)
    if let allow { fields.add("Allow", allow) }
    return Response(status, fields, .bytes(SharedBytes("\(words)\n")))
  }

  /// Returns an answer in words that the console may show in its frame.
  static func refusal(
    _ status: Status, _ words: String, _ version: PreviewedVersion, _ host: PreviewedVersion.Host,
    _ address: PreviewAddress
  ) -> Response {
    Response(
      status, fields("text/plain; charset=utf-8", version, host, address), .bytes(SharedBytes("\(words)\n")))
  }

  private static func add(_ content: String, to fields: inout HeadFields) {
    fields.add("Cache-Control", "no-store")
    fields.add("Content-Security-Policy", content)
    fields.add("X-Content-Type-Options", "nosniff")
    fields.add("Referrer-Policy", "no-referrer")
    fields.add("Origin-Agent-Cluster", "?1")
    fields.add("X-DNS-Prefetch-Control", "off")
    fields.add("Permissions-Policy", permissions)
  }

  /// - Parameters:
  ///   - others: the origins of the version's other hosts.
  ///   - frames: whose pages may frame it; nil: whose it is isn't known, so any console may show the words.
  private static func content(_ others: [String], frames: [String]?) -> String {
    let sources = (["'self'"] + others).joined(separator: " ")
    let ancestors = frames.map { ($0 + [sources]).joined(separator: " ") } ?? "*"
    return
      "default-src \(sources) data: blob: 'unsafe-inline' 'unsafe-eval'; frame-ancestors \(ancestors); form-action 'none'; "
      + "object-src 'none'; webrtc 'block'; sandbox allow-scripts allow-same-origin allow-forms"
  }

  private static let permissions = [
    "accelerometer", "bluetooth", "camera", "clipboard-read", "clipboard-write", "display-capture",
    "geolocation",
    "gyroscope", "hid", "idle-detection", "local-fonts", "magnetometer", "microphone", "midi", "payment",
    "publickey-credentials-get", "screen-wake-lock", "serial", "storage-access", "usb", "web-share",
    "window-management", "xr-spatial-tracking",
  ].map { "\($0)=()" }.joined(separator: ", ")
}
