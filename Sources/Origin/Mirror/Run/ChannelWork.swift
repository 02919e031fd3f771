import Compression
import Manifests
import Store
import System

/// Places the files of one channel, and records what each of them is.
struct ChannelWork {
  private let run: MirrorRun
  private let plan: ChannelPlan
  /// Whether `mirror.json` knows which of the channel's files exist.
  private let isTold: Bool
  /// All files of the channel, including those that existed.
  private(set) var files: [String: MirrorIndex.File] = [:]
  /// Zips that the origin can't make because files in them are damaged.
  private(set) var lostZips: [String] = []

  init(_ run: MirrorRun, _ plan: ChannelPlan, isTold: Bool) {
    self.run = run
    self.plan = plan
    self.isTold = isTold
  }

  // MARK: - Resources

  /// Places the resources.
  /// - Throws: `damaged` with all damaged ones, after placing the others.
  mutating func placeResources() throws(MirrorError) {
    let resources = try run.source.resources(of: plan.state)
    let paths = resources.map(\.path.filePath)
    let wanted = zip(paths, resources).map {
      (path: $0, file: MirrorIndex.File(sha256: $1.sha256, size: $1.size))
    }
    for (path, file) in wanted { files[path] = file }
    let isRight = try present(wanted)
    let missing = resources.indices.filter { !isRight[$0] }
    let source = run.source
    let lost = Locked<[MirroredResource]>([])
    let placements = missing.map { index in
      let resource = resources[index]
      return Placement(
        path: paths[index], size: resource.size, sha256: resource.sha256,
        head: FileHead(type: resource.ctype.text, isImmutable: true),
        onLoss: { lost.withLock { $0.append(resource) } }
      ) { (path) throws(MirrorError) in try source.file(of: resource, at: path) }
    }
    try place(placements)
    let damaged = lost.withLock { $0 }
    if !damaged.isEmpty { throw .damaged(damaged.sorted { $0.path.text < $1.path.text }) }
    if run.options.precompressed { try placeCoded(resources, paths) }
  }

  /// Whether each file exists. A resource's path identifies its content, so its size is enough, unless files are repaired.
  private func present(_ wanted: [(path: String, file: MirrorIndex.File)]) throws(MirrorError) -> [Bool] {
    if run.options.repairs {
      return zip(wanted, try run.destination.files(at: wanted.map(\.path))).map { $0.file == $1 }
    }
    return zip(wanted, try run.destination.sizes(of: wanted.map(\.path))).map { $0.file.size == $1 }
  }

  /// Places files and records what they are.
  private mutating func place(_ placements: [Placement]) throws(MirrorError) {
    if placements.isEmpty { return }
    let placed = Locked<[(String, MirrorIndex.File)]>([])
    let meter = run.meter
    meter.plan(placements.count, placements.clampedSum { $0.size ?? 0 })
    try run.destination.place(placements) { (placement, file) throws(MirrorError) in
      placed.withLock { $0.append((placement.path, file)) }
      try meter.placed(file.size)
    }
    for (path, file) in placed.withLock({ $0 }) { files[path] = file }
  }

  // MARK: - Deltas and packs

  /// A file that the origin makes, and how to get it.
  private struct Derived {
    let path: String
    let size: Int64
    /// The first 16 hexadecimal digits of its SHA-256; nil if its name doesn't tell.
    var mark: String?
    let file: @Sendable (String) throws(MirrorError) -> LocalFile
  }

  /// Places the deltas and packs that patches and updates name.
  /// - Returns: the paths of those that the origin has lost since it made them.
  mutating func placeDerived() throws(MirrorError) -> Set<String> {
    let (source, state) = (run.source, plan.state)
    let deltas = plan.deltas.map { (path, size) in
      Derived(path: path.text, size: size) { (place) throws(MirrorError) in
        try source.file(of: path, at: place)
      }
    }
    let packs = plan.packs.map { (path, size) in
      Derived(path: path.text, size: size, mark: path.mark) { (place) throws(MirrorError) in
        try source.file(of: path, state, at: place)
      }
    }
    return try place(deltas + packs)
  }

  private mutating func place(_ wanted: [Derived]) throws(MirrorError) -> Set<String> {
    let lost = Locked<Set<String>>([])
    var missing: [Placement] = []
    for (derived, known) in zip(wanted, try present(wanted)) {
      let path = derived.path
      if let known {
        files[path] = known
        continue
      }
      let head = FileHead(type: MirrorPath.documentType(path), isImmutable: true)
      missing.append(
        Placement(
          path: path, size: derived.size, sha256: nil, head: head,
          onLoss: { lost.withLock { _ = $0.insert(path) } }
        ) { (place) throws(MirrorError) in try derived.file(place) })
    }
    try place(missing)
    return lost.withLock { $0 }
  }

