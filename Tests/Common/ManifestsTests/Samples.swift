import Manifests
import System
import TestSupport
import Values

/// Random manifests.
enum Samples {
  static func entry(_ seed: String, others: JSONObject = JSONObject()) -> Entry {
    let bytes = Array(seed.utf8)
    return Entry(
      ctype: "text/plain", download: "https://cdn.example.com/\(seed)", md5: MD5.of(bytes),
      sha256: SHA256.of(bytes), size: Int64(bytes.count), version: 1, others: others)
  }

  /// A random manifest over a small pool of URLs, so that two manifests share many.
  static func manifest(_ version: Int64, _ random: inout SplitMix) -> Manifest {
    var items: [ManifestItem] = []
    for number in 0..<12 where Bool.random(using: &random) {
      guard let url = try? ResourceURL("https://a/\(number * 7919 % 100)?\\é") else { continue }
      let others = Int.random(in: 0..<4, using: &random) == 0 ? self.others(&random) : JSONObject()
      let seed = "\(number)-\(Int.random(in: 0..<3, using: &random))"
      items.append(ManifestItem(url: url, entry: entry(seed, others: others)))
    }
    return Manifest(version: ManifestVersion(version), items: items)
  }

  private static func others(_ random: inout SplitMix) -> JSONObject {
    var object = JSONObject()
    for key in ["a", "data", "z"] where Bool.random(using: &random) {
      object[key] = ["k": .integer(Int.random(in: 0..<2, using: &random))]
      if Bool.random(using: &random) { object[key] = ["l": [.null, 1]] }
    }
    return object
  }
}
