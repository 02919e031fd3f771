import Compression
import System
import TestSupport

@testable import Manifests
@testable import Values

/// Two random versions of a front end, as a bundler would write them, and the pack between them.
struct PackSample {
  private var hasLazy = false
  private(set) var base: Manifest
  private(set) var new: Manifest
  /// The bytes of both.
  private(set) var files: [SHA256: [UInt8]] = [:]
  /// The bytes of the base that every device has.
  var held: [SHA256: [UInt8]] {
    let wanted = Set(base.items.lazy.filter { !$0.entry.isLazy }.map(\.entry.sha256))
    return files.filter { wanted.contains($0.key) }
  }

  init(base: Manifest, new: Manifest, files: [SHA256: [UInt8]]) {
    (self.base, self.new, self.files) = (base, new, files)
  }

  /// - Parameters:
  ///   - count: approximate number of files in the base.
  ///   - words: approximate number of words in each file.
  ///   - hasLazy: whether a third of the entries is lazy.
  init(seed: UInt64, count: Int = 14, words: Int = 60, hasLazy: Bool = false) throws {
    self.hasLazy = hasLazy
    var random = SplitMix(seed: seed)
    var names: [String: String] = [:]
    for number in 0..<count { names["part\(number)"] = Self.hash(&random) }
    var texts: [String: String] = [:]
    for name in names.keys.sorted() {
      texts[name] = Self.text(Int.random(in: 0...words, using: &random), names.keys.sorted(), &random)
    }
    base = .empty
    new = .empty
    let old = try entries(names, texts, version: 5, before: [:], &random)
    base = Manifest(version: ManifestVersion(5), items: old.map { ManifestItem(url: $0, entry: $1) })
    // A release: new hashes in names, changed, removed and new files, and duplicates.
    for name in names.keys.sorted() where Int.random(in: 0..<3, using: &random) > 0 {
      names[name] = Self.hash(&random)
    }
    var next = texts
    for name in texts.keys.sorted() {
      switch Int.random(in: 0..<8, using: &random) {
      case 0: next[name] = nil
      case 1: next[name] = (next[name] ?? "") + " \(random.next())"
      case 2: next["copy of \(name)"] = texts[name]
      case 3: next["new\(name)"] = Self.text(words, ["part1"], &random)
      case 4:
        next["new\(name)"] = "twin \(random.next())"
        next["twin\(name)"] = next["new\(name)"]
      default: break
      }
    }
    if next == texts { next["more"] = "more" }
    let then = try entries(names, next, version: 8, before: old, &random)
    new = Manifest(version: ManifestVersion(8), items: then.map { ManifestItem(url: $0, entry: $1) })
  }

  private static func hash(_ random: inout SplitMix) -> String {
    String((0..<8).map { _ in "abcdefghijkmnpqrstuvwxyzABCDEFGH_-".randomElement(using: &random) ?? "a" })
  }

  private static func text(_ words: Int, _ names: [String], _ random: inout SplitMix) -> String {
    (0..<words).map { _ in
      switch Int.random(in: 0..<4, using: &random) {
      case 0: "\"./{\(names.randomElement(using: &random) ?? "")}.js\";"
      case 1: "const e\(Int.random(in: 0..<99, using: &random))=import"
      default: ["function", "return", "=>", "null", "é"].randomElement(using: &random) ?? ""
      }
    }.joined(separator: " ")
  }

  private mutating func entries(
    _ names: [String: String], _ texts: [String: String], version: Int64, before: [ResourceURL: Entry],
    _ random: inout SplitMix
  ) throws -> [ResourceURL: Entry] {
    var entries: [ResourceURL: Entry] = [:]
    for name in texts.keys.sorted() {
      let file = "\(name)\(names[name].map { ".\($0)" } ?? "").js"
      let url = try ResourceURL.mapping(base: BaseURL("https://m.example.com/app"), path: file)
      var text = texts[name] ?? ""
      for (other, hash) in names { text = text.replacing("{\(other)}", with: "\(other).\(hash)") }
      let bytes = Array(text.utf8)
      let digest = Self.digest(of: bytes)
      files[digest.sha256] = bytes
      if let old = before[url], old.sha256 == digest.sha256 {
        entries[url] = old
        continue
      }
      var others = JSONObject()
      if Int.random(in: 0..<4, using: &random) == 0 {
        others["headers"] = ["referrer-policy": Bool.random(using: &random) ? "no-referrer" : "origin"]
      }
      if hasLazy, Int.random(in: 0..<3, using: &random) == 0 { others[Entry.lazyKey] = true }
      let form = EntryForm(
        ctype: Bool.random(using: &random) ? "text/javascript" : "application/javascript;charset=UTF-8",
        others: others,
        downloadBase: "https://cdn.example.com/\(Int.random(in: 0..<2, using: &random))/xcache/7")
      let arrival = PackChanges.Arrival(
        url: url, partner: nil, form: form, version: (before[url]?.version ?? 0) + 1,
        manifestVersion: ManifestVersion(version - Int64.random(in: 0..<3, using: &random)), source: .held(0))
      entries[url] = arrival.entry(digest)
    }
    return entries
  }

