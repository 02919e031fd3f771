import Manifests
import System
import Values

/// A first pack that the device has switched for, and that it hasn't all of: what `first.json` has.
struct PendingFirstPack: Equatable, Sendable {
  /// So many jobs in a row without a byte more of it, and it is given up.
  static let maxFailures = 3

  let pack: PackOffer
  /// The jobs in a row to which its server gave nothing more of it.
  var failures: Int64 = 0
}

extension PendingFirstPack {
  var saved: [UInt8] {
    let document: JSONValue = [
      "download": .string(pack.download), "failures": .integer(failures), "size": .integer(pack.size),
    ]
    return document.canonical
  }

  /// Reads what was saved; nil if that can't be read.
  init?(saved bytes: [UInt8]) {
    guard let document = try? JSONValue.parse(bytes), let download = document["download"]?.string,
      let size = document["size"]?.integer, size > 0
    else { return nil }
    pack = PackOffer(download: download, size: size)
    failures = document["failures"]?.integer ?? 0
  }
}

/// What has arrived of a first pack, kept so that a download that ended early goes on after it.
struct FirstPackPart {
  private let folder: CacheFolder
  private let file: PartFile
  /// False on a disk that has room for the files alone: then a download that ended early begins anew.
  private var isKept: Bool
  private(set) var size: Int64

  /// - Parameters:
  ///   - pack: the pack.
  ///   - folder: the device's folder.
  ///   - bytes: what the files take that are to come of it.
  init(of pack: PackOffer, in folder: CacheFolder, for bytes: Int64) throws(DeviceError) {
    self.folder = folder
    file = PartFile(ofFirstPackIn: folder)
    size = file.size
    isKept = folder.room() >= bytes.addingClamped(pack.size - size)
    if size > pack.size || !isKept { try remove() }
  }

  /// The entity tag of the answer that its bytes came with; nil if there is none to go on with.
  var tag: String? { file.tag }

  /// Keeps the tag of an answer that begins with the first byte. Another tag later on may be that of another node of a CDN, so the
  /// next request goes without one; the digests of the files decide.
  func keepTag(of head: TransportHead, at position: Int64) throws(DeviceError) {
    guard isKept else { return }
    if position == 0 { return try file.keepTag(of: head) }
    if head.entityTag != file.tag { try file.removeTag() }
  }

  /// Passes what is here to `body`, from the first byte on.
  func read(_ body: (RawSpan) throws -> Void) throws {
    guard isKept, size > 0, let input = try Kernel.openExisting(file.path, [.read, .noFollow, .nonBlocking])
    else { return }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 16)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while offset < size {
      let count = try Kernel.read(input, at: offset, into: buffer)
      if count == 0 { break }
      try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes)
      offset += Int64(count)
    }
  }

  /// Has the next bytes added there.
  mutating func end(at position: Int64) { size = position }

  /// Adds the next bytes. If the disk is full, none are kept any more.
  mutating func append(_ bytes: RawSpan) throws(DeviceError) {
    guard isKept else { return }
    do throws(DeviceError) {
      try folder.willChange?()
      let (path, end) = (file.path, size)
      try onDisk(path) { () throws(SystemError) in
        if end == 0 { try CacheFolder.clear(path) }
        try Kernel.write(bytes, to: try Kernel.open(path, [.write, .create, .noFollow]), at: end)
      }
      size += Int64(bytes.byteCount)
    } catch  where error.isDiskFull {
      stopKeeping()
    }
  }

  /// Removes what is here, and keeps nothing of what is still to come. Where even that fails, what is here is as good as before.
  mutating func stopKeeping() {
    isKept = false
    try? remove()
  }

  mutating func remove() throws(DeviceError) {
    size = 0
    try file.remove()
  }
}

extension CacheFolder {
  var firstPack: String { "\(root)/first.json" }

  /// The first pack that the device has switched for, and that it hasn't all of; nil if there is none.
  var pendingFirstPack: PendingFirstPack? {
    guard status(firstPack) != nil, let bytes = try? DurableFile.read(firstPack, limit: 1 << 16) else {
      return nil
    }
    return PendingFirstPack(saved: bytes)
  }

  /// Notes a first pack before the device switches for it. What is here of another one goes before, so that it never ends up
  /// as a part of this one.
  func save(_ pending: PendingFirstPack) throws(DeviceError) {
    if pendingFirstPack?.pack != pending.pack { try removeFirstPackPart() }
    try write(pending.saved, to: firstPack)
  }

  /// Gives up a first pack, or has all of it.
  func forgetFirstPack() throws(DeviceError) {
    if status(firstPack) != nil { try remove(firstPack) }
    try removeFirstPackPart()
  }

  /// Removes what a process left of a first pack that it had given up.
  func removeFirstPackPart() throws(DeviceError) {
    let part = PartFile(ofFirstPackIn: self)
    if status(part.path) != nil || part.tag != nil { try part.remove() }
  }
}
