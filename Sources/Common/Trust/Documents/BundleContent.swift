import Manifests
import System
import Values

/// What a release statement signs: a bundle's URLs with what devices give for them, as canonical JSON.
///
///     {"resources":{"https://m.example.com/a.js":{"ctype":"…","sha256":"…","size":43121},…}}
///
/// A bundle with fallbacks also has these, under the URLs of their pages:
///
///     {"fallbacks":{"https://m.example.com/app/index.html":[{"prefix":"/app/"}]},"resources":{…}}
///
/// Nothing in it is chosen by the origin, so that a publisher can sign before its release has a number.
package struct BundleContent: Sendable {
  private var fallbacks = ObjectWriter()
  private var resources = ObjectWriter()

  package init() {}

  /// Appends a resource, whose URL must sort after the one before.
  package mutating func append(_ item: ManifestItem) {
    let entry = item.entry
    // As they are written, with what this version doesn't know.
    if let fallback = entry.others[PageFallbacks.key] {
      fallbacks.append(key: item.url.text) { CanonicalJSON.append(fallback, to: &$0) }
    }
    resources.append(key: item.url.text) { out in
      CanonicalJSON.append(raw: "{\"ctype\":", to: &out)
      CanonicalJSON.append(string: entry.ctype, to: &out)
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
  package consuming func digest() -> SHA256 { SHA256.of(bytes()) }

  /// Returns the canonical JSON that is signed.
  package consuming func bytes() -> [UInt8] {
    var object = ObjectWriter()
    if fallbacks.count > 0 { object.append(key: "fallbacks", raw: fallbacks.finish()) }
    object.append(key: "resources", raw: resources.finish())
    return object.finish()
  }
}
