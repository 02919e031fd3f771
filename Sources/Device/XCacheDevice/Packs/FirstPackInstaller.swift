import Compression
import Manifests
import System

/// Installs a first pack as its bytes arrive: each file of it that the device lacks is checked, and held from its last byte on.
///
/// What arrives is written, in this order: the bytes of the pack to its part file, the file that they decode to, and its name
/// in `files`. So a process that ends anywhere goes on from the part file, and passes over what is held by then.
final class FirstPackInstaller {
  /// With so many bytes left to receive, it isn't worth a new connection to leave them out.
  private static let fewBytes: Int64 = 16 << 10
  /// The fewest files whose list is read, whatever the manifest has.
  private static let filesAlwaysListed = 1 << 16

  private let pack: PackOffer
  private let device: Device
  /// What the device lacks, by what the pack's list says of it.
  private var wanted: [FirstPackItem: HeldEntry] = [:]
  private var part: FirstPackPart
  private var reader: FirstPackReader
  private var decoder = PackFrameDecoder(base: nil, limit: .max)
  private var files: FirstPackFiles?
  /// The file whose bytes are arriving; nil while they are passed over.
  private var current: (item: FirstPackItem, entry: HeldEntry, writer: FirstFileWriter)?
  /// The position after the bytes that are being taken.
  private var arrived: Int64 = 0

  /// Whether earlier jobs received some of it.
  let isResumed: Bool
  /// The position in the pack of the next byte needed.
  private(set) var position: Int64 = 0
  /// Where this job has begun.
  private var start: Int64 = 0
  /// Whether this job got on far enough for another one to be worth it.
  var hasGained: Bool { position - start >= PackDownload.much }
  /// The files that came of it.
  private(set) var made = 0
  private(set) var fileCount: Int?
  private(set) var recordsRead = 0

  /// - Parameters:
  ///   - pack: the pack.
  ///   - entries: the entries whose files are wanted.
  ///   - device: the device that lacks them.
  init(_ pack: PackOffer, for entries: [HeldEntry], on device: Device) throws(DeviceError) {
    self.pack = pack
    self.device = device
    for entry in entries { wanted[FirstPackItem(entry.sha256, size: entry.size)] = entry }
    part = try FirstPackPart(of: pack, in: device.folder, for: entries.clampedSum(\.blocks))
    isResumed = part.size > 0
    reader = FirstPackReader(limit: max(Self.filesAlwaysListed, 2 * device.index.entries.count))
  }

  /// Whether nothing of it is wanted any more.
  var isDone: Bool { wanted.isEmpty }

  /// Reads once more what earlier jobs received.
  func resume() throws(PackFailure) {
    guard isResumed else { return }
    // Its bytes may be given up meanwhile, to make room.
    let part = part
    do {
      try part.read { bytes in try take(bytes) }
      self.part.end(at: position)
      start = position
    } catch {
      throw PackFailure(error)
    }
  }

  /// Checks that all of the pack has been read.
  func finish() throws(PackFailure) {
    do {
      try files?.finish()
      try decoder.finish()
    } catch {
      throw PackFailure(error)
    }
  }

  /// Removes what is here of a file whose last bytes don't come now.
  func close() {
    if let current { try? device.folder.remove(current.writer.path) }
    current = nil
  }
}

extension FirstPackInstaller: PackReceiver {
  var entityTag: String? { position > 0 ? part.tag : nil }

  var isAtEnd: Bool { isDone || position == pack.size && files?.isAtEnd == true }

  func take(_ head: TransportHead) throws(PackFailure) {
    do throws(DeviceError) {
      try part.keepTag(of: head, at: position)
    } catch {
      throw .device(error)
    }
  }

  func push(_ bytes: RawSpan) throws(PackInstaller.Stop) {
    do {
      try part.append(bytes)
      try take(bytes)
    } catch {
      throw .failure(PackFailure(error))
    }
  }

  private func take(_ bytes: RawSpan) throws {
    arrived = position + Int64(bytes.byteCount)
    try reader.push(bytes) { part in
      switch part {
      case .head(let head): try begin(head)
      case .frame(let bytes): try decoder.push(bytes) { piece in try cut(piece) }
      }
    }
    position = arrived
  }

  private func begin(_ head: FirstPackHead) throws {
    // A few bytes may decode to very many.
    var work = PackWork(pack: pack.size, held: 0)
    try work.spend(head.total)
    fileCount = head.items.count
    files = FirstPackFiles(of: head)
    let none: [UInt8] = []
    try cut(none.span.bytes)
  }

  private func cut(_ piece: RawSpan) throws {
    try files?.push(piece) { part in
      switch part {
      case .begin(let index, let item):
        recordsRead = index
        try begin(item)
      case .bytes(let bytes): try current?.writer.write(bytes)
      case .end: try end()
      }
    }
  }

  private func begin(_ item: FirstPackItem) throws {
    guard let entry = wanted[item] else { return }
    // A page may have fetched it meanwhile.
    if device.cache.withLock({ $0.has(entry) }) { return try remove(item) }
    // It is fetched once there is room.
    guard entry.blocks <= device.folder.room() else { return }
    current = (
      item, entry, try FirstFileWriter(in: device.folder, makingRoom: { [unowned self] in makeRoom() })
    )
  }

  private func end() throws {
    recordsRead += 1
    guard let (item, entry, writer) = current else { return }
    guard writer.finish() == entry.bytes else { throw PackFault.damaged("a file has other bytes") }
    try device.cache.withLock { cache throws(DeviceError) in
      try cache.store(writer.path, for: entry, at: device.now())
    }
    current = nil
    made += 1
    device.removeHalf(of: entry)
    try remove(item)
  }

  /// Notes that the device has a file.
  /// - Throws: `abandoned`, if it needs no more of the pack, and much of that is still to come.
  private func remove(_ item: FirstPackItem) throws(PackFailure) {
    wanted[item] = nil
    if isDone, pack.size - arrived > Self.fewBytes { throw .abandoned }
  }

  /// Gives up what the device can do without, on a disk that is full.
  private func makeRoom() {
    part.stopKeeping()
    try? device.cache.withLock { cache throws(DeviceError) in try cache.dropAside() }
  }
}

/// Writes a file of a first pack, and hashes it.
private final class FirstFileWriter {
  /// The path of the file until it is held.
  let path: String
  private let file: Descriptor
  private let makeRoom: () -> Void
  private var hasher = FileHasher()
  private var written: Int64 = 0

  /// - Parameters:
  ///   - folder: the device's folder.
  ///   - makeRoom: called if the disk is full, before the same bytes are written once more.
  init(in folder: CacheFolder, makingRoom makeRoom: @escaping () -> Void) throws(DeviceError) {
    path = folder.incoming()
    self.makeRoom = makeRoom
    try folder.willChange?()
    let path = path
    file = try onDisk(path) { () throws(SystemError) in
      try Kernel.open(path, [.write, .create, .exclusive, .noFollow])
    }
  }

  func write(_ bytes: RawSpan) throws(DeviceError) {
    hasher.update(bytes)
    do throws(SystemError) {
      do throws(SystemError) {
        try Kernel.write(bytes, to: file, at: written)
      } catch  where error.code.isDiskFull {
        makeRoom()
        try Kernel.write(bytes, to: file, at: written)
      }
    } catch {
      throw DeviceError(error, path: path)
    }
    written += Int64(bytes.byteCount)
  }

  func finish() -> FileDigest { hasher.finish() }
}
