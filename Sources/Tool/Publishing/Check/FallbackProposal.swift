import BuildCheck
import Manifests
import System
import Values

/// What `xcache init` proposes for a build that seems to be a single-page app: its page, and the routes that it answers.
package struct FallbackProposal: Hashable, Sendable {
  /// The path of the page.
  package let page: String
  package let rule: PageFallbacks.Rule
  /// The script that has the router: its path below the folder.
  package let router: String
  /// What the page loads by a relative URL, so that it answers only routes beside it; nil if nothing.
  package let relative: String?

  /// Sites of more pages are no single-page apps.
  private static let maxPages = 20

  /// Looks at a folder whose files are below `base`. Nil if no page of it is the app's, or if it can't be read.
  package init?(_ folder: String, at base: BaseURL) {
    guard let files = try? Scan.files(in: folder), let (app, router) = Self.app(files, at: base),
      let url = try? ResourceURL.mapping(base: base, path: app.path),
      let bytes = try? DurableFile.read(app.location, limit: RouterSearch.limit)
    else { return nil }
    self.router = router.path
    page = String(url.path)
    let folder = String(url.path[...(url.path.lastIndex(of: "/") ?? url.path.startIndex)])
    // What isn't listed and is no route: calls, and files that were left out.
    let except = ["\(folder)api/*", "\(folder)*.*"]
    guard let rule = try? PageFallbacks.Rule(prefix: folder, except: except),
      let fallbacks = try? PageFallbacks([rule])
    else { return nil }
    let moved = RouteText.moved(bytes, at: url, fallbacks)
    guard let first = moved.first(where: \.breaksPage) ?? moved.first else {
      self.rule = rule
      relative = nil
      return
    }
    guard let shallow = try? PageFallbacks.Rule(prefix: folder, except: except + ["\(folder)*/*"]) else {
      return nil
    }
    self.rule = shallow
    relative = first.text
  }

  /// Returns the page of the app, and its router, a script that calls `pushState` and listens to `popstate`: the only page of a build that
  /// has a router, or of several the only `index.html` that loads one, if no other page does. Error pages don't count.
  private static func app(_ files: [SourceFile], at base: BaseURL) -> (page: SourceFile, router: SourceFile)?
  {
    let pages = files.filter { file in
      ContentType.of(fileName: file.path).essence == "text/html" && name(file) != "404.html"
    }
    guard let first = pages.first, pages.count <= maxPages else { return nil }
    let scripts = files.filter {
      TextForm(ctype: ContentType.of(fileName: $0.path).essence, path: "") == .script
    }
    var search = RouterSearch(scripts, at: base)
    if pages.count == 1 {
      // Some bundlers load chunks by names that no text has.
      let router = search.router(of: first) ?? scripts.first(where: RouterSearch.isRouter)
      return router.map { (first, $0) }
    }
    let loading = pages.compactMap { page in search.router(of: page).map { (page: page, router: $0) } }
    return loading.count == 1 && name(loading[0].page) == "index.html" ? loading[0] : nil
  }

  private static func name(_ file: SourceFile) -> Substring? { file.path.split(separator: "/").last }
}
