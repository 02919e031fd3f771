import BuildCheck
import Manifests
import System
import Values

/// What `xcache init` proposes for a build that seems to be a single-page app: its only page, and the routes that it answers.
package struct FallbackProposal: Hashable, Sendable {
  /// The path of the page.
  package let page: String
  package let rule: PageFallbacks.Rule
  /// The script that has the router: its path below the folder.
  package let router: String
  /// What the page loads by a relative URL, so that it answers only routes beside it; nil if nothing.
  package let relative: String?

  /// The longest text that is read, in bytes.
  private static let limit = 64 << 20

  /// Looks at a folder whose files are below `base`. Nil if it has no page or several, if no script calls `pushState` and listens to
  /// `popstate`, or if it can't be read.
  package init?(_ folder: String, at base: BaseURL) {
    guard let files = try? Scan.files(in: folder) else { return nil }
    let pages = files.filter { ContentType.of(fileName: $0.path).essence == "text/html" }
    guard pages.count == 1, let url = try? ResourceURL.mapping(base: base, path: pages[0].path),
      let bytes = try? DurableFile.read(pages[0].location, limit: Self.limit)
    else { return nil }
    let scripts = files.filter {
      TextForm(ctype: ContentType.of(fileName: $0.path).essence, path: "") == .script
    }
    let router =
      RouteText.hasRouter(bytes)
      ? pages[0]
      : scripts.first { script in
        (try? DurableFile.read(script.location, limit: Self.limit)).map(RouteText.hasRouter) ?? false
      }
    guard let router else { return nil }
    self.router = router.path
    page = String(url.path)
    let folder = String(url.path[...(url.path.lastIndex(of: "/") ?? url.path.startIndex)])
    // What isn't listed and is no route: calls, and files that were left out.
    let except = ["\(folder)api/*", "\(folder)*.*"]
    guard let rule = try? PageFallbacks.Rule(prefix: folder, except: except),
      let fallbacks = try? PageFallbacks([rule])
    else { return nil }
    guard let moved = RouteText.moved(bytes, at: url, fallbacks).first else {
      self.rule = rule
      relative = nil
      return
    }
    guard let shallow = try? PageFallbacks.Rule(prefix: folder, except: except + ["\(folder)*/*"]) else {
      return nil
    }
    self.rule = shallow
    relative = moved.text
  }
}
