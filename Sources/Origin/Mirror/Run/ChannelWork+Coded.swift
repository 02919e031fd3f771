import Compression
import Manifests
import Store
import System

// Precompressed siblings, for web servers that don't compress.
extension ChannelWork {
  static let codings: [(name: String, ending: String)] = [("gzip", ".gz"), ("zstd", ".zst")]

  /// How many bytes to compress before writing the results.
  private static let codedBatch: Int64 = 64 << 20

  // MARK: - Of resources

  /// Places the coded siblings of resources that are worth it.
  mutating func placeCoded(_ resources: [MirroredResource], _ paths: [String]) throws(MirrorError) {
    var batch: [(path: String, type: String)] = []
    var bytes: Int64 = 0
    for (resource, path) in zip(resources, paths) {
      guard resource.ctype.isCompressible, Coding.sizes.contains(resource.size) else { continue }
      if try keepCoded(path) { continue }
      batch.append((path, resource.ctype.text))
      bytes += resource.size
      if bytes >= Self.codedBatch {
        try placeCodedBatch(batch)
        (batch, bytes) = ([], 0)
      }
    }
    try placeCodedBatch(batch)
  }

  /// Records both siblings of a resource if they existed before and still do; returns whether it did.
  private mutating func keepCoded(_ path: String) throws(MirrorError) -> Bool {
    let known = Self.codings.compactMap { coding in
      existing.recorded[path + coding.ending].map { (path: path + coding.ending, file: $0) }
    }
    guard known.count == Self.codings.count,
      try existing.have(known.map { ($0.path, $0.file) }).allSatisfy({ $0 })
    else { return false }
    for (path, file) in known { files[path] = file }
    return true
  }

  private mutating func placeCodedBatch(_ batch: [(path: String, type: String)]) throws(MirrorError) {
    guard !batch.isEmpty else { return }
    let made = Locked<[Placement]>([])
    let destination = run.destination
    try Parallel.forEach(batch.count, threads: 2) { (index) throws(MirrorError) in
      let (path, type) = batch[index]
      guard let plain = try destination.read(path) else { return }
      for coding in Self.codings {
        let bytes = coding.name == "gzip" ? Gzip.encode([plain]) : Zstd.encode([plain], level: 9)
        guard Coding.pays(bytes.count, for: plain.count) else { continue }
        let placement = Self.placement(of: bytes, path + coding.ending, type, coding.name)
        made.withLock { $0.append(placement) }
      }
    }
    try put(made.withLock { $0 })
  }

  private static func placement(of bytes: [UInt8], _ path: String, _ type: String, _ coding: String)
    -> Placement
  {
    Placement(
      path: path, size: Int64(bytes.count), sha256: SHA256.of(bytes),
      head: FileHead(type: type, coding: coding, isImmutable: true)
    ) { (temporary) throws(MirrorError) in
      try MirrorError.disk { () throws(SystemError) in try DurableFile.write(bytes, to: temporary) }
      return LocalFile(path: temporary, isTemporary: true)
    }
  }

  // MARK: - Of documents

  /// Writes the coded siblings of a document.
  mutating func writeCoded(_ bytes: [UInt8], _ path: String) throws(MirrorError) {
    for coding in Self.codings {
      let coded = coding.name == "gzip" ? Gzip.encode([bytes]) : Zstd.encode([bytes])
      let type = MirrorPath.documentType(path)
      let head = FileHead(type: type, coding: coding.name, isImmutable: false)
      try run.destination.write(coded, as: path + coding.ending, head)
      run.meter.wrote(Int64(coded.count))
      files[path + coding.ending] = MirrorIndex.File(sha256: SHA256.of(coded), size: Int64(coded.count))
    }
  }

  /// Records the coded siblings of a document that stays, or writes them again if one is missing.
  mutating func keepCodedDocument(_ path: String) throws(MirrorError) {
    for coding in Self.codings {
      let sibling = path + coding.ending
      if let known = existing.recorded[sibling], try existing.have([(sibling, known)]) == [true] {
        files[sibling] = known
      } else if let bytes = try run.destination.read(path) {
        try writeCoded(bytes, path)
        return
      }
    }
  }

  /// Removes coded siblings that are no longer written: they would still be served instead of the newer documents.
  func removeStaleCoded(_ documents: [PlannedDocument]) throws(MirrorError) {
    if run.options.precompressed { return }
    let siblings = documents.flatMap { document in Self.codings.map { document.path + $0.ending } }
    // An interrupted run may have left some that aren't recorded.
    let stale =
      isIndexed
      ? siblings.filter { existing.recorded[$0] != nil }
      : zip(siblings, try run.destination.sizes(of: siblings)).filter { $1 != nil }.map(\.0)
    if stale.isEmpty { return }
    try run.markUnfinished()
    try run.destination.sync()
    try run.destination.remove(stale)
  }
}
