import Archive
import Manifests
import System
import Values

/// An open zip of a channel's files.
package struct StoredZip: ~Copyable, Sendable {
  /// The file, open for reading.
  package let file: Descriptor
  /// The path of the file.
  package let path: String
  /// The size in bytes.
  package let size: Int64
  /// Identifies its bytes: the first half of their SHA-256, in hexadecimal.
  package let tag: String

  /// Transfers the file to the caller.
  package consuming func takeFile() -> Descriptor { file }
}

// Zips are stored as derived/zips/<channel>/<name>.<key>.<tag>.zip. The key identifies the zip's manifests, so that a
// zip of an earlier database isn't mistaken for one of this database; the tag identifies its bytes.
extension Store {
  /// Opens a zip that was built before; nil if there is none.
  /// - Throws: `unknownVersion`.
  package func zip(_ zip: BundleZip, of channel: ChannelInfo) throws(StoreError) -> StoredZip? {
    guard let path = try zipFile(zip, of: channel) else { return nil }
    return try StoreError.disk { () throws(SystemError) -> StoredZip? in
      guard let file = try Kernel.openExisting(path, [.read, .nonBlocking]) else { return nil }
      // When room is needed, the least recently used zips are removed first.
      try? Kernel.setModified(path, to: Clock.unixMilliseconds())
      let size = try Kernel.status(file).size
      let tag = path.dropLast(4)
      return StoredZip(
        file: file, path: path, size: size, tag: String(tag.reversed().prefix { $0 != "." }.reversed()))
    }
  }

  /// The path of a zip that was built before; nil if there is none.
  /// - Throws: `unknownVersion`.
  package func zipFile(_ zip: BundleZip, of channel: ChannelInfo) throws(StoreError) -> String? {
    let key = try zipKey(zip, of: channel)
    let folder = folder.zips(of: channel)
    let path = try StoreError.disk { () throws(SystemError) -> String? in
      guard try Kernel.status(folder) != nil else { return nil }
      let name = try Folder.textNames(folder).first {
        $0.hasPrefix(key + ".") && $0.hasSuffix(".zip") && !$0.hasSuffix(ZipFile.droppedEnding)
      }
      return name.map { "\(folder)/\($0)" }
    }
    guard let path, try derived.hasWholeZip(path) else { return nil }
    return path
  }

  /// Builds a zip and stores it.
  ///
  /// - Parameters:
  ///   - zip: the zip to build.
  ///   - channel: the channel.
  ///   - deltas: the deltas from the update's base to new resources; none for a whole version.
  ///   - threads: how many threads compress, at low priority.
  /// - Throws: `unknownVersion`, `corruptBlob`, `diskFull`, …, with nothing stored.
  package func makeZip(
    _ zip: BundleZip, of channel: ChannelInfo, deltas: [ZipDelta] = [], threads: Int
  ) throws(StoreError) {
    let key = try zipKey(zip, of: channel)
    let inputs = try contents(of: zip, channel, deltas).inputs
    let folder = folder.zips(of: channel)
    let part = "\(folder)/\(key).\(Hex.encode(Secrets.random(6).span.bytes)).part"
    do throws(StoreError) {
      let tag = try Self.write(inputs, threads: threads, to: part, derived.space)
      try StoreError.disk { () throws(SystemError) in
        try Kernel.rename(part, to: "\(folder)/\(key).\(tag).zip")
        try Kernel.syncFolder(folder)
      }
    } catch {
      try? Kernel.remove(part)
      throw error
    }
  }

  /// The most bytes that a zip takes, give or take a little: the size of its contents uncompressed.
  package func largestSize(of zip: BundleZip, _ channel: ChannelInfo, deltas: [ZipDelta]) throws(StoreError)
    -> Int64
  {
    let files: Int64
    switch zip {
    case .whole(channel.version): files = channel.bytes
    case .whole(let version): files = try contents(channel, at: version).reduce(0) { $0 + $1.content.size }
    case .update(let from, let to), .deltas(let from, let to):
      let left = if case .deltas = zip { Set(deltas.map(\.offer.url)) } else { Set<ResourceURL>() }
      files = try changes(channel, from: from, to: to).reduce(0) { sum, change in
        sum + (left.contains(change.url) ? 0 : change.entry?.size ?? 0)
      }
    }
    return files + deltas.reduce(0) { $0 + $1.offer.size }
  }

  /// Builds a zip as a new file at `path`, for the caller.
  /// - Throws: as above, leaving an incomplete file at `path`.
  package func makeZip(
    _ zip: BundleZip, of channel: ChannelInfo, deltas: [ZipDelta], threads: Int, at path: String
  ) throws(StoreError) {
    _ = try Self.write(contents(of: zip, channel, deltas).inputs, threads: threads, to: path)
  }

