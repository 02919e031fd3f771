import HTTP
import HTTPClient
import Manifests
import Publishing
import System
import Values

/// The site of a build with the worker, as it is before the build's deployment.
struct LiveSite {
  /// A page of the build, with the headers that devices answer it with.
  struct Page {
    let url: ResourceURL
    let headers: EntryHeaders
  }

  /// The pages to look at.
  let pages: [Page]
  /// The workers, with the URLs from which each downloads.
  let workers: [(url: ResourceURL, bases: [BaseURL])]

  /// The most pages of a bundle to look at, and how long each may take: a release doesn't wait for a site.
  private static let maxPages = 5
  private static let timeouts = HTTPTimeouts(
    connectMilliseconds: 3_000, stallSeconds: 3, totalMilliseconds: 5_000)

  /// Creates a site from a build with the worker; nil for another build. New and changed pages come first. `downloads` is the
  /// channel's public URL.
  init?(_ plan: Plan, _ source: BundleSource, downloads: BaseURL?) {
    guard WebBuild.hasWorker(source), let files = try? Mapping.files(of: source) else { return nil }
    let changed = Set(plan.put.map(\.url))
    let pages = files.filter { $0.ctype.essence == "text/html" }
    self.pages = (pages.filter { changed.contains($0.url) } + pages.filter { !changed.contains($0.url) })
      .prefix(Self.maxPages).map { Page(url: $0.url, headers: $0.headers) }
    workers = source.folders.compactMap { folder in
      guard let bases = WebBuild.bases(in: folder.path),
        let url = try? ResourceURL.mapping(base: folder.baseURL, path: WebBuild.workerName)
      else { return nil }
      var all = bases
      if let downloads, !all.contains(downloads) { all.append(downloads) }
      return (url, all)
    }
  }

  /// Returns warnings of what the site answers otherwise than devices will, each once, and a remark if it couldn't be asked; none for
  /// pages that it doesn't have yet, as before the first deployment.
  func warnings(_ http: HTTPClient) -> (warnings: [String], remark: String?) {
    let urls = workers.map(\.url) + pages.map(\.url)
    let asking = urls.map { url in ThreadTask("live page") { Self.answer(url, http) } }
    let answers = asking.map { $0.value() }
    var found: [String] = []
    var fault: String?
    for (worker, answer) in zip(workers, answers) {
      guard case .success(let live) = answer else { continue }
      found += Self.warnings(live, ofWorker: worker.url, worker.bases)
    }
    for (page, answer) in zip(pages, answers.dropFirst(workers.count)) {
      switch answer {
      case .success(let live): found += live.warnings(page.headers)
      case .failure(let unseen):
        fault = fault ?? unseen.why
        found += LivePage.advice(page.headers).map { "\(page.url.text): \($0)" }
      }
    }
    let remark = fault.map {
      "the pages' headers weren't compared with those of the site, which has no answer now (\($0))"
    }
    var seen: Set<String> = []
    return (found.filter { seen.insert($0).inserted }, remark)
  }

  /// Why a page couldn't be looked at.
  private struct Unseen: Error {
    let why: String
  }

  private static func answer(_ url: ResourceURL, _ http: HTTPClient) -> Result<LivePage, Unseen> {
    do {
      let reply = try http.send(HTTPRequest("GET", url.text, timeouts: timeouts))
      if reply.status >= 500 { return .failure(Unseen(why: "\(reply.status) for \(url.text)")) }
      let markup = PageMarkup(reply.body)
      return .success(
        LivePage(
          url: url.text, status: reply.status, fields: reply.fields,
          hasNonce: markup.loadHasNonce || markup.nonce != nil))
    } catch {
      return .failure(Unseen(why: "\(error)"))
    }
  }

  private static func warnings(_ live: LivePage, ofWorker url: ResourceURL, _ bases: [BaseURL]) -> [String] {
    guard live.status == 200 else { return [] }
    return live.fields.values(EntryHeaders.Name.contentSecurityPolicy.rawValue)
      .flatMap(ContentPolicy.policies(of:)).flatMap { $0.advice(forWorkerOf: url, downloadingFrom: bases) }
      .map { "\(url.text) has a Content-Security-Policy from its server that stands in the way: \($0)" }
  }
}