  static func digest(of bytes: [UInt8]) -> FileDigest {
    var hasher = FileHasher()
    hasher.update(bytes.span.bytes)
    return hasher.finish()
  }
}

extension PackSample {
  /// The plan of the pack between the two versions.
  func plan() -> PackPlan? {
    let old = Dictionary(uniqueKeysWithValues: base.items.map { ($0.url, $0.entry) })
    let now = Dictionary(uniqueKeysWithValues: new.items.map { ($0.url, $0.entry) })
    let changes = Set(old.keys).union(now.keys).sorted().filter { old[$0] != now[$0] }
      .map { EntryDifference(url: $0, old: old[$0], new: now[$0]) }
    let indices = Dictionary(uniqueKeysWithValues: base.items.enumerated().map { ($1.url, $0) })
    let held = Dictionary(
      base.items.enumerated().filter { !$1.entry.isLazy }.map { ($1.entry.sha256, $0) }
    ) { first, _ in first }
    return PackPlan(
      changes, index: ({ indices[$0] }, { held[$0] }), delta: { _ in nil },
      stableName: { String($0.text.split(separator: ".").dropLast(2).joined(separator: ".")) },
      leavesOutLazy: base.items.contains(where: \.entry.isLazy))
  }

  /// The pack, with the smallest of three encodings for each file.
  /// - Parameter bases: files that are encoded with the given base instead, renamed or not.
  func pack(over bases: [ResourceURL: (base: Int, isRenamed: Bool)] = [:]) throws -> [UInt8] {
    guard var plan = plan() else { throw PackFault.damaged("there is no plan") }
    let renaming = plan.changes.renaming(old: plan.old)
    var body: [UInt8] = []
    for index in plan.changes.records {
      let arrival = plan.changes.arrivals[index]
      guard let sha256 = new[arrival.url]?.sha256, let file = files[sha256] else { continue }
      var candidates = [(base: Int?.none, isRenamed: false, frame: PackFrame.encode(file, level: 19))]
      if let partner = arrival.partner, !plan.old[partner].entry.isLazy,
        let old = files[plan.old[partner].entry.sha256]
      {
        let baseIndex = plan.changes.touched[partner]
        candidates.append((baseIndex, false, PackFrame.encode(file, base: old)))
        if let renamed = renaming.applied(to: old) {
          candidates.append((baseIndex, true, PackFrame.encode(file, base: renamed)))
        }
      }
      if let (baseIndex, isRenamed) = bases[arrival.url], let old = files[base.items[baseIndex].entry.sha256]
      {
        let base = isRenamed ? renaming.applied(to: old) ?? old : old
        candidates = [(baseIndex, isRenamed, PackFrame.encode(file, base: base))]
      }
      guard let best = candidates.min(by: { $0.frame?.count ?? .max < $1.frame?.count ?? .max }),
        let frame = best.frame
      else { continue }
      plan.changes.arrivals[index].source = .record(base: best.base, isRenamed: best.isRenamed)
      body += PackRecordHead(length: frame.count, sha256: sha256).bytes + frame
    }
    return Self.assemble(plan.changes, body, from: base, to: new, old: plan.old)
  }

  /// Joins head, change list and records.
  static func assemble(
    _ changes: PackChanges, _ body: [UInt8], from base: Manifest, to new: Manifest, old: [ManifestItem]
  ) -> [UInt8] {
    let list = changes.bytes(version: new.version, old: old)
    let coded = PackFrame.encode(list) ?? []
    let head = PackHead(
      changes.format, base: base.version, version: new.version, baseDigest: base.map.digest,
      digest: new.map.digest,
      records: changes.records.count, plainChanges: list, codedChanges: coded.count)
    return head.bytes + coded + body
  }
}
