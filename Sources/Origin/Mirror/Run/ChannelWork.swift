import Manifests
import Store
import System

/// Writes the files of one channel to the mirror, and records what each of them is.
struct ChannelWork {
  let run: MirrorRun
  let plan: ChannelPlan
  let existing: ExistingFiles
  /// Whether `mirror.json` knows which of the channel's files exist.
  let isIndexed: Bool
  /// All files of the channel, including those that existed.
  var files: [String: MirrorIndex.File] = [:]
  /// Zips that the origin can't make because files in them are damaged.
  private(set) var lostZips: [String] = []

  init(_ run: MirrorRun, _ plan: ChannelPlan, isIndexed: Bool) {
    self.run = run
    self.plan = plan
    self.isIndexed = isIndexed
    existing = ExistingFiles(
      destination: run.destination, recorded: run.before, readsBack: run.options.repairs)
  }

  /// Places files and records what they are.
  mutating func put(_ placements: [Placement]) throws(MirrorError) {
    if placements.isEmpty { return }
    let written = Locked<[(String, MirrorIndex.File)]>([])
    let meter = run.meter
    meter.plan(placements.count, placements.clampedSum { $0.size ?? 0 })
    try run.destination.put(placements) { (placement, file) throws(MirrorError) in
      written.withLock { $0.append((placement.path, file)) }
      try meter.completed(file.size)
    }
    for (path, file) in written.withLock({ $0 }) { files[path] = file }
  }

  // MARK: - Resources

  /// Places the resources.
  /// - Throws: `damaged` with all damaged ones, after writing the others.
  mutating func placeResources() throws(MirrorError) {
    let resources = try run.source.resources(of: plan.state)
    let wanted = resources.map {
      (path: $0.path.filePath, file: MirrorIndex.File(sha256: $0.sha256, size: $0.size))
    }
    for (path, file) in wanted { files[path] = file }
    let areThere = try existing.have(wanted.map { ($0.path, $0.file) })
    let missing = resources.indices.filter { !areThere[$0] }
    let damaged = Locked<[MirroredResource]>([])
    let source = run.source
    try put(
      missing.map { index in
        let resource = resources[index]
        return Placement(
          path: wanted[index].path, size: resource.size, sha256: resource.sha256,
          head: FileHead(type: resource.ctype.text, isImmutable: true),
          onLoss: { damaged.withLock { $0.append(resource) } }
        ) { (temporary) throws(MirrorError) in try source.file(of: resource, at: temporary) }
      })
    let lost = damaged.withLock { $0 }
    if !lost.isEmpty { throw .damaged(lost.sorted { $0.path.text < $1.path.text }) }
    if run.options.precompressed { try placeCoded(resources, wanted.map(\.path)) }
  }

  // MARK: - Deltas and packs

  /// A file that the origin makes, and how to get it.
  private struct Derived {
    let path: String
    let size: Int64
    /// The first 16 hexadecimal digits of its SHA-256; nil if its name doesn't tell.
    var mark: String?
    /// Returns it in a local file; a temporary one is created at the given path.
    let fetch: @Sendable (String) throws(MirrorError) -> LocalFile
  }

  /// Places the deltas and packs that patches and updates name.
  /// - Returns: the paths of those that the origin has lost since it made them.
  mutating func placeDerived() throws(MirrorError) -> Set<String> {
    let (source, state) = (run.source, plan.state)
    let deltas = plan.deltas.map { (path, size) in
      Derived(path: path.text, size: size) { (temporary) throws(MirrorError) in
        try source.file(of: path, at: temporary)
      }
    }
    let packs = plan.packs.map { (path, size) in
      Derived(path: path.text, size: size, mark: path.mark) { (temporary) throws(MirrorError) in
        try source.file(of: path, state, at: temporary)
      }
    }
    let missing = try recordDerived(deltas + packs)
    let lost = Locked<Set<String>>([])
    try put(
      missing.map { derived in
        let path = derived.path
        return Placement(
          path: path, size: derived.size, sha256: nil,
          head: FileHead(type: MirrorPath.documentType(path), isImmutable: true),
          onLoss: { lost.withLock { _ = $0.insert(path) } }, source: derived.fetch)
      })
    return lost.withLock { $0 }
  }

  /// Records the files that still exist from an earlier run, and returns the others. A pack that was damaged when it was copied is
  /// written again.
  private mutating func recordDerived(_ wanted: [Derived]) throws(MirrorError) -> [Derived] {
    var missing: [Derived] = []
    for (derived, known) in zip(wanted, try existing.unchanged(wanted.map(\.path))) {
      if let known, known.size == derived.size,
        derived.mark.map({ known.sha256.hex.hasPrefix($0) }) ?? true
      {
        files[derived.path] = known
      } else {
        missing.append(derived)
      }
    }
    return missing
  }

  // MARK: - Zips

  /// Places the zips that are available; none ever changes.
  mutating func placeZips() throws(MirrorError) {
    let known = try existing.unchanged(plan.zips.map(plan.path))
    for (bundle, known) in zip(plan.zips, known) {
      let path = plan.path(of: bundle)
      if let known {
        files[path] = known
        continue
      }
      do throws(MirrorError) {
        try placeZip(bundle, path)
      } catch {
        guard error.isDamage else { throw error }
        lostZips.append(path)
      }
    }
  }

  /// Zips are written one at a time, since making one keeps all cores busy.
  private mutating func placeZip(_ bundle: BundleZip, _ path: String) throws(MirrorError) {
    let (source, state) = (run.source, plan.state)
    guard try source.has(bundle, of: state) else { return }
    let head = FileHead(type: MirrorPath.documentType(path), isImmutable: true)
    let placement = Placement(path: path, size: nil, sha256: nil, head: head) {
      (temporary) throws(MirrorError) in
      try source.file(of: bundle, state, at: temporary)
    }
    try put([placement])
  }
}
