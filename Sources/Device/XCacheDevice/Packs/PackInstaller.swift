import Compression
import Manifests
import System

/// Installs a pack as its bytes arrive: makes the files from its records one by one, staged under their digests, and
/// finally the manifest that it leads to.
final class PackInstaller {
  struct Counts {
    /// Files made from records.
    var files = 0
    /// How many of these had a base.
    var deltas = 0
    /// Files that the device already had.
    var ready = 0
    /// Records whose base is missing or damaged.
    var missingBases = 0
  }

  /// Why `push` didn't accept all bytes.
  enum Stop: Error {
    /// The next bytes needed begin at `position`, farther on.
    case skip
    case failure(PackFailure)
  }

  private let answer: PackAnswer
  private let held: DeviceIndex
  private let folder: CacheFolder
  private let sources: PackSources
  /// Larger files are fetched separately, checked against the size that the manifest lists.
  private static let largestFile: Int64 = 4 << 30
  /// If this many of the first files are set aside, most likely nearly all are, as after a rollback.
  private static let enoughAside = 4
  /// With fewer bytes left to receive, a pack isn't abandoned: the patch would cost as much.
  private static let minRemaining: Int64 = 16 << 10

  /// The maximum bytes of the change list, and of all files together.
  private let limits: (changes: Int64, files: Int64)

  private var parser: PackParser
  private var plan: PackReading?
  private var record = Record.none
  /// The bytes of the files that were made.
  private var written: Int64 = 0
  /// What it may still cost.
  var work: PackWork
  /// The base of the last record as its frame uses it: many records may have the same.
  private var lastBase: (sha256: SHA256, isRenamed: Bool, bytes: [UInt8])?
  /// How many of the `ready` files are set aside.
  private var aside = 0
  /// Where the current or next record begins, and where it ends.
  private var bounds: (start: Int64, end: Int64) = (0, 0)
  /// The position after the bytes passed to `push`.
  private var arrived: Int64 = 0
  private var isSaved = false

  /// The position in the pack of the next byte needed.
  private(set) var position: Int64 = 0
  private(set) var counts = Counts()
  /// The files that were made.
  private(set) var made: Set<SHA256> = []
  /// The server's entity tag of the pack, for resuming the download.
  var entityTag: String?

  init(
    _ answer: PackAnswer, over held: DeviceIndex, _ sources: PackSources, in folder: CacheFolder,
    limits: (changes: Int64, files: Int64)
  ) {
    self.answer = answer
    self.held = held
    self.folder = folder
    self.sources = sources
    self.limits = limits
    work = PackWork(pack: answer.pack.size, held: held.totalBytes)
    parser = PackParser(limit: limits.changes)
  }

  private enum Record {
    case none
    /// Its bytes are skipped.
    case passing(FileDigest?)
    case making(PackRecordWriter)
  }

  /// Whether the whole pack has been read.
  var isAtEnd: Bool { plan != nil && parser.isAtEnd }

  /// The number of files in the pack; nil until its head has been read.
  var fileCount: Int? { plan?.head.records }

  /// The number of files whose records have been read.
  var recordsRead: Int { plan?.digests.count ?? 0 }
}

// MARK: - Taking bytes

extension PackInstaller {
  /// Takes the pack's bytes from `position` on.
  func push(_ bytes: RawSpan) throws(Stop) {
    arrived = position + Int64(bytes.byteCount)
    do {
      try parser.push(bytes) { part in try handle(part) }
      position = arrived
    } catch is Skip {
      do {
        try finish(record)
        restart()
      } catch {
        throw .failure(PackFailure(error))
      }
      throw .skip
    } catch {
      throw .failure(PackFailure(error))
    }
  }

  /// Discards a partly read record; `position` goes back to its start.
  func rewind() {
    if case .making(let writer) = record {
      try? folder.remove(writer.part)
    }
    record = .none
    restart()
  }

  private func restart() {
    position = bounds.start
    if let plan {
      parser = PackParser(resuming: plan.head, recordsTaken: plan.digests.count, at: position)
    } else {
      position = 0
      parser = PackParser(limit: limits.changes)
    }
  }

  private struct Skip: Error {}

  private func handle(_ part: borrowing PackParser.Part) throws {
    switch part {
    case .head(let head):
      guard head.base == answer.base, head.version == answer.version, head.digest == answer.digest,
        head.base == held.version, head.baseDigest == held.digest
      else { throw PackFault.otherManifest }
      plan = PackReading(head, limit: limits.changes)
    case .changes(let coded):
      guard var reading = plan else { return }
      try reading.readChanges(coded, over: held)
      plan = reading
      bounds.start = reading.firstRecord
      if reading.missingBases(sources) * 2 > reading.head.records { try abandonIfCheaper() }
      try save(reading, coded)
    case .record(let head): try begin(head)
    case .payload(let bytes):
      guard case .making(let writer) = record else { return }
      try writer.push(bytes)
    case .recordEnd: try finish(record)
    }
  }

  private func save(_ reading: PackReading, _ coded: [UInt8]) throws(DeviceError) {
    guard !isSaved, answer.pack.size >= SavedPack.smallest, reading.head.records > 0 else { return }
    try folder.save(
      SavedPack(pack: answer.pack, entityTag: entityTag, beginning: reading.head.bytes + coded))
    isSaved = true
  }