  /// Returns the files that still exist from an earlier run, judged by size or, if files are repaired, by content. A pack that
  /// was damaged when it was copied is placed again.
  private func present(_ wanted: [Derived]) throws(MirrorError) -> [MirrorIndex.File?] {
    zip(wanted, try areRight(wanted.map(\.path))).map { derived, isRight in
      guard isRight, let known = run.before[derived.path], known.size == derived.size,
        derived.mark.map({ known.sha256.hex.hasPrefix($0) }) ?? true
      else { return nil }
      return known
    }
  }

  // MARK: - Zips

  /// Places the zips that are available; none ever changes.
  mutating func placeZips() throws(MirrorError) {
    let paths = plan.zips.map(plan.path)
    let isRight = try areRight(paths)
    for ((zip, path), isRight) in zip(zip(plan.zips, paths), isRight) {
      if isRight, let known = run.before[path] {
        files[path] = known
      } else {
        do throws(MirrorError) {
          try placeZip(zip)
        } catch {
          guard error.isDamage else { throw error }
          lostZips.append(path)
        }
      }
    }
  }

  /// Whether files are as an earlier run left them, judged by size or, if files are repaired, by content.
  private func areRight(_ paths: [String]) throws(MirrorError) -> [Bool] {
    let known = paths.map { run.before[$0] }
    if run.options.repairs {
      return zip(known, try run.destination.files(at: paths)).map { $0 != nil && $0 == $1 }
    }
    return zip(known, try run.destination.sizes(of: paths)).map { $0 != nil && $0?.size == $1 }
  }

  /// Zips are placed one at a time, since making one keeps all cores busy.
  private mutating func placeZip(_ zip: BundleZip) throws(MirrorError) {
    let (source, state, path) = (run.source, plan.state, plan.path(of: zip))
    guard try source.has(zip, of: state) else { return }
    let head = FileHead(type: MirrorPath.documentType(path), isImmutable: true)
    let file = Placement(path: path, size: nil, sha256: nil, head: head) { (path) throws(MirrorError) in
      try source.file(of: zip, state, at: path)
    }
    try place([file])
  }

  // MARK: - Coded siblings

  /// How many bytes to compress before placing the results.
  private static let codedBatch: Int64 = 64 << 20

  private mutating func placeCoded(_ resources: [MirroredResource], _ paths: [String]) throws(MirrorError) {
    var batch: [Int] = []
    var bytes: Int64 = 0
    for index in resources.indices {
      let resource = resources[index]
      guard resource.ctype.isCompressible, Coding.sizes.contains(resource.size) else { continue }
      if try keepsCoded(paths[index]) { continue }
      batch.append(index)
      bytes += resource.size
      if bytes >= Self.codedBatch {
        try placeCoded(batch.map { (paths[$0], resources[$0].ctype.text) })
        (batch, bytes) = ([], 0)
      }
    }
    try placeCoded(batch.map { (paths[$0], resources[$0].ctype.text) })
  }

  /// Whether both siblings of a resource existed before and still do.
  private mutating func keepsCoded(_ path: String) throws(MirrorError) -> Bool {
    let known = Self.codings.compactMap { coding in
      run.before[path + coding.ending].map { (path: path + coding.ending, file: $0) }
    }
    guard known.count == Self.codings.count, try present(known).allSatisfy({ $0 }) else { return false }
    for (path, file) in known { files[path] = file }
    return true
  }

  private static let codings: [(name: String, ending: String)] = [("gzip", ".gz"), ("zstd", ".zst")]

  private mutating func placeCoded(_ batch: [(path: String, type: String)]) throws(MirrorError) {
    guard !batch.isEmpty else { return }
    let made = Locked<[Placement]>([])
    let destination = run.destination
    try Parallel.forEach(batch.count, threads: 2) { (index) throws(MirrorError) in
      guard let plain = try destination.read(batch[index].path) else { return }
      for coding in Self.codings {
        let bytes = coding.name == "gzip" ? Gzip.encode([plain]) : Zstd.encode([plain], level: 9)
        guard Coding.pays(bytes.count, for: plain.count) else { continue }
        let file = Placement(
          path: batch[index].path + coding.ending, size: Int64(bytes.count), sha256: SHA256.of(bytes),
          head: FileHead(type: batch[index].type, coding: coding.name, isImmutable: true)
        ) { (path) throws(MirrorError) in
          try MirrorError.disk { () throws(SystemError) in try DurableFile.write(bytes, to: path) }
          return LocalFile(path: path, isTemporary: true)
        }
        made.withLock { $0.append(file) }
      }
    }
    let placements = made.withLock { $0 }
    try place(placements)
  }

  // MARK: - Documents

  /// How many documents are made at a time, and by how many threads.
  private static let made = (documents: 4, threads: 2)

