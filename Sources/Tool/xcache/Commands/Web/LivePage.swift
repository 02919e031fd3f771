import HTTP
import HTTPClient
import Manifests
import Publishing
import System

/// A page as its site answers it now, beside what a device will answer in its place.
struct LivePage {
  let url: String
  let status: Int
  let fields: HTTPFields

  /// The most pages of a release to look at, and how long each may take: a release doesn't wait for a site.
  private static let maxPages = 5
  private static let timeouts = HTTPTimeouts(connect: 3_000, stall: 3, total: 5)

  /// Returns warnings for new and changed pages of a build with the worker; none for pages that can't be had, as before the
  /// first deployment.
  static func warnings(_ plan: Plan, _ source: BundleSource, http: HTTPClient = HTTPClient()) -> [String] {
    guard WebBuild.hasWorker(source) else { return [] }
    let pages = plan.put.filter { $0.content.ctype.essence == "text/html" }
    return pages.prefix(maxPages).flatMap { page -> [String] in
      let request = HTTPRequest("GET", page.url.text, timeouts: timeouts)
      guard let reply = try? http.send(request) else { return [] }
      let live = LivePage(url: page.url.text, status: reply.status, fields: reply.fields)
      return live.warnings(page.content.headers)
    }
  }

  /// Returns what the site does that a device, which answers the page with `headers` alone, wouldn't.
  func warnings(_ headers: EntryHeaders) -> [String] {
    if [401, 403].contains(status) || (300..<400).contains(status) {
      let answer = status < 400 ? "a redirect (\(status))" : "\(status)"
      return [
        "warning: \(url) is answered with \(answer), and opens from devices all the same: leave pages that need a login out "
          + "of the build, or bypass them with `xcache policy bypass add`"
      ]
    }
    guard status == 200 else { return [] }
    var found: [String] = []
    let lost = EntryHeaders.Name.allCases.filter { name in
      name != .serviceWorkerAllowed && fields.contains(name.rawValue)
        && !headers.fields.contains { $0.name == name }
    }
    if !lost.isEmpty {
      found.append(
        "warning: \(url) has \(lost.map(\.rawValue).joined(separator: ", ")) from its server, which devices don't send: add "
          + "\(lost.count == 1 ? "it" : "them") to \"headers\" in xcache.json")
    }
    let personal = [
      fields.contains("Set-Cookie") ? "Set-Cookie" : nil,
      names("Cache-Control", "private") ? "Cache-Control: private" : nil,
      names("Vary", "cookie") ? "Vary: Cookie" : nil,
    ].compactMap(\.self)
    if !personal.isEmpty {
      found.append(
        "warning: \(url) is answered with \(personal.joined(separator: ", ")), so it may differ from user to user; devices "
          + "answer it with the same bytes for all")
    }
    return found
  }

  /// Whether a list field names a member.
  private func names(_ field: String, _ member: String) -> Bool {
    fields.members(field).contains { $0.prefix { $0 != " " && $0 != "=" } == member }
  }
}
