import HTTP

/// Walks the segments of a normalised path without allocating.
struct PathSegments: ~Escapable {
  private let path: RawSpan
  private var index = 0

  /// - Parameter path: begins with `/`.
  @_lifetime(copy path)
  init(_ path: RawSpan) { self.path = path }

  /// Returns the next segment, or nil at the end. A trailing slash yields a last, empty segment.
  @_lifetime(copy self)
  mutating func next() -> RawSpan? {
    guard index < path.byteCount else { return nil }
    let start = index &+ 1
    index = path.firstIndex(of: UInt8(ascii: "/"), from: start) ?? path.byteCount
    return path.extracting(start..<index)
  }

  /// Whether all segments have been taken.
  var isAtEnd: Bool { index >= path.byteCount }

  /// The remaining path, with its leading slash.
  var rest: RawSpan {
    @_lifetime(copy self) get { path.extracting(index..<path.byteCount) }
  }
}

extension RawSpan {
  /// Whether both hold the same bytes.
  func equals(_ bytes: [UInt8]) -> Bool { equals(bytes.span.bytes) }
}

/// The answers that tell a supervisor or a scraper about the process's state.
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
