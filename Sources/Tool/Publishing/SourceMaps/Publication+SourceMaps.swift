import Manifests
import OriginAPI
import OriginClient
import System

// Source maps are sent before the release that has their files: a release that can be seen has its maps.
extension Publication {
  /// Sends the source maps, and has the origin store them.
  /// - Throws: `sourceMapsUnknown` if the origin is older than source maps.
  func sendSourceMaps() throws(PublishError) -> SourceMapAnswer? {
    guard let sourceMaps, !isDryRun else { return nil }
    let hashed = try FileHashing().digests(of: Array(Set(sourceMaps.pairs.values))).files
    let maps = Dictionary(hashed.map { ($0.source.location, $0) }) { first, _ in first }
    var items: [SHA256: SourceMapRequest.Item] = [:]
    for resource in local.bundles.flatMap(\.resources) {
      guard let map = sourceMaps.pairs[resource.file.source.location].flatMap({ maps[$0.location] }) else {
        continue
      }
      let file = resource.content.sha256
      // Files with the same bytes are one; a build that has them twice has the same map for both.
      if items[file] == nil {
        items[file] = .init(file: file, map: map.digest.sha256, size: map.digest.size)
      }
    }
    let digests = Set(hashed.map(\.digest.sha256)).sorted()
    let lacking = try PublishError.asking { () throws(OriginError) in try api.missing(of: digests) }
    var seen: Set<SHA256> = []
    try publisher.send(
      hashed.filter { lacking.contains($0.digest.sha256) && seen.insert($0.digest.sha256).inserted },
      RetainedBytes())
    return try store(items.values.sorted { ($0.file?.hex ?? "") < ($1.file?.hex ?? "") }, hashed)
  }

  private func store(_ items: [SourceMapRequest.Item], _ maps: [HashedFile]) throws(PublishError)
    -> SourceMapAnswer
  {
    var (stored, known, refused) = (0, 0, 0)
    var rest = items[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(SourceMapRequest.limit))
      rest = rest.dropFirst(part.count)
      let answer = try store(part: part, maps)
      stored += answer.stored
      known += answer.known
      refused += answer.refused
    }
    return SourceMapAnswer(stored: stored, known: known, refused: refused)
  }

  /// Has maps stored, and sends what the origin has dropped in between.
  private func store(part items: [SourceMapRequest.Item], _ maps: [HashedFile]) throws(PublishError)
    -> SourceMapAnswer
  {
    var attempts = 3
    while true {
      do {
        return try PublishError.asking { () throws(OriginError) in
          try api.keepSourceMaps(SourceMapRequest(maps: items), in: channel).value
        }
      } catch .origin(.refused(let problem)) where problem.code == "not-found" {
        throw .sourceMapsUnknown
      } catch .origin(.refused(let problem)) where problem.code == "missing-blobs" && attempts > 0 {
        let missing = Set(problem.missing)
        let lost = maps.filter { missing.contains($0.digest.sha256) } + local.files(of: missing).values
        guard !lost.isEmpty else { throw .origin(.refused(problem)) }
        attempts -= 1
        try publisher.send(lost, local.kept)
      }
    }
  }
}

extension Publisher {
  /// Pairs the source maps of a folder with the files of a build, and says what was found.
  func pairSourceMaps(_ folder: String?, _ local: LocalBundles) throws(PublishError) -> SourceMapPairing? {
    guard let folder else { return nil }
    let pairing = try SourceMapPairing(
      folder, local.bundles.flatMap(\.resources).map(\.file.source), keeping: local.kept)
    progress(.sourceMaps(pairing))
    return pairing
  }
}
