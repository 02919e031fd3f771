import Compression
import Foundation
import Manifests
import System
import Testing

@testable import Origin

@Suite struct PackRoundTripTests {
  /// What a release of two folders' difference costs as a pack.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["XCACHE_PACK_FOLDERS"] != nil))
  func measures() throws {
    let folders = (ProcessInfo.processInfo.environment["XCACHE_PACK_FOLDERS"] ?? "").split(separator: ":")
      .map(String.init)
    let old = try Self.load(folders[0], 1, [:]), new = try Self.load(folders[1], 2, old.entries)
    let urls = old.entries.keys.sorted()
    var changes: [EntryChange] = []
    for url in Set(old.entries.keys).union(new.entries.keys).sorted()
    where old.entries[url] != new.entries[url] {
      changes.append(EntryChange(url: url, old: old.entries[url], new: new.entries[url]))
    }
    let places = Dictionary(urls.enumerated().map { ($1, $0) }) { a, _ in a }
    let shas = Dictionary(urls.map { (old.entries[$0]!.sha256, places[$0]!) }) { a, _ in a }
    // deltas: by sketches
    let targets = changes.compactMap(\.new).filter { shas[$0.sha256] == nil }
    var finder = BaseFinder(wanted: targets.map { Sketch(new.bytes[$0.sha256]!, .tokens) })
    for url in urls {
      let entry = old.entries[url]!
      finder.add(
        .init(
          name: StableName(path: url.path), size: Int(entry.size),
          sketch: Sketch(old.bytes[entry.sha256]!, .tokens)))
    }
    finder.seal()
    var deltas: [SHA256: DeltaTrial.Delta] = [:]
    let clock = ContinuousClock()
    var t0 = clock.now
    var dczTotal = 0
    for change in changes {
      guard let entry = change.new, shas[entry.sha256] == nil, deltas[entry.sha256] == nil else { continue }
      let bytes = new.bytes[entry.sha256]!
      let file = BaseFinder.File(
        name: StableName(path: change.url.path), size: bytes.count, sketch: Sketch(bytes, .tokens))
      let bases = finder.bases(for: file).map { old.entries[urls[$0]]!.sha256 }
      deltas[entry.sha256] = DeltaTrial.best(
        of: bytes, sha256: entry.sha256, plain: Zstd.encode([bytes], level: 9).count, bases: bases.count
      ) {
        .init(sha256: bases[$0], bytes: old.bytes[bases[$0]]!)
      }
      dczTotal += deltas[entry.sha256]?.coded.count ?? Zstd.encode([bytes], level: 19).count
    }
    print("deltas", deltas.count, dczTotal, clock.now - t0)
    t0 = clock.now
    var plan = try #require(
      PackPlan(changes, place: ({ places[$0] }, { shas[$0] }), delta: { deltas[$0]?.base }) {
        StableName(path: $0.text).name(mark: "*")
      })
    let renaming = plan.changes.renaming(old: plan.old)
    var total = 0, renamed = 0
    var rows: [(Int, Int, Int, String)] = []
    for index in plan.changes.records {
      let arrival = plan.changes.arrivals[index]
      let entry = new.entries[arrival.url]!
      let bytes = new.bytes[entry.sha256]!
      guard case .record(let base, _) = arrival.source else { continue }
      func held(_ sha256: SHA256) -> PackRecord.Base { .init(sha256: sha256, bytes: old.bytes[sha256]!) }
      let delta =
        base == nil
        ? nil : deltas[entry.sha256].map { PackRecord.Delta(base: held($0.base), coded: $0.coded) }
      let partner = arrival.partner.map { held(plan.old[$0].entry.sha256) }
      let record = try #require(PackRecord(bytes, delta: delta, partner: partner, renaming))
      let frame = record.frame
      if record.isRenamed { renamed += 1 }
      plan.changes.arrivals[index].source = .record(
        base: record.base.flatMap { sha256 in shas[sha256] }, isRenamed: record.isRenamed)
      total += frame.count + PackRecordHead(length: frame.count, sha256: entry.sha256).bytes.count
      rows.append((frame.count, deltas[entry.sha256]?.coded.count ?? -1, bytes.count, arrival.url.text))
    }
    let list = plan.changes.bytes(version: ManifestVersion(2), old: plan.old)
    let coded = PackFrame.encode(list)!
    let items = urls.map { ManifestItem(url: $0, entry: old.entries[$0]!) }
    let read = try PackChanges(list, version: ManifestVersion(2), base: items)
    #expect(read == plan.changes)
    print(
      "pack", total + coded.count + 120, "records", plan.changes.records.count, "renamed", renamed, "payload",
      total, "list", list.count, coded.count, clock.now - t0)
    for row in rows.sorted(by: { $0.0 > $1.0 }).prefix(30) { print(row) }
    let small = rows.filter { $0.0 < 100 }
    print("small", small.count, small.reduce(0) { $0 + $1.0 })
  }

  private static func load(_ folder: String, _ version: Int64, _ before: [ResourceURL: Entry]) throws -> (
    entries: [ResourceURL: Entry], bytes: [SHA256: [UInt8]]
  ) {
    var entries: [ResourceURL: Entry] = [:], all: [SHA256: [UInt8]] = [:]
    let root = URL(fileURLWithPath: folder)
    for case let file as URL in FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)! {
      guard let data = try? Data(contentsOf: file) else { continue }
      let bytes = [UInt8](data)
      let path = file.path.dropFirst(root.path.count)
      let url = try ResourceURL("https://app.example.com\(path)")
      var hasher = FileHasher()
      hasher.update(bytes.span.bytes)
      let digest = hasher.finish()
      if let was = before[url], was.sha256 == digest.sha256 {
        entries[url] = was; all[digest.sha256] = bytes; continue
      }
      let rv = (before[url]?.version ?? 0) + 1
      let content = ResourceContent(digest, ctype: ContentType.of(fileName: file.lastPathComponent))
      let path2 = DownloadPath(
        channel: .online, appID: 1, manifestVersion: ManifestVersion(version), resourceVersion: rv,
        sha256: digest.sha256, url: url)
      entries[url] = Entry(
        content, download: path2.url(publicURL: try BaseURL("https://cdn.example.com/h")), version: rv)
      all[digest.sha256] = bytes
    }
    return (entries, all)
  }
}
