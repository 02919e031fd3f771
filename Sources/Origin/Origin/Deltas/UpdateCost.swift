import Compression
import Manifests
import Store
import System
import Values

/// What devices download for an update: the answer that says what is new, and either a pack or, for each new file, the
/// smallest delta from what they hold, or else its plain body. Lazy files are counted by themselves, because updates leave them out.
struct UpdateCost: Sendable {
  /// The bytes of the answer, as sent.
  var answer: Int64 = 0
  /// The bytes of the pack that replaces the files; nil if there is none.
  var pack: Int64?
  /// The files that come one by one beside the pack, which may be that of an earlier version, and their bytes as sent.
  var unpacked: (files: Int, bytes: Int64) = (0, 0)
  /// The number of distinct files that are downloaded.
  var files = 0
  /// How many of them as deltas.
  var deltas = 0
  /// The bytes as sent, and what they would be without deltas.
  var bytes: Int64 = 0
  var plainBytes: Int64 = 0
  /// The lazy files whose bytes aren't those of a file that is downloaded.
  var lazyFiles = 0
  /// The bytes of these as sent.
  var lazyBytes: Int64 = 0

  /// The number of requests: one for the answer, and one for a pack, and for each file that isn't in one.
  var requests: Int { 1 + (pack == nil ? files : 1 + unpacked.files) }

  typealias Contents = [(url: ResourceURL, content: ResourceContent)]

  /// The cost of `new` for a device that holds `held`.
  init(_ new: Contents, holding held: Set<SHA256>, _ facts: DerivedFacts) throws(StoreError) {
    let targets = Set(new.map(\.content.sha256)).subtracting(held)
    self.init(new, holding: held, pairs: try facts.store.derived.pairs(of: Array(targets)), facts)
  }

  /// The same, where `pairs` are the known deltas of each new file.
  init(
    _ new: Contents, holding held: Set<SHA256>, pairs: [SHA256: [StoredDelta]], _ facts: DerivedFacts
  ) {
    var seen = held
    for (_, content) in new where !content.isLazy && seen.insert(content.sha256).inserted {
      let plain = facts.plainSize(content.sha256, content.ctype, size: content.size)
      files += 1
      plainBytes = plainBytes.addingClamped(plain)
      let delta = pairs[content.sha256]?.filter { held.contains($0.base) }.compactMap(\.size).min()
      if delta != nil { deltas += 1 }
      bytes = bytes.addingClamped(min(plain, delta ?? plain))
    }
    for (_, content) in new where content.isLazy && seen.insert(content.sha256).inserted {
      lazyFiles += 1
      lazyBytes = lazyBytes.addingClamped(
        facts.plainSize(content.sha256, content.ctype, size: content.size))
    }
  }

  /// The cost of `contents` for a device that has nothing.
  ///
  /// Each file's size is computed once, by compressing it, and then stored. For many files this would take longer than the
  /// rest of their release: of files below `small` bytes, `judged` are examined, of larger ones as many as fit into `exact`
  /// bytes, and the rest is extrapolated.
  init(whole contents: ContentTable, _ facts: DerivedFacts, exact: Int64 = 64 << 20, judged: Int = 1000) {
    var seen: Set<SHA256> = []
    (files, plainBytes) = Self.sum(contents, isLazy: false, &seen, facts, exact, judged)
    bytes = plainBytes
    (lazyFiles, lazyBytes) = Self.sum(contents, isLazy: true, &seen, facts, exact, judged)
  }

  /// Returns the number and the bytes as sent of the files that are lazy, or of those that aren't, and that aren't in `seen`.
  private static func sum(
    _ contents: ContentTable, isLazy: Bool, _ seen: inout Set<SHA256>, _ facts: DerivedFacts, _ exact: Int64,
    _ judged: Int
  ) -> (files: Int, bytes: Int64) {
    var (files, bytes): (Int, Int64) = (0, 0)
    var (small, large): ([ResourceContent], [ResourceContent]) = ([], [])
    for index in contents.indices where contents.isLazy(at: index) == isLazy {
      guard seen.insert(contents.sha256(at: index)).inserted else { continue }
      let content = contents[index].content
      files += 1
      if !content.ctype.isCompressible {
        bytes = bytes.addingClamped(content.size)
      } else if content.size < Self.small {
        small.append(content)
      } else {
        large.append(content)
      }
    }
    // Sampled across the whole manifest, since files in one folder are much alike.
    let step = max(1, small.count / judged)
    var share = Share()
    for (index, content) in small.enumerated() {
      share.add(content, isJudged: index % step == 0, facts)
    }
    bytes = bytes.addingClamped(share.all)
    share = Share()
    for content in large { share.add(content, isJudged: share.known < exact, facts) }
    return (files, bytes.addingClamped(share.all))
  }

  /// Files above this size in bytes are few, and make up most of a download.
  private static let small: Int64 = 64 << 10

  /// A group of files, for some of which the size as sent is known.
  private struct Share {
    var (known, coded, rest): (Int64, Int64, Int64) = (0, 0, 0)

    mutating func add(_ content: ResourceContent, isJudged: Bool, _ facts: DerivedFacts) {
      guard isJudged else { return rest = rest.addingClamped(content.size) }
      known = known.addingClamped(content.size)
      coded = coded.addingClamped(facts.plainSize(content.sha256, content.ctype, size: content.size))
    }

    /// The bytes of all of them, as sent.
    var all: Int64 {
      let extrapolated = known > 0 ? Double(rest) * Double(coded) / Double(known) : Double(rest)
      return coded.addingClamped(Int64(min(extrapolated, 0x1p62)))
    }
  }
}

