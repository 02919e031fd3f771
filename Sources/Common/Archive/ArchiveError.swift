import System

/// Why an archive can't be read or written; `description` is for people.
package enum ArchiveError: Error, Sendable {
  // Invalid archives
  /// Thrown when no end-of-directory record extends to the last byte: not a ZIP archive, or a truncated one.
  case notAnArchive
  /// Thrown when a record isn't where another one says, or is invalid; with the entry's name, if known.
  case damaged(Part, entry: String?)
  /// Thrown for an archive in several parts.
  case severalDisks
  /// Thrown when an entry's bytes don't match the checksum in the directory.
  case wrongChecksum(String)
  /// Thrown when an entry has more or fewer bytes than declared, or declares more than its packed bytes can hold.
  case wrongSize(String)
  /// Thrown when the bytes of two entries overlap.
  case overlap(String, String)
  /// Thrown when two entries have the same name, or one has the name of another's folder.
  case sameName(String)

  // Refused archives
  /// Thrown for an entry that needs a password.
  case encrypted(String)
  /// Thrown for a method other than stored (0) and deflate (8).
  case unknownMethod(String, UInt16)
  /// Thrown for a symbolic link.
  case link(String)
  /// Thrown for a device, a pipe or a socket, and for a folder whose name is a file's.
  case notAFile(String)
  /// Thrown for a name that leads out of the folder, or that isn't a valid path everywhere.
  case unsafeName(String, NameProblem)
  /// Thrown when there are more entries than allowed.
  case tooMany(entries: UInt64, limit: Int)
  /// Thrown when the archive would unpack to more bytes than allowed.
  case tooLarge(bytes: UInt64, limit: Int64)
  /// Thrown when the archive would unpack to more than `limit` times its size, as zip bombs do.
  case ratioTooHigh(bytes: UInt64, compressed: Int64, limit: Int64)

  // I/O
  /// Thrown when the kernel refuses to read or write.
  case system(SystemError)
  /// Thrown when an entry's bytes can't be obtained while an archive is written.
  case input(String, any Error)

  /// A part of an archive that may be damaged.
  package enum Part: Hashable, Sendable {
    case directory, localHeader, descriptor, data, zip64
  }

  /// What is wrong with a name.
  package enum NameProblem: Hashable, Sendable {
    case empty, notUTF8, absolute, backslash, control
    /// An empty part, `.` or `..`.
    case dots
    /// More than 4,096 bytes, or more than 255 between two slashes.
    case tooLong
    /// More than 128 parts.
    case tooDeep
  }

  /// Runs a kernel call and wraps its error in this type.
  static func kernel<Value: ~Copyable>(_ body: () throws(SystemError) -> Value) throws(ArchiveError) -> Value
  {
    do {
      return try body()
    } catch {
      throw .system(error)
    }
  }
}

extension ArchiveError: CustomStringConvertible {
  /// What is wrong, and where; naming the archive's path is up to the caller.
  package var description: String {
    switch self {
    case .notAnArchive: "it is not a zip file, or it is truncated"
    case .damaged(let part, let entry):
      "\(part.message) is damaged" + (entry.map { ", at \($0.debugDescription)" } ?? "")
    case .severalDisks: "it is one part of an archive in several files; join them first"
    case .wrongChecksum(let name): "the bytes of \(name.debugDescription) don't match their checksum"
    case .wrongSize(let name): "\(name.debugDescription) doesn't have its announced size"
    case .overlap(let a, let b): "\(a.debugDescription) and \(b.debugDescription) share bytes of the archive"
    case .sameName(let name): "it holds \(name.debugDescription) twice"
    case .encrypted(let name): "\(name.debugDescription) is encrypted; create it without a password"
    case .unknownMethod(let name, let method):
      "\(name.debugDescription) uses compression method \(method); only stored and deflate are supported"
    case .link(let name):
      "\(name.debugDescription) is a symbolic link; include its target instead (zip without -y)"
    case .notAFile(let name): "\(name.debugDescription) is neither a file nor a folder"
    case .unsafeName(let name, let problem): "the name \(name.debugDescription) \(problem.message)"
    case .tooMany(let entries, let limit): "it has \(entries) entries; at most \(limit) are read"
    case .tooLarge(let bytes, let limit): "it would unpack to \(bytes) bytes; at most \(limit) are unpacked"
    case .ratioTooHigh(let bytes, let compressed, let limit):
      "it would unpack from \(compressed) to \(bytes) bytes, which is more than \(limit) times as much"
    case .system(let error): error.description
    case .input(let name, let error): "\(name): \(error)"
    }
  }
}

extension ArchiveError.Part {
  fileprivate var message: String {
    switch self {
    case .directory: "the directory"
    case .localHeader: "a file's header"
    case .descriptor: "what follows a file's data"
    case .data: "a file's data"
    case .zip64: "the ZIP64 record"
    }
  }
}

extension ArchiveError.NameProblem {
  fileprivate var message: String {
    switch self {
    case .empty: "is empty"
    case .notUTF8: "isn't UTF-8"
    case .absolute: "is an absolute path"
    case .backslash: "contains a backslash"
    case .control: "contains a control character"
    case .dots: "has an empty part, . or .."
    case .tooLong: "has more than \(EntryName.limit) bytes, or a part of more than \(EntryName.partLimit)"
    case .tooDeep: "has more than \(EntryName.depthLimit) parts"
    }
  }
}
