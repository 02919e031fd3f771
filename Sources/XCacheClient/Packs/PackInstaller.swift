import Compression
import Manifests
import System

/// Takes a pack as its bytes arrive: makes the files of its records one by one, staged under their digests, and in the
/// end the manifest that it leads to.
final class PackInstaller {
  struct Counts {
    /// Files made of records.
    var files = 0
    /// Of these, the ones over a base.
    var deltas = 0
    /// Files that were there already.
    var ready = 0
    /// Records over a base that isn't there, or is damaged.
    var lacking = 0
  }

  /// Why `push` didn't take all bytes.
  enum Stop: Error {
    /// The next bytes that are needed begin at `position`, farther on.
    case skip
    case failure(PackFailure)
  }

  private let answer: PackAnswer
  private let held: DeviceIndex
  private let folder: CacheFolder
  private let sources: PackSources
  /// Files with more bytes come by themselves, checked against a size that the manifest lists.
  private static let largestFile: Int64 = 4 << 30
  /// Where so many of the first files are set aside, most likely nearly all are, as after a rollback.
  private static let enoughAside = 4
  /// With fewer bytes still to come, a pack isn't given up: the patch would cost as much.
  private static let little: Int64 = 16 << 10

  /// Bytes that a change list may have, and those that all files may.
  private let limits: (changes: Int64, files: Int64)

  private var parser: PackParser
  private var plan: PackReading?
  private var record = Record.none
  /// Bytes of the files that were made.
  private var written: Int64 = 0
  /// Of the files that were there already, those that were set aside.
  private var aside = 0
  /// Where the record that is next begins, or the one that is being taken; and where it ends.
  private var bounds: (start: Int64, end: Int64) = (0, 0)
  /// Behind the bytes that `push` was given.
  private var arrived: Int64 = 0
  private var isSaved = false

  /// The byte of the pack that is needed next.
  private(set) var position: Int64 = 0
  private(set) var counts = Counts()
  /// The files that were made.
  private(set) var made: Set<SHA256> = []
  /// What the server calls the pack, for a download that goes on.
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
    parser = PackParser(limit: limits.changes)
  }

  private enum Record {
    case none
    /// Its bytes go by.
    case passing(FileDigest?)
    case making(PackRecordWriter)
  }

  /// Whether all of the pack was taken.
  var isAtEnd: Bool { plan != nil && parser.isAtEnd }

  /// Files in the pack; nil before its head has come.
  var fileCount: Int? { plan?.head.records }

  /// Files whose records were taken.
  var taken: Int { plan?.digests.count ?? 0 }
}

// MARK: - Taking bytes

extension PackInstaller {
  /// Takes the bytes at `position`.
  func push(_ bytes: RawSpan) throws(Stop) {
    arrived = position + Int64(bytes.byteCount)
    do {
      try parser.push(bytes) { part in try take(part) }
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

  /// Lets go of what was begun of a record; the next bytes that are needed are those of its start.
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

  private func take(_ part: borrowing PackParser.Part) throws {
    switch part {
    case .head(let head):
      guard head.base == answer.base, head.version == answer.version, head.digest == answer.digest,
        head.base == held.version, head.baseDigest == held.digest
      else { throw PackFault.otherManifest }
      plan = PackReading(head, limit: limits.changes)
    case .changes(let coded):
      guard var reading = plan else { return }
      try reading.take(coded, over: held)
      plan = reading
      bounds.start = reading.firstRecord
      if reading.lacks(sources) * 2 > reading.head.records { try giveUp() }
      try save(reading, coded)
    case .record(let head): try begin(head)
    case .payload(let bytes):
      guard case .making(let writer) = record else { return }
      try writer.push(bytes)
    case .recordEnd: try finish(record)
    }
  }

  private func save(_ reading: PackReading, _ coded: [UInt8]) throws(ClientError) {
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
    if aside > reading.digests.count, aside >= min(Self.enoughAside, reading.head.records) { try giveUp() }
    // Where much of what isn't needed is still to come, the download goes on behind it.
    if case .passing = record, bounds.end - arrived > SavedPack.smallest { throw Skip() }
  }

  /// Where much is still to come, the patch costs less: few files, or none, will have to be fetched.
  private func giveUp() throws(PackFailure) {
    if answer.pack.size - arrived > Self.little { throw .givenUp }
  }

  private func open(_ head: PackRecordHead, _ source: PackReading.RecordSource) throws -> Record {
    if let digest = sources.file(head, in: folder) {
      counts.ready += 1
      if sources.isBase(digest.sha256) { aside += 1 }
      return .passing(digest)
    }
    var base: [UInt8]?
    if let needed = source.base {
      guard let bytes = sources.base(needed.sha256) else {
        counts.lacking += 1
        return .passing(nil)
      }
      base = needed.isRenamed ? plan?.renaming.applied(to: bytes) ?? bytes : bytes
    }
    let part = folder.incoming()
    // A few bytes may stand for very many.
    let limit = min(max(0, limits.files - written), Self.largestFile)
    return .making(
      try PackRecordWriter(head, over: base, limit: limit, room: folder.room(), into: part))
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
      counts.files += 1
      if plan?.nextSource.base != nil { counts.deltas += 1 }
      digest = made
    }
    record = .none
    plan?.digests.append(digest)
    bounds.start = bounds.end
    // Behind a file that can't be made, a later run begins anew, and passes over what was.
    if isSaved, counts.lacking == 0, let digest {
      try folder.save(SavedPack.Record(end: bounds.end, digest: digest))
    }
  }
}

// MARK: - Going on, and the end

extension PackInstaller {
  /// Goes on behind what an earlier run took of the same pack; where that can't be, from the start.
  /// - Returns: whether there was anything to go on behind.
  func resume(_ saved: SavedPack) -> Bool {
    isSaved = true
    do {
      try push(saved.beginning.span.bytes)
      guard let reading = plan, position == reading.firstRecord, saved.records.count <= reading.head.records,
        saved.records.first.map({ $0.end > reading.firstRecord }) ?? true
      else { throw PackFault.otherManifest }
      // Files that have gone since are made again, and those behind them passed over.
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

  /// The manifest that the pack leads to, once all of it was taken.
  func index() throws(PackFailure) -> DeviceIndex {
    guard isAtEnd, let reading = plan else { throw .unusable("it ended too early") }
    if counts.lacking > 0 {
      throw .unusable("\(counts.lacking) of its files are based on files that are missing here")
    }
    do {
      return try reading.index(over: held)
    } catch {
      throw PackFailure(error)
    }
  }
}

/// Why a device doesn't come to a manifest by a pack.
enum PackFailure: Error {
  /// The pack is of no use, for this reason; the patch may be.
  case unusable(String)
  /// The patch costs less than the rest of the pack: the device has most of its files, or lacks most of its bases.
  case givenUp
  /// The device's disk.
  case device(ClientError)

  init(_ error: any Error) {
    self =
      switch error {
      case let failure as PackFailure: failure
      case let error as ClientError: .device(error)
      case PackFault.damaged(let reason): .unusable("it is damaged: \(reason)")
      case PackFault.otherManifest: .unusable("it leads from or to another manifest")
      case PackFault.overLimit, CodingError.overLimit: .unusable("it is larger than this device accepts")
      case is CodingError: .unusable("it is damaged: a frame can't be decoded")
      default: .unusable("\(error)")
      }
  }
}
