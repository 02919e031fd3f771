import HTTP
import Manifests
import System

/// A document of a channel other than its manifest, as named by a path.
enum ClientDocument {
  case prefetch
  /// A version of the prefetch config: the newest, or the one that goes along with the candidate.
  case prefetchVersion(Int64)
  case policy
  case script(SHA256)
  /// The newest head of a channel with a root.
  case head
  /// A root of the app.
  case root(Int64)
  /// The list of the manifest's files.
  case info
  /// A zip of the manifest's files; nil for an invalid name.
  case bundle(BundleZip?)

  /// A document below `/{space}/{app}/`: `name` may be the last segment, or `rest` follows it.
  init?(_ name: RawSpan, _ rest: borrowing PathSegments) {
    switch rest.isAtEnd {
    case true where name.equals("prefetchConfig.json"): self = .prefetch
    case true where name.equals("policy.json"): self = .policy
    case true where name.equals("info.json"): self = .info
    case true where name.equals("head.json"): self = .head
    case false where name.equals("root"):
      guard let number = Self.number(ofFile: rest.rest.text.dropFirst()), number > 0 else { return nil }
      self = .root(number)
    case false where name.equals("prefetchConfig"):
      guard let version = Self.number(ofFile: rest.rest.text.dropFirst()) else { return nil }
      self = .prefetchVersion(version)
    case false where name.equals("bundle"):
      self = .bundle(BundleZip(fileName: String(rest.rest.text.dropFirst())))
    case false where name.equals("script"):
      guard let sha256 = PolicyScriptPath.sha256(ofName: rest.rest.text.dropFirst()) else { return nil }
      self = .script(sha256)
    default: return nil
    }
  }

  /// Reads the name of a file like `2.json`.
  private static func number(ofFile name: Substring) -> Int64? {
    name.hasSuffix(".json") ? ManifestVersion(text: String(name.dropLast(5)))?.number : nil
  }
}
