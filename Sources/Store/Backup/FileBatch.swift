import Manifests
import System

/// A copy of files that are many, made durable together: each gets its name when the bytes of all are on the disk.
struct FileBatch {
  private var parts: [(part: String, path: String)] = []

  /// Copies a file and reads the copy back; nothing has the name `path` before `finish`.
  ///
  /// - Parameter isRight: whether a digest is that of the right bytes.
  /// - Returns: bytes; nil where they aren't those, or the disk doesn't give them: then nothing is kept.
  mutating func copy(
    _ source: borrowing Descriptor, to path: String, isRight: (SHA256) -> Bool
  ) throws(SystemError) -> Int64? {
    let part = path + ".part"
    let target = try Kernel.open(part, [.readWrite, .create, .truncate], mode: 0o640)
    do throws(SystemError) {
      try Kernel.copy(from: source, to: target)
      if isRight(try DiskDigest.of(target)) {
        parts.append((part, path))
        return try Kernel.status(target).size
      }
    } catch  where error.isDamage || error.code == .isDirectory {
      // The disk can't give its bytes, or a folder stands in its place: as if they were others.
    }
    try Kernel.remove(part)
    return nil
  }

  /// Opens what is to be copied; nil where no regular file has that name.
  static func open(_ path: String) throws(SystemError) -> Descriptor? {
    switch try Kernel.openFile(path) {
    case .file(let file, _): file
    case .other: nil
    case .missing: nil
    }
  }

  /// - Parameter before: called before each file gets its name.
  mutating func finish(
    in folder: BackupFolder, before: () throws(SystemError) -> Void = {}
  ) throws(SystemError) {
    if parts.isEmpty { return }
    try folder.sync()
    for (part, path) in parts {
      try before()
      // Whoever put a folder there may want what is in it.
      if try Kernel.status(path, followLinks: false)?.kind == .folder {
        try Kernel.rename(path, to: "\(path).aside-\(Clock.unixMilliseconds())")
      }
      try Kernel.rename(part, to: path)
    }
    parts = []
    try folder.sync()
  }
}

/// Copies the zips of updates, which have the names that they were given for good.
enum ZipCopy {
  static func copy(
    from source: DataFolder, to target: DataFolder, _ batch: inout FileBatch, _ report: inout BackupReport
  ) throws(SystemError) {
    for (channel, name) in try source.zipNames() where name.isZipOfUpdate {
      let path = "\(target.zips)/\(channel)/\(name)"
      guard try Kernel.status(path) == nil, let file = try FileBatch.open("\(source.zips)/\(channel)/\(name)")
      else { continue }
      try Kernel.makeFolder(DurableFile.parent(of: path), mode: 0o750)
      // A bad one is made again by whoever asks for it.
      guard let bytes = try batch.copy(file, to: path, isRight: { name.isZipName(of: $0) }) else { continue }
      report.copiedBytes += bytes
      report.copied += 1
    }
  }
}

extension String {
  /// `552-553.<key>.<tag>.zip`, `552-553.delta.<key>.<tag>.zip`
  var isZipOfUpdate: Bool { hasSuffix(".zip") && prefix { $0 != "." }.contains("-") }

  /// Whether a zip's name has the digest of its bytes, of which it has the first half. The empty file that stands for a
  /// zip that was dropped for good has none.
  func isZipName(of sha256: SHA256) -> Bool {
    hasSuffix(ZipFile.droppedEnding)
      ? sha256 == SHA256.of([]) : dropLast(4).hasSuffix(".\(sha256.hex.prefix(32))")
  }
}
