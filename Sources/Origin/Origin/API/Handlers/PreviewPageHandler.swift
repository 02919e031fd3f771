import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// `POST /apps/{app}/channels/{channel}/preview`: a version's page at an origin of its own, to look at.
struct PreviewPageHandler: APIHandler {
  let context: RequestContext

  /// `POST …/preview`
  func open(_ body: PagePreviewRequest) throws -> Response {
    guard let previews = context.api.previews else { throw Problem.previewsOff }
    let channel = try context.channel()
    let name = try VersionName.read(body.version, member: "version") ?? .number(channel.version)
    let version = try store.version(name, of: channel)
    guard version != .none else { throw StoreError.unknownVersion(version) }
    let survey = try PreviewSurvey(store, channel, at: version)
    let page = try page(body.page, channel, version, survey)
    let viewing = PreviewTickets.Viewing(
      caller: caller.id, channel: channel.id, version: version, console: request.page ?? "")
    let opened = previews.open(viewing, channel, survey, for: page)
    guard let host = opened.host(of: page) else { throw Problem.unknownPage(page, version) }
    let target = page.text.dropFirst(page.scheme.utf8.count + 3 + page.authority.utf8.count)
    return .json(
      PagePreviewAnswer(
        version: version, page: page.text, url: previews.address.origin(of: host.label) + target,
        pages: survey.pages.map(\.text), pagesLeftOut: survey.pageCount - survey.pages.count,
        expiresAt: Moment(milliseconds: opened.expiresAt)))
  }

  /// Returns the page to open: one of the version's, or a route that one of them answers.
  private func page(
    _ text: String?, _ channel: ChannelInfo, _ version: ManifestVersion, _ survey: PreviewSurvey
  ) throws -> ResourceURL {
    guard let text else {
      guard let first = survey.pages.first else {
        throw Problem(.notFound, "unknown-url", "version \(version) has no pages: no file of type text/html")
      }
      return first
    }
    // A fragment is the page's own matter.
    guard let url = try? ResourceURL(String(text.prefix { $0 != "#" })) else {
      throw Problem.badRequest("\"page\" must be the URL of a page, such as https://m.example.com/shop/")
    }
    if try store.listed(url, of: channel, at: version) != nil { return url }
    if url.query != nil, let plain = try? ResourceURL(String(url.withoutQuery)),
      try store.listed(plain, of: channel, at: version) != nil
    {
      return url
    }
    guard survey.fallbacks[url] != nil else { throw Problem.unknownPage(url, version) }
    return url
  }
}

extension Problem {
  /// The origin has no listener for previews.
  fileprivate static var previewsOff: Problem {
    Problem(
      .conflict, "preview-off",
      "this origin shows no previews; whoever runs it turns them on with serve --preview-listen 127.0.0.1:8081, and behind a "
        + "proxy with --preview-url https://*.preview.example.com as well")
  }

  fileprivate static func unknownPage(_ page: ResourceURL, _ version: ManifestVersion) -> Problem {
    Problem(
      .notFound, "unknown-url", "version \(version) has no page \(page), and no page of it answers for that")
  }
}
