import Manifests
import System
import Values

/// What a release statement signs: a bundle's URLs with what devices give for them, as canonical JSON.
///
///     {"resources":{"https://m.example.com/a.js":{"ctype":"…","sha256":"…","size":43121},…}}
///
/// Nothing in it is chosen by the origin, so that a publisher can sign before its release has a number.
package struct BundleContent: Sendable {
  private var resources = ObjectWriter()

  package init() {}

  /// Appends a resource, whose URL must sort after the one before.
  package mutating func append(_ item: ManifestItem) {
    let entry = item.entry
    resources.append(key: item.url.text) { out in
      CanonicalJSON.append(raw: "{\"ctype\":", to: &out)
      CanonicalJSON.append(string: entry.ctype, to: &out)
      // As they are written, with those that this version doesn't know.
      if let headers = entry.others["headers"] {
        CanonicalJSON.append(raw: ",\"headers\":", to: &out)
        CanonicalJSON.append(headers, to: &out)
      }
      CanonicalJSON.append(raw: ",\"sha256\":\"", to: &out)
      entry.sha256.appendHex(to: &out)
      CanonicalJSON.append(raw: "\",\"size\":", to: &out)
      CanonicalJSON.append(integer: entry.size, to: &out)
      CanonicalJSON.append(raw: "}", to: &out)
    }
  }

  /// Returns the digest.
  ///
  /// - Parameter fallbacks: the bundle's fallbacks as its manifest has them; nil for a bundle without.
  package consuming func digest(fallbacks: JSONValue? = nil) -> SHA256 {
    SHA256.of(bytes(fallbacks: fallbacks))
  }

  /// Returns the canonical JSON that is signed.
  package consuming func bytes(fallbacks: JSONValue? = nil) -> [UInt8] {
    var object = ObjectWriter()
    if let fallbacks { object.append(key: "fallbacks") { CanonicalJSON.append(fallbacks, to: &$0) } }
    object.append(key: "resources", raw: resources.finish())
    return object.finish()
  }
}