  private func begin(_ head: PackRecordHead) throws {
    guard let reading = plan else { return }
    let payload = bounds.start + Int64(head.bytes.count)
    guard head.length <= answer.pack.size - payload else {
      throw PackFault.damaged("it is shorter than its files")
    }
    bounds.end = payload + head.length
    record = try open(head, reading.nextSource)
    if aside > reading.digests.count, aside >= min(Self.enoughAside, reading.head.records) {
      try abandonIfCheaper()
    }
    // If much of an unneeded record is still to come, the download continues after it.
    if case .passing = record, bounds.end - arrived > SavedPack.smallest { throw Skip() }
  }

  /// If much is still to come, the patch costs less: few files, if any, will have to be fetched.
  private func abandonIfCheaper() throws(PackFailure) {
    if answer.pack.size - arrived > Self.minRemaining { throw .abandoned }
  }

  private func open(_ head: PackRecordHead, _ source: PackReading.RecordSource) throws -> Record {
    try work.spend(sources.size(ofReady: head, in: folder))
    if let digest = sources.file(head, in: folder) {
      counts.ready += 1
      if sources.isBase(digest.sha256) { aside += 1 }
      return .passing(digest)
    }
    var base: [UInt8]?
    if let needed = source.base {
      try work.spend(sources.size(ofBase: needed.sha256, in: folder))
      guard let bytes = bytes(of: needed) else {
        counts.missingBases += 1
        return .passing(nil)
      }
      base = bytes
    }
    let part = folder.incoming()
    // A few bytes may decode to very many.
    let limit = min(max(0, limits.files - written), Self.largestFile, work.left)
    return .making(
      try PackRecordWriter(head, over: base, limit: limit, room: folder.room(), into: part))
  }

  /// Returns a base as a frame uses it; nil if it is missing or damaged.
  private func bytes(of base: (sha256: SHA256, isRenamed: Bool)) -> [UInt8]? {
    if let lastBase, lastBase.sha256 == base.sha256, lastBase.isRenamed == base.isRenamed {
      return lastBase.bytes
    }
    // Before the next one is read, so that only one is in memory.
    lastBase = nil
    guard let read = sources.base(base.sha256) else { return nil }
    let bytes = base.isRenamed ? plan?.renaming.applied(to: read) ?? read : read
    lastBase = (base.sha256, base.isRenamed, bytes)
    return bytes
  }

  private func finish(_ taken: Record) throws {
    let digest: FileDigest?
    switch taken {
    case .none: return
    case .passing(let known): digest = known
    case .making(let writer):
      let made = try writer.finish()
      try folder.move(writer.part, to: folder.staged(made.sha256))
      self.made.insert(made.sha256)
      written = written.addingClamped(made.size)
      try work.spend(made.size)
      counts.files += 1
      if plan?.nextSource.base != nil { counts.deltas += 1 }
      digest = made
    }
    record = .none
    plan?.digests.append(digest)
    bounds.start = bounds.end
    // After a file that can't be made nothing is recorded: a later run starts there, and skips the files that exist.
    if isSaved, counts.missingBases == 0, let digest {
      try folder.save(SavedPack.Record(end: bounds.end, digest: digest))
    }
  }
}

// MARK: - Going on, and the end

extension PackInstaller {
  /// Resumes after the records that an earlier run took from the same pack, or starts over if that isn't possible.
  /// - Returns: whether the pack was resumed.
  func resume(_ saved: SavedPack) -> Bool {
    isSaved = true
    do {
      try push(saved.beginning.span.bytes)
      guard let reading = plan, position == reading.firstRecord, saved.records.count <= reading.head.records,
        saved.records.first.map({ $0.end > reading.firstRecord }) ?? true
      else { throw PackFault.otherManifest }
      // Files that are gone since then are made again, and those after them skipped.
      let records = saved.records.prefix { sources.has($0.digest.sha256) }
      plan?.digests = records.map(\.digest)
      bounds.start = records.last?.end ?? reading.firstRecord
      entityTag = saved.entityTag
    } catch {
      plan = nil
      bounds = (0, 0)
      isSaved = false
    }
    restart()
    return plan != nil
  }

  /// Returns the manifest that the pack leads to, once all of it has been read.
  func index() throws(PackFailure) -> DeviceIndex {
    guard isAtEnd, let reading = plan else { throw .unusable("it ended too early") }
    if counts.missingBases > 0 {
      throw .unusable("\(counts.missingBases) of its files are based on files that are missing here")
    }
    do {
      return try reading.index(over: held)
    } catch {
      throw PackFailure(error)
    }
  }
}

/// Why a device can't reach a manifest with a pack.
enum PackFailure: Error {
  /// The pack can't be used, for this reason; the patch may work.
  case unusable(String)
  /// The patch costs less than the rest of the pack: the device has most of its files, or lacks most of its bases.
  case abandoned
  /// The device's disk failed.
  case device(DeviceError)

  init(_ error: any Error) {
    self =
      switch error {
      case let failure as PackFailure: failure
      case let error as DeviceError: .device(error)
      case PackFault.damaged(let reason): .unusable("it is damaged: \(reason)")
      case PackFault.otherManifest: .unusable("it leads from or to another manifest")
      case PackFault.overLimit, CodingError.overLimit: .unusable("it is larger than this device accepts")
      case is CodingError: .unusable("it is damaged: a frame can't be decoded")
      default: .unusable("\(error)")
      }
  }
}
