import Compression
import Manifests
import Store
import System
import Values

/// Which added files of a diff are removed ones that went on under another URL: bundlers put a hash of its content into a file's
/// name, so that each changed file is a new one.
///
/// A pair has the same bytes; or a delta from one to the other, or much of the same content; or is alone with its name without the
/// hash. Where several files have such a name (`index.1f3c.js`, `index.77aa.js`) and nothing is known of their content, none is
/// paired: a wrong pair tells more lies than two rows. Of those that are left over once the others of their name are paired, the sizes
/// have to be near each other.
struct RenamedFiles: Sendable {
  /// The removed resource by the URL of the added one.
  private(set) var before: [ResourceURL: ContentChange] = [:]
  /// The URL of the added resource by that of the removed one.
  private(set) var after: [ResourceURL: ResourceURL] = [:]

  /// The most files of each side whose content is compared; of a larger release only the first ones are.
  static let most = 2000
  /// The share of content from which files are a pair whatever their names are.
  static let alike = 0.5

  private struct File {
    let change: ContentChange
    let content: ResourceContent
    let name: String
    var isPaired = false
  }

  private struct Match {
    let score: Double
    let new: Int
    let old: Int
  }

  private var added: [File] = []
  private var removed: [File] = []

  /// - Parameters:
  ///   - changes: those of a diff, sorted by URL.
  ///   - bases: the bases of deltas that result in an added file, each with the share of its download that the delta saves.
  ///   - sketches: returns the stored sketches of files; it isn't asked where no file is left without a pair.
  init<Failure: Error>(
    _ changes: [ContentChange], bases: [SHA256: [SHA256: Double]],
    sketches: ([DeltaFile]) throws(Failure) -> [SHA256: Sketch]
  ) throws(Failure) {
    var names = StableURLs()
    let isOneSided = !changes.contains { $0.was == nil } || !changes.contains { $0.now == nil }
    if isOneSided { return }
    for change in changes where change.was == nil || change.now == nil {
      guard let content = change.now ?? change.was else { continue }
      let file = File(change: change, content: content, name: names.name(of: change.url))
      if change.was == nil { added.append(file) } else { removed.append(file) }
    }
    pairSameBytes()
    pair(deltaMatches(bases))
    let rest = (files(added), files(removed))
    if !rest.0.isEmpty, !rest.1.isEmpty { pair(sketchMatches(try sketches(rest.0 + rest.1))) }
    pairLastOfTheirName()
    (added, removed) = ([], [])
  }

  private mutating func join(_ new: Int, _ old: Int) {
    (added[new].isPaired, removed[old].isPaired) = (true, true)
    before[added[new].change.url] = removed[old].change
    after[removed[old].change.url] = added[new].change.url
  }

  private mutating func pairSameBytes() {
    var held: [SHA256: [Int]] = [:]
    // The last in a list is the first by URL.
    for index in removed.indices.reversed() { held[removed[index].content.sha256, default: []].append(index) }
    for isNamesake in [true, false] {
      for index in added.indices where !added[index].isPaired {
        let sha256 = added[index].content.sha256
        // Taken out, so that it isn't copied: a hundred thousand files may be the same.
        guard var olds = held.removeValue(forKey: sha256) else { continue }
        let place = olds.suffix(64).lastIndex { !isNamesake || removed[$0].name == added[index].name }
        if let place { join(index, olds.remove(at: place)) }
        if !olds.isEmpty { held[sha256] = olds }
      }
    }
  }

  /// The files that a delta leads from one to the other.
  private func deltaMatches(_ bases: [SHA256: [SHA256: Double]]) -> [Match] {
    let olds = Dictionary(
      removed.indices.filter { !removed[$0].isPaired }.map { (removed[$0].content.sha256, $0) }
    ) { first, _ in first }
    return added.indices.filter { !added[$0].isPaired }.flatMap { new in
      (bases[added[new].content.sha256] ?? [:]).compactMap { base, share in
        olds[base].flatMap { match(new, $0, share) }
      }
    }
  }

  /// The pairs that share content, with their share of it.
  private func sketchMatches(_ sketches: [SHA256: Sketch]) -> [Match] {
    var holders: [UInt64: [Int]] = [:]
    for old in removed.indices where !removed[old].isPaired {
      for hash in sketches[removed[old].content.sha256]?.hashes ?? [] {
        holders[hash, default: []].append(old)
      }
    }
    return added.indices.filter { !added[$0].isPaired }.flatMap { new -> [Match] in
      let hashes = sketches[added[new].content.sha256]?.hashes ?? []
      var shared: [Int: Int] = [:]
      // What many files have says nothing about two.
      for hash in hashes {
        guard let olds = holders[hash], olds.count <= 16 else { continue }
        for old in olds { shared[old, default: 0] += 1 }
      }
      return shared.compactMap { old, count in
        let most = max(hashes.count, sketches[removed[old].content.sha256]?.hashes.count ?? 0)
        return match(new, old, Double(count) / Double(max(1, most)))
      }
    }
  }

  /// A match that may be a pair; nil if the files have other types, or neither names nor content in common.
  private func match(_ new: Int, _ old: Int, _ share: Double) -> Match? {
    let isNamesake = added[new].name == removed[old].name
    guard added[new].content.ctype.essence == removed[old].content.ctype.essence,
      share >= (isNamesake ? 0.02 : Self.alike)
    else { return nil }
    return Match(score: share + (isNamesake ? 1 : 0), new: new, old: old)
  }

  /// Pairs the best matches first.
  private mutating func pair(_ matches: [Match]) {
    let ranked = matches.sorted {
      $0.score != $1.score ? $0.score > $1.score : ($0.new, $0.old) < ($1.new, $1.old)
    }
    for match in ranked where !added[match.new].isPaired && !removed[match.old].isPaired {
      join(match.new, match.old)
    }
  }

  private mutating func pairLastOfTheirName() {
    let news = Dictionary(grouping: added.indices.filter { !added[$0].isPaired }) { added[$0].name }
    let olds = Dictionary(grouping: removed.indices.filter { !removed[$0].isPaired }) { removed[$0].name }
    let shared = Set(added.filter(\.isPaired).map(\.name))
    for (name, new) in news where new.count == 1 {
      guard let old = olds[name], old.count == 1 else { continue }
      let sizes = [added[new[0]].content.size, removed[old[0]].content.size].sorted()
      if shared.contains(name), sizes[1] / 2 > sizes[0] { continue }
      join(new[0], old[0])
    }
  }

  private func files(_ side: [File]) -> [DeltaFile] {
    side.lazy.filter { !$0.isPaired }.prefix(Self.most).map { DeltaFile($0.change.url, $0.content) }
  }
}

/// URLs without their queries' values and without what looks like a hash, in folders, too.
private struct StableURLs {
  private var folders: [Substring: String] = [:]

  mutating func name(of url: ResourceURL) -> String {
    let path = url.withoutQuery
    let slash = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let folder = Substring(path[..<slash])
    let stable =
      folders[folder]
      ?? folder.split(separator: "/", omittingEmptySubsequences: false)
      .map { StableName(path: $0).name(mark: "*") }.joined(separator: "/")
    folders[folder] = stable
    let query = path.utf8.count < url.text.utf8.count ? "?" : ""
    return stable + StableName(path: path[slash...]).name(mark: "*") + query
  }
}
