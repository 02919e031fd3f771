import Compression
import Manifests
import Store
import System

/// What devices download for an update: of each new file its smallest delta on what they hold, else its plain body.
struct UpdateCost: Sendable {
  /// Files that come over the wire, each once.
  var files = 0
  /// Of these, as deltas.
  var deltas = 0
  /// Bytes as they are sent, and what they would be without deltas.
  var bytes: Int64 = 0
  var plainBytes: Int64 = 0

  typealias Contents = [(url: ResourceURL, content: ResourceContent)]

  /// The cost of getting `new` for a device that holds `held`.
  init(_ new: Contents, holding held: Set<SHA256>, _ facts: DerivedFacts) throws(StoreError) {
    let targets = Set(new.map(\.content.sha256)).subtracting(held)
    self.init(new, holding: held, pairs: try facts.store.derived.pairs(of: Array(targets)), facts)
  }

  /// - Parameter pairs: the deltas that are known of each of the new files.
  init(
    _ new: Contents, holding held: Set<SHA256>, pairs: [SHA256: [StoredDelta]], _ facts: DerivedFacts
  ) {
    var seen = held
    for (_, content) in new where seen.insert(content.sha256).inserted {
      let plain = facts.plainSize(content.sha256, content.ctype, size: content.size)
      files += 1
      plainBytes = plainBytes.addingClamped(plain)
      let delta = pairs[content.sha256]?.filter { held.contains($0.base) }.compactMap(\.size).min()
      if delta != nil { deltas += 1 }
      bytes = bytes.addingClamped(min(plain, delta ?? plain))
    }
  }

  /// What a device without anything downloads for `contents`.
  ///
  /// Beyond `exact` bytes, sizes that were never worked out are taken in proportion.
  init(whole contents: Contents, _ facts: DerivedFacts, exact: Int64 = 64 << 20) {
    var seen: Set<SHA256> = []
    var (known, coded, rest): (Int64, Int64, Int64) = (0, 0, 0)
    for (_, content) in contents where seen.insert(content.sha256).inserted {
      files += 1
      guard content.ctype.isCompressible else {
        plainBytes = plainBytes.addingClamped(content.size)
        continue
      }
      if known < exact {
        known = known.addingClamped(content.size)
        coded = coded.addingClamped(
          facts.plainSize(content.sha256, content.ctype, size: content.size))
      } else {
        rest = rest.addingClamped(content.size)
      }
    }
    let inProportion = known > 0 ? Double(rest) * Double(coded) / Double(known) : 0
    plainBytes = plainBytes.addingClamped(coded).addingClamped(Int64(min(inProportion, 0x1p62)))
    bytes = plainBytes
  }
}

/// What each file of a diff costs a device at its older version.
struct DiffTransfers: Sendable {
  let cost: UpdateCost
  private let sizes: [SHA256: (plain: Int64, delta: Int64?)]

  init(_ changes: [ContentChange], _ channel: ChannelInfo, from base: ManifestVersion, _ facts: DerivedFacts)
    throws(StoreError)
  {
    let new = changes.compactMap { change in change.now.map { (url: change.url, content: $0) } }
    let targets = Set(new.map(\.content.sha256))
    let pairs = try facts.store.derived.pairs(of: Array(targets)).mapValues { $0.filter { $0.size != nil } }
    let bases = Set(pairs.values.joined().map(\.base)).union(targets)
    let held = try facts.store.held(bases, channel, at: base)
    var sizes: [SHA256: (plain: Int64, delta: Int64?)] = [:]
    for (_, content) in new where sizes[content.sha256] == nil {
      let delta = pairs[content.sha256]?.filter { held.contains($0.base) }.compactMap(\.size).min()
      let plain = facts.plainSize(content.sha256, content.ctype, size: content.size)
      // What a device has under another URL it copies.
      sizes[content.sha256] = held.contains(content.sha256) ? (0, nil) : (plain, delta)
    }
    self.sizes = sizes
    cost = UpdateCost(new, holding: held, pairs: pairs, facts)
  }

  /// `plain`: bytes of the best plain body; `delta`: bytes of the delta, where there is one.
  func sizes(of content: ResourceContent) -> (plain: Int64?, delta: Int64?) {
    let size = sizes[content.sha256]
    return (size?.plain, size?.delta)
  }
}

/// What is worked out of a file's bytes once and then kept: its sketch, and the size of its best plain body.
struct DerivedFacts: Sendable {
  let store: Store

  /// The sketches of files; those that can't be had are left out.
  func sketches(of files: [DeltaFile], threads: Int, isUrgent: Bool) throws(StoreError) -> [SHA256: Sketch] {
    var sketches: [SHA256: Sketch] = [:]
    for cut in [Sketch.Cut.tokens, .chunks] {
      let group = files.filter { $0.cut.number == cut.number }
      let kept = try store.derived.sketches(of: group.map(\.sha256), cut: cut.number)
      for (sha256, encoded) in kept { sketches[sha256] = Sketch(encoded: encoded) }
      let found = Set(sketches.keys)
      let rest = group.filter { !found.contains($0.sha256) }
      let made = Locked<[SHA256: Sketch]>([:])
      Parallel.forEach(rest.count, threads: threads, priority: isUrgent ? nil : .background) {
        [store] index in
        let file = rest[index]
        guard let bytes = try? store.bytes(of: file.sha256, limit: DeltaTrial.largestFile) else { return }
        let sketch = Sketch(bytes, cut)
        made.withLock { $0[file.sha256] = sketch }
      }
      let new = made.withLock { $0 }
      try store.derived.keep(sketches: new.mapValues(\.encoded), cut: cut.number)
      sketches.merge(new) { $1 }
    }
    return sketches
  }

  /// Bytes of a file's best plain body, worked out now if it never was.
  func plainSize(_ sha256: SHA256, _ ctype: ContentType, size: Int64) -> Int64 {
    guard ctype.isCompressible, Coding.sizes.contains(size) else { return size }
    if let kept = try? store.derived.plainSize(of: sha256, coded: true) { return kept }
    guard let bytes = try? store.bytes(of: sha256, limit: Int(size)) else { return size }
    let best = Int64(
      min(bytes.count, Gzip.encode([bytes]).count, Zstd.encode([bytes], level: CodedFiles.zstdLevel).count))
    // Kept to save the work next time; that it can't be is no matter here.
    try? store.derived.keep(plainSize: best, of: sha256, coded: true)
    return best
  }
}
