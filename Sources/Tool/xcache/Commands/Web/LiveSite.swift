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
  /// A worker of the build.
  struct Worker {
    let url: ResourceURL
    /// The URLs from which it downloads.
    let bases: [BaseURL]
    /// The envelope of the root with which it was built; nil without one.
    let root: JSONValue?
  }

  /// The workers.
  let workers: [Worker]

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
      guard let settings = WebBuild.settings(in: folder.path),
        let url = try? ResourceURL.mapping(base: folder.baseURL, path: WebBuild.workerName)
      else { return nil }
      var bases = WebBuild.bases(settings)
      if let downloads, !bases.contains(downloads) { bases.append(downloads) }
      return Worker(url: url, bases: bases, root: settings["root"])
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
      found += Self.warnings(live, of: worker)
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
          hasNonce: markup.loadHasNonce || markup.nonce != nil,
          hasRoot: WebBuild.settings(ofWorker: reply.body)?["root"] != nil))
    } catch {
      return .failure(Unseen(why: "\(error)"))
    }
  }

  /// Returns what is wrong with a worker's answer from the site, beside the build's.
  static func warnings(_ live: LivePage, of worker: Worker) -> [String] {
    guard live.status == 200 else { return [] }
    let policies = live.fields.values(EntryHeaders.Name.contentSecurityPolicy.rawValue)
      .flatMap(ContentPolicy.policies(of:))
      .flatMap { $0.advice(forWorkerOf: worker.url, downloadingFrom: worker.bases) }
      .map {
        "\(worker.url.text) has a Content-Security-Policy from its server that stands in the way: \($0)"
      }
    guard live.hasRoot, worker.root == nil else { return policies }
    return policies + [
      "\(worker.url.text) has a root on its site, and this build's has none: once the build is deployed, browsers take "
        + "what nobody signed. Give `xcache web init` the root with --root FILE"
    ]
  }
}
