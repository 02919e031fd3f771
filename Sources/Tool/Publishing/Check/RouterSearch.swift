import BuildCheck
import Manifests
import System
import Values

/// Finds the router of a page: among what the page loads, or what that imports.
struct RouterSearch {
  private struct Script {
    let hasRouter: Bool
    /// The keys of what it imports.
    let imports: [String]
  }

  /// The longest text that is read, in bytes.
  static let limit = 64 << 20

  /// The build's scripts by their URLs' keys.
  private let files: [String: SourceFile]
  /// Those that were read.
  private var scripts: [String: Script] = [:]
  private let base: BaseURL

  /// Searches among the `scripts` of a folder whose files are below `base`.
  init(_ scripts: [SourceFile], at base: BaseURL) {
    let keyed = scripts.compactMap { file in
      (try? ResourceURL.mapping(base: base, path: file.path)).map { ($0.matchKey, file) }
    }
    files = Dictionary(keyed) { first, _ in first }
    self.base = base
  }

  /// Returns the router that a page has in itself, or in a script that it loads; nil if there is none.
  mutating func router(of page: SourceFile) -> SourceFile? {
    guard let url = try? ResourceURL.mapping(base: base, path: page.path),
      let bytes = try? DurableFile.read(page.location, limit: Self.limit)
    else { return nil }
    if RouteText.hasRouter(bytes) { return page }
    var waiting = Self.loaded(ReadText(.page, bytes, at: url))
    var seen = Set(waiting)
    while let key = waiting.popLast() {
      guard let file = files[key], let script = script(file, key) else { continue }
      if script.hasRouter { return file }
      waiting += script.imports.filter { seen.insert($0).inserted }
    }
    return nil
  }

  /// Whether a file has a router.
  static func isRouter(_ file: SourceFile) -> Bool {
    (try? DurableFile.read(file.location, limit: limit)).map(RouteText.hasRouter) ?? false
  }

  private mutating func script(_ file: SourceFile, _ key: String) -> Script? {
    if let script = scripts[key] { return script }
    guard let url = try? ResourceURL.mapping(base: base, path: file.path),
      let bytes = try? DurableFile.read(file.location, limit: Self.limit)
    else { return nil }
    let script = Script(
      hasRouter: RouteText.hasRouter(bytes), imports: Self.loaded(ReadText(.script, bytes, at: url)))
    scripts[key] = script
    return script
  }

  /// Returns the keys of the URLs that a text loads as scripts.
  private static func loaded(_ text: ReadText) -> [String] {
    text.references.compactMap { reference in
      switch reference.kind {
      case .script, .moduleScript, .staticImport, .dynamicImport: text.url(of: reference)?.matchKey
      default: nil
      }
    }
  }
}