  mutating func writeDocuments() throws(MirrorError) {
    try removeStaleCodings(plan.documents)
    for stage in PlannedDocument.Stage.allCases {
      var rest = try unkept(plan.documents.filter { $0.stage == stage })[...]
      var changes = false
      while !rest.isEmpty {
        let batch = Array(rest.prefix(Self.made.documents))
        rest = rest.dropFirst(batch.count)
        for (document, made) in zip(batch, try make(batch.map(\.document))) {
          changes = try write(made, document.document, document.size) || changes
        }
      }
      if changes { try show() }
    }
  }

  /// Returns the documents that may have to be written, with their current sizes; records the others as they are.
  private mutating func unkept(_ documents: [PlannedDocument]) throws(MirrorError)
    -> [(document: PlannedDocument, size: Int64?)]
  {
    var rest: [(document: PlannedDocument, size: Int64?)] = []
    for (document, size) in zip(documents, try run.destination.sizes(of: documents.map(\.path))) {
      if document.isFixed, !run.options.repairs, let known = run.before[document.path], known.size == size {
        try keep(document.path, known)
      } else {
        rest.append((document, size))
      }
    }
    return rest
  }

  private typealias Made = (bytes: [UInt8], file: MirrorIndex.File)

  private func make(_ documents: [PlannedDocument]) throws(MirrorError) -> [Made] {
    let made = Locked([Made?](repeating: nil, count: documents.count))
    try Parallel.forEach(documents.count, threads: Self.made.threads) { (index) throws(MirrorError) in
      let bytes = try documents[index].bytes()
      let file = MirrorIndex.File(sha256: SHA256.of(bytes), size: Int64(bytes.count))
      made.withLock { $0[index] = (bytes, file) }
    }
    return made.withLock { $0.compactMap(\.self) }
  }

  /// Writes a document unless it is already there; returns whether it did.
  private mutating func write(_ made: Made, _ document: PlannedDocument, _ size: Int64?) throws(MirrorError)
    -> Bool
  {
    if try isRight(document.path, made.file, size) {
      try keep(document.path, made.file)
      return false
    }
    // A store without renames makes a document visible as soon as it is written.
    try run.markUnfinished()
    try write(made.bytes, document, made.file)
    return true
  }

  /// Makes the documents visible, after everything they name, and their own bytes, are durable.
  private func show() throws(MirrorError) {
    try run.destination.sync()
    try run.destination.show()
  }

  private func isRight(_ path: String, _ file: MirrorIndex.File, _ size: Int64?) throws(MirrorError) -> Bool {
    if run.options.repairs { return try run.destination.files(at: [path]).first == file }
    return run.before[path] == file && size == file.size
  }

  private mutating func keep(_ path: String, _ file: MirrorIndex.File) throws(MirrorError) {
    files[path] = file
    guard run.options.precompressed else { return }
    for coding in Self.codings {
      let sibling = path + coding.ending
      if let known = run.before[sibling], try present([(sibling, known)]) == [true] {
        files[sibling] = known
      } else if let bytes = try run.destination.read(path) {
        try writeCoded(bytes, path)
        return
      }
    }
  }

  private mutating func write(_ bytes: [UInt8], _ document: PlannedDocument, _ file: MirrorIndex.File)
    throws(MirrorError)
  {
    let head = FileHead(type: MirrorPath.documentType(document.path), isImmutable: document.isFixed)
    if run.options.precompressed { try writeCoded(bytes, document.path) }
    try run.destination.write(bytes, as: document.path, head)
    run.meter.wrote(file.size)
    files[document.path] = file
    try run.meter.hold()
  }

  private mutating func writeCoded(_ bytes: [UInt8], _ path: String) throws(MirrorError) {
    for coding in Self.codings {
      let coded = coding.name == "gzip" ? Gzip.encode([bytes]) : Zstd.encode([bytes])
      let type = MirrorPath.documentType(path)
      let head = FileHead(type: type, coding: coding.name, isImmutable: false)
      try run.destination.write(coded, as: path + coding.ending, head)
      run.meter.wrote(Int64(coded.count))
      files[path + coding.ending] = MirrorIndex.File(sha256: SHA256.of(coded), size: Int64(coded.count))
    }
  }

  /// Removes coded siblings that are no longer written: they would still be served instead of the newer documents.
  private func removeStaleCodings(_ documents: [PlannedDocument]) throws(MirrorError) {
    if run.options.precompressed { return }
    let siblings = documents.flatMap { document in Self.codings.map { document.path + $0.ending } }
    // An interrupted run may have left some that aren't recorded.
    let stale =
      isTold
      ? siblings.filter { run.before[$0] != nil }
      : zip(siblings, try run.destination.sizes(of: siblings)).filter { $1 != nil }.map(\.0)
    if stale.isEmpty { return }
    try run.markUnfinished()
    try run.destination.sync()
    try run.destination.remove(stale)
  }
}