  /// The deltas for the zip of an update: those that are offered to devices.
  package func zipDeltas(_ channel: ChannelInfo, from: ManifestVersion, to: ManifestVersion)
    throws(StoreError) -> [ZipDelta]
  {
    let changes = try changes(channel, from: from, to: to)
    let offers = try DeltaOffers(store: self).offers(changes, channel, from: from)
    let targets = Dictionary(
      changes.compactMap { change in change.entry.map { (change.url, $0.sha256) } }
    ) { $1 }
    return offers.compactMap { offer in
      targets[offer.url].map { ZipDelta(offer, path: derived.deltaFile($0, on: offer.base)) }
    }
  }

  /// Writes a zip to a new file, which takes its space from `space`, if any.
  private static func write(
    _ inputs: [ArchiveInput], threads: Int, to part: String, _ space: FileSpace? = nil
  ) throws(StoreError) -> String {
    let sink = try StoreError.disk { () throws(SystemError) in
      try Kernel.makeFolder(DurableFile.parent(of: part), mode: 0o750)
      // Written to the disk bit by bit: a commit meanwhile would wait for all that the file system has to write.
      return ArchiveFileSink(
        try Kernel.open(part, [.write, .create, .exclusive], mode: 0o640), path: part,
        writing: { (bytes, write) throws(ArchiveError) in
          guard let space else { return try write() }
          try space.taking(FileSpace.blockSize + bytes, for: part, write: write)
        }, written: Kernel.startWriting)
    }
    do throws(ArchiveError) {
      try Archive.write(inputs, threads: threads, to: sink) { OSThread.lowerPriority(to: .awaited) }
      return String(try sink.finish().hex.prefix(32))
    } catch {
      throw StoreError(zip: error)
    }
  }

  private func contents(
    of zip: BundleZip, _ channel: ChannelInfo, _ deltas: [ZipDelta]
  ) throws(StoreError) -> ZipContents {
    switch zip {
    case .whole(let version):
      return try .whole(
        version, digest: try keptDigest(channel, version),
        trust: try answerTrust(of: channel, from: nil, to: version), manifest(channel, at: version), of: self)
    case .update(let base, let version), .deltas(let base, let version):
      // Each entry of the one names its bundle, and none of the other does.
      if channel.crossesRebase(from: base, to: version) { throw .unknownVersion(base) }
      let leavesOutWhole = if case .deltas = zip { true } else { false }
      return .update(
        from: base, to: version, digest: try keptDigest(channel, version),
        trust: try answerTrust(of: channel, from: base, to: version),
        try changes(channel, from: base, to: version), deltas, leavesOutWhole: leavesOutWhole, of: self)
    }
  }

  /// The beginning of a zip's file names.
  func zipKey(_ zip: BundleZip, of channel: ChannelInfo) throws(StoreError) -> String {
    var digests: [UInt8] = []
    if let base = zip.base {
      // No update leads from entries that name no bundle to ones that do.
      if channel.crossesRebase(from: base, to: zip.version) { throw .unknownVersion(base) }
      digests += try keptDigest(channel, base).bytes
    }
    digests += try keptDigest(channel, zip.version).bytes
    // What another root's keys have signed is of no use to devices that have this one.
    if let root = try extras(of: channel).root { digests += Array(String(root).utf8) }
    return "\(zip.fileName.dropLast(4)).\(SHA256.of(digests).hex.prefix(16))"
  }

  private func keptDigest(_ channel: ChannelInfo, _ version: ManifestVersion) throws(StoreError) -> SHA256 {
    guard let digest = try digest(channel, at: version) else { throw .unknownVersion(version) }
    return digest
  }
}

extension FileSpace {
  /// Takes room for bytes of an archive and has `write` write them.
  fileprivate func taking(
    _ bytes: Int, for archive: String, write: () throws(ArchiveError) -> Void
  ) throws(ArchiveError) {
    do throws(StoreError) {
      try taking(bytes) { () throws(StoreError) in
        do throws(ArchiveError) { try write() } catch { throw StoreError(zip: error) }
      }
    } catch {
      throw .input(archive, error)
    }
  }
}

extension StoreError {
  /// Creates the store's error for a zip that couldn't be built.
  init(zip error: ArchiveError) {
    switch error {
    case .input(_, let inner as StoreError): self = inner
    case .input(_, let inner as SystemError): self = StoreError(inner)
    case .input(_, let inner as ArchiveError): self = StoreError(zip: inner)
    case .system(let inner): self = StoreError(inner)
    default: self = .archive(error)
    }
  }
}
