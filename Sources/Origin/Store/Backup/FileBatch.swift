import Manifests
import System

/// A copy of many files that are made durable together: each gets its name once the bytes of all are on the disk.
struct FileBatch {
  private var parts: [(part: String, path: String)] = []

  /// Copies a file and reads the copy back; it gets the name `path` only in `finish`.
  ///
  /// - Parameters:
  ///   - source: the file to copy.
  ///   - path: the path of the copy.
  ///   - isRight: whether a digest is that of the right bytes.
  /// - Returns: the size in bytes; nil if the bytes are wrong or can't be read, and then nothing is kept.
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
      // Bytes that the disk can't read, or a folder in the file's place, count as wrong bytes.
    }
    try Kernel.remove(part)
    return nil
  }

  /// Opens a file to be copied; nil if there is no regular file of that name.
  static func open(_ path: String) throws(SystemError) -> Descriptor? {
    switch try Kernel.openFile(path) {
    case .file(let file, _): file
    case .other: nil
    case .missing: nil
    }
  }

  /// Makes the copies durable and gives them their names; calls `before` before each rename.
  mutating func finish(
    in folder: BackupFolder, before: () throws(SystemError) -> Void = {}
  ) throws(SystemError) {
    if parts.isEmpty { return }
    try folder.sync()
    for (part, path) in parts {
      try before()
      // Whoever put a folder there may want its content.
      if try Kernel.status(path, followLinks: false)?.kind == .folder {
        try Kernel.rename(path, to: "\(path).aside-\(Clock.unixMilliseconds())")
      }
      try Kernel.rename(part, to: path)
    }
    parts = []
    try folder.sync()
  }
}

/// Copies the zips of updates, whose names never change.
enum ZipCopy {
  static func copy(
    from source: DataFolder, to target: DataFolder, _ batch: inout FileBatch, _ report: inout BackupReport
  ) throws(SystemError) {
    for (channel, name) in try source.zipNames() where name.isZipOfUpdate {
      let path = "\(target.zips)/\(channel)/\(name)"
      guard try Kernel.status(path) == nil, let file = try FileBatch.open("\(source.zips)/\(channel)/\(name)")
      else { continue }
      try Kernel.makeFolder(DurableFile.parent(of: path), mode: 0o750)
      // A bad one is rebuilt when it is requested.
      guard let bytes = try batch.copy(file, to: path, isRight: { name.isZipName(of: $0) }) else { continue }
      report.copiedBytes += bytes
      report.copied += 1
    }
  }
}

extension String {
  /// `552-553.<key>.<tag>.zip`, `552-553.delta.<key>.<tag>.zip`
  var isZipOfUpdate: Bool { hasSuffix(".zip") && prefix { $0 != "." }.contains("-") }

  /// Whether a zip's name contains the first half of the digest of its bytes. The empty file that marks a permanently
  /// dropped zip has no digest in its name.
  func isZipName(of sha256: SHA256) -> Bool {
    hasSuffix(ZipFile.droppedEnding)
      ? sha256 == SHA256.of([]) : dropLast(4).hasSuffix(".\(sha256.hex.prefix(32))")
  }
}
