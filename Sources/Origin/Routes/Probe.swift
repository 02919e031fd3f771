import HTTP

/// The answers that tell a supervisor or a scraper how the process is.
enum Probe {
  static let alive = plain(.ok, "ok\n")
  static let ready = plain(.ok, "ready\n")
  static let stopping = plain(.serviceUnavailable, "stopping\n")

  /// Prometheus text exposition format, version 0.0.4.
  static func metrics(_ text: String) -> Response {
    Response(
      .ok, contentType: "text/plain; version=0.0.4; charset=utf-8", text, [("Cache-Control", "no-store")])
  }

  private static func plain(_ status: Status, _ text: String) -> Response {
    Response(status, contentType: "text/plain; charset=utf-8", text, [("Cache-Control", "no-store")])
  }
}
