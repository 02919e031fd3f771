import Manifests

/// A kind of file, by its extension, that a release brings in number and that the live bundle has none of: perhaps an exclude
/// pattern was dropped.
package struct NewKind: Hashable, Sendable {
  package let bundle: BundleName
  /// The extension in lowercase, without the dot.
  package let ending: String
  package let files: Int
  package let bytes: Int64

  /// From how many files on, and from which part of all files on, they are many.
  private static let many = (files: 10, part: 5)

  /// Returns the kinds that a bundle's `local` files have and its live ones don't, if they are many or source maps, which nobody
  /// publishes on purpose after leaving them out.
  static func kinds(of bundle: BundleName, _ local: [BuildFile], live: RemoteBundle) -> [NewKind] {
    if live.entries.isEmpty { return [] }
    var found: [String: (files: Int, bytes: Int64)] = [:]
    for file in local {
      guard let ending = ending(of: file.url.text) else { continue }
      let before = found[ending] ?? (0, 0)
      found[ending] = (before.files + 1, before.bytes.addingClamped(file.content.size))
    }
    for entry in live.entries {
      if found.isEmpty { return [] }
      if let ending = ending(of: entry.url) { found[ending] = nil }
    }
    let kinds = found.map { NewKind(bundle: bundle, ending: $0, files: $1.files, bytes: $1.bytes) }
    return kinds.filter {
      $0.ending == "map" || $0.files >= many.files && $0.files * many.part >= local.count
    }.sorted { $0.ending < $1.ending }
  }

  private static func ending(of url: String) -> String? {
    let path = url.utf8.prefix { $0 != UInt8(ascii: "?") }
    let name = path.suffix(
      from: path.lastIndex(of: UInt8(ascii: "/")).map { path.index(after: $0) } ?? path.startIndex)
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return nil }
    let ending = name[name.index(after: dot)...]
    return (1...8).contains(ending.count) ? String(Substring(ending)).lowercased() : nil
  }
}
