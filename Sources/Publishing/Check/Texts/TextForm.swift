import Manifests

/// What a file is read as.
enum TextForm: Sendable {
  case page, style, script, sourceMap, manifest

  /// Nil for what isn't read.
  init?(ctype: some StringProtocol, path: some StringProtocol) {
    switch ctype {
    case "text/html", "application/xhtml+xml": self = .page
    case "text/css": self = .style
    case "application/javascript", "text/javascript", "application/x-javascript": self = .script
    case "application/manifest+json": self = .manifest
    default:
      guard path.hasSuffix(".js.map") || path.hasSuffix(".css.map") || path.hasSuffix(".mjs.map") else {
        return nil
      }
      self = .sourceMap
    }
  }

  init?(_ file: CheckedBundle.File) { self.init(ctype: file.ctype.essence, path: file.source.path) }
}
