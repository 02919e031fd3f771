import Manifests
import Store
import System
import Values

/// Restores an origin from a mirror alone.
package struct Restoration {
  private let reader: any MirrorReader
  private let progress: @Sendable (MirrorProgress) -> Void

  package init(
    from reader: any MirrorReader, progress: @escaping @Sendable (MirrorProgress) -> Void = { _ in }
  ) {
    self.reader = reader
    self.progress = progress
  }

  /// What was restored, and what couldn't be.
  package struct Report: Sendable {
    package let channels: [MirrorReport.Channel]
    package let files: Int
    package let bytes: Int64
    /// Channels that the origin had when the copy was last written but that aren't in it; nil if the copy doesn't tell.
    package let leftOut: [MirroredChannel]?
    /// Those of `channels` whose last run was interrupted: devices may have seen a newer version.
    package let unfinished: [MirroredChannel]
    /// Live URLs for which the mirror lacks the bytes, or has wrong ones; they need to be published again.
    package let lost: [DamagedURL]
    /// The apps with a root, for which the new origin has no key for heads.
    package let roots: [AppName]
    /// Documents that are damaged or missing; what they describe was left out.
    package let damaged: [DamagedDocument]

    package var isWhole: Bool { lost.isEmpty && damaged.isEmpty }
  }

  /// Restores everything into the store that `open` creates or opens, once there is something to restore.
  /// - Throws: `noMirror`, `noIndex`, `damagedMirror`, `store(.notEmpty)`; then the folder has no origin.
  package func restore(
    into open: @autoclosure () throws(StoreError) -> Store
  ) throws(MirrorError) -> Report {
    let (index, _) = try reader.index()
    let store = try MirrorError.store(open)
    let isEmpty = try MirrorError.store { () throws(StoreError) in try store.channels().isEmpty }
    guard isEmpty else { throw .store(.notEmpty(path: store.folder.path)) }
    let mark = mark()
    var (channels, damaged): ([RestoredChannel], [DamagedDocument]) = ([], [])
    var (restored, unfinished): ([MirrorReport.Channel], [MirroredChannel]) = ([], [])
    for channel in index.channels {
      let isHalfWay = channel.isUnfinished || (mark?.names(channel.name) ?? false)
      var documents = ChannelReader(channel, isHalfWay: isHalfWay, reader)
      do throws(MirrorError) {
        channels.append(try documents.restored())
      } catch .unreadable(let path, let reason) {
        damaged.append(DamagedDocument(channel: channel.name, version: nil, path: path, reason: reason))
        continue
      }
      damaged += documents.damaged
      restored.append(.init(app: channel.app, channel: channel.channel, version: channel.version))
      if isHalfWay { unfinished.append(channel.name) }
    }
    if channels.isEmpty, let first = damaged.first {
      throw .damagedMirror(path: first.path, reason: first.reason)
    }
    let (files, lost) = try receive(channels, except: Set(index.purged ?? []), into: store)
    let places = try write(channels, lost, index, into: store)
    return Report(
      channels: restored, files: files.count, bytes: files.clampedSum(\.size), leftOut: index.leftOut,
      unfinished: unfinished, lost: places,
      roots: Set(channels.filter { $0.trust != nil }.map(\.app)).sorted { $0.text < $1.text },
      damaged: damaged)
  }

  /// Returns the mark of an interrupted or active run; nil, as if there were none, if it can't be read.
  private func mark() -> RunMark? {
    // Some web servers answer missing files with a page.
    guard let bytes = try? reader.read(RunMark.path), bytes.first != UInt8(ascii: "<") else { return nil }
    return RunMark(parsing: bytes)
  }

  private func write(
    _ channels: [RestoredChannel], _ lost: Set<SHA256>, _ index: MirrorIndex, into store: Store
  ) throws(MirrorError) -> [DamagedURL] {
    do throws(StoreError) {
      try store.restore(channels, defaultApp: index.defaultApp, lost: lost, purged: index.purged ?? [])
      return try store.damagedURLs(of: Array(lost))
    } catch .corruptRow(let text) {
      // The rows come from the mirror's documents: they aren't in a database yet.
      throw .damagedMirror(
        path: reader.name, reason: "a document has a value that xcache never writes: \"\(text)\"")
    } catch {
      throw .store(error)
    }
  }

  /// Fetches every resource's bytes once; returns the entries that arrived, and the hashes that the mirror lacks.
  /// What was purged is lacking, too, if no run has removed it yet.
  private func receive(
    _ channels: [RestoredChannel], except purged: Set<SHA256>, into store: Store
  ) throws(MirrorError) -> (came: [Entry], lost: Set<SHA256>) {
    let lost = Locked<Set<SHA256>>([])
    var seen: Set<SHA256> = []
    let entries = channels.flatMap { $0.releases.flatMap { $0.items.map(\.entry) } }
      .filter { seen.insert($0.sha256).inserted }
    let total = entries.clampedSum(\.size)
    let done = Locked((files: 0, bytes: Int64(0)))
    let (reader, progress) = (reader, progress)
    let scratch = store.folder.temporary
    try Parallel.forEach(entries.count, threads: reader.threads) { (index) throws(MirrorError) in
      let entry = entries[index]
      do throws(MirrorError) {
        if purged.contains(entry.sha256) { throw .lacksFile(path: entry.download) }
        try Self.receive(entry, from: reader, at: "\(scratch)/incoming-restore-\(index)", into: store)
      } catch .wrongBytes {
        lost.withLock { _ = $0.insert(entry.sha256) }
      } catch .lacksFile {
        lost.withLock { _ = $0.insert(entry.sha256) }
      }
      let now = done.withLock { done in
        done.files += 1
        done.bytes = done.bytes.addingClamped(entry.size)
        return done
      }
      progress(
        MirrorProgress(files: now.files, filesTotal: entries.count, bytes: now.bytes, bytesTotal: total))
    }
    let lacking = lost.withLock { $0 }
    return (entries.filter { !lacking.contains($0.sha256) }, lacking)
  }

  private static func receive(
    _ entry: Entry, from reader: any MirrorReader, at scratch: String, into store: Store
  ) throws(MirrorError) {
    guard let place = DownloadPlace(entry.download) else {
      throw .unreadable(path: entry.download, reason: "it is not a download URL")
    }
    let path = place.path.filePath
    guard let local = try reader.local(path, at: scratch, size: entry.size) else {
      throw .lacksFile(path: path)
    }
    defer { if local.isTemporary { try? Kernel.remove(local.path) } }
    do throws(MirrorError) {
      var incoming = try MirrorError.store { () throws(StoreError) in
        try store.receive(BlobClaim(sha256: entry.sha256, md5: entry.md5, size: entry.size))
      }
      try feed(&incoming, from: local.path)
      do throws(StoreError) {
        _ = try incoming.finish()
      } catch {
        throw .store(error)
      }
    } catch .store(.digestMismatch) {
      throw .wrongBytes(path: path)
    } catch .system(let error) where error.isOfFile {
      throw .lacksFile(path: path)
    }
  }

  /// Copies a file into an incoming blob.
  /// - Throws: `system` if the mirror's file can't be read, `store` if the new one can't be written.
  private static func feed(_ incoming: inout IncomingBlob, from path: String) throws(MirrorError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { buffer.deallocate() }
    let file = try MirrorError.disk { () throws(SystemError) in try Kernel.open(path, .read) }
    while true {
      let count = try MirrorError.disk { () throws(SystemError) in try Kernel.read(file, into: buffer) }
      if count == 0 { return }
      do throws(StoreError) {
        try incoming.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes)
      } catch {
        throw .store(error)
      }
    }
  }
}

/// A document whose damage prevents a version or a whole channel from being restored.
package struct DamagedDocument: Sendable, CustomStringConvertible {
  package let channel: MirroredChannel
  /// The version that wasn't restored; nil means the whole channel.
  package let version: ManifestVersion?
  /// The path from the mirror's root.
  package let path: String
  package let reason: String

  /// What wasn't restored, and why.
  package var description: String {
    "\(channel)\(version.map { " version \($0)" } ?? ""): \(path) can't be read: \(reason)"
  }

  package var json: JSONValue {
    [
      "app": .string(channel.app.text), "channel": .string(channel.channel.text), "path": .string(path),
      "reason": .string(reason), "version": version.map { .string($0.text) } ?? .null,
    ]
  }
}
