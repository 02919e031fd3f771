import HTTP

/// Who sent a report, as far as a browser says.
struct ReportSender: Sendable {
  /// The field `Origin`, which browsers send with every POST; nil from apps.
  private let origin: [UInt8]?
  /// Whether a browser says that a page of another site sent it.
  private let isOfOtherSite: Bool

  init(_ request: borrowing Request) {
    if let field = request.field(.origin) {
      origin = field.array
      isOfOtherSite = false
    } else if let site = request.field(named: "sec-fetch-site") {
      origin = nil
      isOfOtherSite = !site.equals("same-origin") && !site.equals("none")
    } else {
      origin = nil
      isOfOtherSite = false
    }
  }

  /// Whether it may report about a page: an app, or a page of the same origin. `null`, the origin of a page whose own is hidden, is none's.
  func mayReport(about page: String) -> Bool {
    guard let origin else { return !isOfOtherSite }
    let page = page.utf8
    return page.starts(with: origin) && page.dropFirst(origin.count).first == UInt8(ascii: "/")
  }
}