/// What each file of a diff costs a device at the older version.
struct DiffTransfers: Sendable {
  let cost: UpdateCost
  private let sizes: [SHA256: (plain: Int64, delta: Int64?)]
  /// The bases of the deltas that result in a new file, each with the share of its download that the delta saves.
  let bases: [SHA256: [SHA256: Double]]

  init(_ changes: [ContentChange], _ channel: ChannelInfo, from base: ManifestVersion, _ facts: DerivedFacts)
    throws(StoreError)
  {
    let new = changes.compactMap { change in change.now.map { (url: change.url, content: $0) } }
    let targets = Set(new.map(\.content.sha256))
    let pairs = try facts.store.derived.pairs(of: Array(targets)).mapValues { $0.filter { $0.size != nil } }
    let known = Set(pairs.values.joined().map(\.base)).union(targets)
    let held = try facts.store.held(known, channel, at: base, withoutLazy: true)
    var sizes: [SHA256: (plain: Int64, delta: Int64?)] = [:]
    for (_, content) in new where sizes[content.sha256] == nil {
      try Store.checkCancellation()
      let delta = pairs[content.sha256]?.filter { held.contains($0.base) }.compactMap(\.size).min()
      let plain = facts.plainSize(content.sha256, content.ctype, size: content.size)
      // A device copies what it has under another URL.
      sizes[content.sha256] = held.contains(content.sha256) ? (0, nil) : (plain, delta)
    }
    self.sizes = sizes
    bases = pairs.reduce(into: [:]) { bases, file in
      let plain = Double(max(1, sizes[file.key]?.plain ?? 1))
      let shares = file.value.map { ($0.base, 1 - Double($0.size ?? 0) / plain) }
      bases[file.key] = Dictionary(shares) { max($0, $1) }
    }
    cost = UpdateCost(new, holding: held, pairs: pairs, facts)
  }

  /// Returns the cost of an update from `base` to `version`, including the answer and the pack.
  func cost(_ channel: ChannelInfo, from base: ManifestVersion, to version: ManifestVersion, _ store: Store)
    throws(StoreError) -> UpdateCost
  {
    var cost = cost
    let isWhole = base == .none || channel.crossesRebase(from: base, to: version)
    if isWhole, version > base, let digest = try store.digest(channel, at: version) {
      var first: PackOffer?
      let answered = channel.at(version, digest: digest)
      if base == .none, let pack = try firstPack(of: answered, of: channel, store) {
        first = pack.offer(of: channel)
        cost.pack = pack.size
        cost.unpacked = try unpacked(of: answered, in: pack, store)
      }
      let whole = WholeManifest(
        answered, try ManifestMap(store, channel, at: version),
        try store.answerExtras(of: channel),
        trust: try store.answerTrust(of: channel, from: nil, to: version), first: first)
      cost.answer = Int64(whole.document.codedCount)
      return cost
    }
    guard base < version, let baseDigest = try store.digest(channel, at: base),
      let digest = try store.digest(channel, at: version)
    else { return cost }
    let ends = PackEnds(base: base, baseDigest: baseDigest, version: version, digest: digest)
    let sizes = AnswerSize(
      extras: try store.answerExtras(of: channel),
      trust: try store.answerTrust(of: channel, from: base, to: version), digest: digest)
    if case .stored(let pack) = try store.derived.pack(ends, of: channel.id) {
      cost.pack = pack.size
      cost.answer = sizes.pack(pack.offer(of: channel), from: base, to: version)
    } else {
      let changes = try store.changes(channel, from: base, to: version)
      cost.answer = sizes.patch(
        changes.map { MapChange(url: $0.url, entry: $0.entry, lost: $0.lost) },
        deltas: try DeltaOffers(store: store).render(changes, channel, from: base), from: base, to: version)
    }
    return cost
  }

  /// The first pack that new devices get, or got, with a version: its own one, or, if answers still name it, an earlier one's.
  private func firstPack(of version: ChannelInfo, of channel: ChannelInfo, _ store: Store) throws(StoreError)
    -> StoredPack?
  {
    if channel.answeredVersions.contains(version.version) {
      if case .stored(let pack) = try store.firstPack(of: version) { return pack }
    } else if let digest = version.digest {
      let ends = PackEnds(firstOf: version.version, digest: digest)
      if case .stored(let pack) = try store.derived.pack(ends, of: channel.id) { return pack }
    }
    return nil
  }

  /// The files of a first install that an earlier version's first pack lacks, and their bytes as sent.
  private func unpacked(of version: ChannelInfo, in pack: StoredPack, _ store: Store) throws(StoreError)
    -> (files: Int, bytes: Int64)
  {
    if pack.version == version.version { return (0, 0) }
    let packed = try store.firstPackNeed(of: version, at: pack.version).files
    var unpacked: (files: Int, bytes: Int64) = (0, 0)
    for (sha256, size) in try store.firstPackNeed(of: version, at: version.version).files
    where packed[sha256] == nil {
      unpacked.files += 1
      unpacked.bytes = unpacked.bytes.addingClamped(sizes[sha256]?.plain ?? size)
    }
    return unpacked
  }

  /// Returns the bytes of the best plain body, and those of the delta, if there is one.
  func sizes(of content: ResourceContent) -> (plain: Int64?, delta: Int64?) {
    let size = sizes[content.sha256]
    return (size?.plain, size?.delta)
  }
}
