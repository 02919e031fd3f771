import Compression
import Manifests
import System
import Testing
import Values

/// Packs as an origin makes them, of two resourcemaps and the bytes that they list.
struct PackMaker {
  let base: Manifest
  let next: Manifest
  let bytes: (SHA256) -> [UInt8]?

  init(
    _ base: (number: Int64, map: JSONObject), _ next: (number: Int64, map: JSONObject),
    bytes: @escaping (SHA256) -> [UInt8]?
  ) throws {
    self.base = try Self.manifest(base.number, base.map)
    self.next = try Self.manifest(next.number, next.map)
    self.bytes = bytes
  }

  private static func manifest(_ number: Int64, _ map: JSONObject) throws -> Manifest {
    Manifest(
      version: ManifestVersion(number),
      items: try map.members.map {
        ManifestItem(url: try ResourceURL($0.key), entry: try Entry(json: $0.value))
      })
  }

  /// Where each record begins in the pack that was made last, and its end.
  private(set) var bounds: [Int] = []

  mutating func make() throws -> [UInt8] {
    var plan = try plan()
    let renaming = plan.changes.renaming(old: plan.old)
    var body: [UInt8] = []
    var ends: [Int] = [0]
    for index in plan.changes.records {
      let arrival = plan.changes.arrivals[index]
      let sha256 = try #require(next[arrival.url]).sha256
      let target = try #require(bytes(sha256))
      var frame = try #require(PackFrame.encode(target))
      if case .record(let base?, _) = arrival.source {
        let old = try #require(bytes(self.base.items[base].entry.sha256))
        frame = try #require(PackFrame.encode(target, base: old))
        if let renamed = renaming.applied(to: old), let other = PackFrame.encode(target, base: renamed) {
          frame = other
          plan.changes.arrivals[index].source = .record(base: base, isRenamed: true)
        }
      }
      body += PackRecordHead(length: frame.count, sha256: sha256).bytes + frame
      ends.append(body.count)
    }
    let list = plan.changes.bytes(version: next.version, old: plan.old)
    let coded = try #require(PackFrame.encode(list))
    let head = PackHead(
      plan.changes.format, base: base.version, version: next.version, baseDigest: base.map.digest,
      digest: next.map.digest,
      records: ends.count - 1, plainChanges: list, codedChanges: coded.count)
    bounds = ends.map { head.bytes.count + coded.count + $0 }
    return head.bytes + coded + body
  }

  private func plan() throws -> PackPlan {
    var changes: [EntryDifference] = []
    for url in Set(base.items.map(\.url)).union(next.items.map(\.url)).sorted()
    where base[url] != next[url] {
      changes.append(EntryDifference(url: url, old: base[url], new: next[url]))
    }
    let name = { (url: ResourceURL) in StableName(path: url.text).name(mark: "*") }
    var namesakes: [String: SHA256] = [:]
    for item in base.items where !item.entry.isLazy { namesakes[name(item.url)] = item.entry.sha256 }
    var bases: [SHA256: SHA256] = [:]
    for item in next.items { bases[item.entry.sha256] = namesakes[name(item.url)] }
    return try #require(
      PackPlan(
        changes,
        index: (
          { url in base.items.firstIndex { $0.url == url } },
          { sha256 in base.items.firstIndex { $0.isHeld(sha256) } }
        ), delta: { bases[$0] }, stableName: name,
        leavesOutLazy: base.items.contains(where: \.entry.isLazy)))
  }
}
