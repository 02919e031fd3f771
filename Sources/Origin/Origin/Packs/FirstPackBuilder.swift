import Compression
import Manifests
import Store
import System

extension PackBuilder {
  /// The result of making a first pack.
  enum FirstOutcome {
    case kept(StoredPack)
    /// It isn't worth keeping, which is recorded.
    case notWorthwhile
    /// There was no space for this many bytes.
    case noSpace(Int64)
    /// There is a newer release, or the origin is stopping.
    case stopped
  }
}

/// Makes the first pack of a version: the files that a first install downloads, one after the other in one frame.
///
/// The frame is written as it is made, so that no more is in memory than libzstd needs and one file that is searched for names.
struct FirstPackBuilder: Sendable {
  let packs: PackBuilder

  private var store: Store { packs.store }

  private static let level: Int32 = 19

  /// Makes and keeps the pack for a channel's version. `shouldContinue` is asked before each file that is searched, and before each
  /// piece of one that is encoded: a large file takes minutes.
  /// - Throws: `corruptBlob`, if a file can't be read as it was published.
  func make(_ channel: ChannelInfo, shouldContinue: () -> Bool) throws(StoreError) -> PackBuilder.FirstOutcome
  {
    guard let digest = channel.digest else { return .notWorthwhile }
    let ends = PackEnds(firstOf: channel.version, digest: digest)
    var (need, order) = (FirstPackNeed(), FirstPackOrder())
    try store.eachEntry(of: channel, at: channel.version) { url, entry in
      guard FirstPackNeed.includes(url, entry, in: channel) else { return }
      _ = need.add(entry.sha256, size: entry.size)
      order.add(url, entry)
    }
    guard need.isWorthPacking else {
      try store.derived.refusePack(ends, of: channel.id)
      return .notWorthwhile
    }
    let room = try store.firstPackRoom(packs.limits.quota, of: channel.id)
    guard room > 0 else { return try noSpace(1, ends, of: channel.id) }
    let files = try order.ordered { (file) throws(StoreError) in
      shouldContinue() ? try store.bytes(of: file.sha256, limit: FirstPackOrder.largestSearched) : nil
    }
    let limit = try min(packs.limits.largest, coded(files) - 1)
    // It takes no memory from what deltas and packs share, since these would wait for it.
    switch try write(files, ends, of: channel.id, limit: min(limit, room), shouldContinue) {
    case .stopped: return .stopped
    case .tooLarge where room < limit:
      // How much it needs isn't known. It is tried again once there is an eighth more.
      return try noSpace(min(limit, room.addingClamped(max(1, room / 8))), ends, of: channel.id)
    case .tooLarge:
      try store.derived.refusePack(ends, of: channel.id)
      return .notWorthwhile
    case .file(let file): return try keep(file, of: channel)
    }
  }

  /// The bytes that the files take one by one, as far as their bodies are known.
  private func coded(_ files: [FirstPackOrder.File]) throws(StoreError) -> Int64 {
    var sum: Int64 = 0
    for file in files {
      let known = file.isText ? try store.derived.plainSize(of: file.sha256, coded: true) : nil
      sum = sum.addingClamped(known ?? file.size)
    }
    return sum
  }

  private enum Written {
    case file(FirstPackFile)
    case tooLarge
    case stopped
  }

  private func write(
    _ files: [FirstPackOrder.File], _ ends: PackEnds, of channel: Int64, limit: Int64,
    _ shouldContinue: () -> Bool
  ) throws(StoreError) -> Written {
    let items = files.map { FirstPackItem($0.sha256, size: $0.size) }
    // Two files with the same first half of their digests: nobody has seen such.
    guard let head = try? FirstPackHead(version: ends.version, items: items) else { return .tooLarge }
    let out = try FirstPackFile(ends, of: channel, in: store.derived)
    try out.append(head.bytes.span.bytes)
    let encoder = PackFrameEncoder(size: head.total, level: Self.level)
    for file in files {
      var (left, end) = (file.size, Written?.none)
      let isWhole = try store.eachPiece(of: file.sha256) { (bytes) throws(StoreError) in
        guard shouldContinue() else {
          end = .stopped
          return false
        }
        guard out.size <= limit else {
          end = .tooLarge
          return false
        }
        left -= Int64(bytes.byteCount)
        // The encoder takes as many bytes as it was told.
        guard left >= 0 else { throw .corruptBlob(file.sha256) }
        try encoder.push(bytes) { (frame) throws(StoreError) in try out.append(frame) }
        return true
      }
      if let end { return end }
      guard isWhole, left == 0 else { throw .corruptBlob(file.sha256) }
    }
    try encoder.finish { (frame) throws(StoreError) in try out.append(frame) }
    return out.size <= limit ? .file(out) : .tooLarge
  }

  private func noSpace(_ size: Int64, _ ends: PackEnds, of channel: Int64) throws(StoreError)
    -> PackBuilder.FirstOutcome
  {
    try packs.logNoSpace(ends, of: channel)
    return .noSpace(size)
  }

  private func keep(_ file: FirstPackFile, of channel: ChannelInfo) throws(StoreError)
    -> PackBuilder.FirstOutcome
  {
    guard try store.makePackSpace(packs.limits.quota, for: file.size, first: channel.id) else {
      return try noSpace(file.size, file.ends, of: channel.id)
    }
    let pack = try file.keep()
    // Looked at once the file is there: whoever removes the version later finds the file.
    guard try store.wants(file.ends, of: channel.id) else {
      try store.derived.drop(pack, of: channel.id)
      return .stopped
    }
    packs.counters.made(bytes: pack.size)
    return .kept(pack)
  }
}
