extension ArchiveError: CustomStringConvertible {
  /// What is wrong, and where; the archive's own path is the caller's to name.
  package var description: String {
    switch self {
    case .notAnArchive: "it is no ZIP archive, or its end is missing"
    case .damaged(let part, let entry):
      "\(part.words) is damaged" + (entry.map { ", at \($0.debugDescription)" } ?? "")
    case .severalDisks: "it is one part of an archive in several files; join them first"
    case .wrongChecksum(let name): "the bytes of \(name.debugDescription) don't have the checksum they should"
    case .wrongSize(let name): "\(name.debugDescription) doesn't have the size that the archive says"
    case .overlap(let a, let b): "\(a.debugDescription) and \(b.debugDescription) share bytes of the archive"
    case .sameName(let name): "it holds \(name.debugDescription) twice"
    case .encrypted(let name): "\(name.debugDescription) is encrypted; pack it without a password"
    case .unknownMethod(let name, let method):
      "\(name.debugDescription) is packed with method \(method); only stored and deflate are read"
    case .link(let name):
      "\(name.debugDescription) is a symbolic link; pack what it leads to (zip without -y)"
    case .notAFile(let name): "\(name.debugDescription) is neither a file nor a folder"
    case .unsafeName(let name, let problem): "the name \(name.debugDescription) \(problem.words)"
    case .tooMany(let entries, let limit): "it has \(entries) entries, \(limit) at most are read"
    case .tooLarge(let bytes, let limit): "it would unpack to \(bytes) bytes, \(limit) at most are unpacked"
    case .tooDense(let bytes, let packed, let limit):
      "it would unpack from \(packed) to \(bytes) bytes, which is more than \(limit) times as much"
    case .system(let error): error.description
    case .input(let name, let error): "\(name): \(error)"
    }
  }
}

extension ArchiveError.Part {
  fileprivate var words: String {
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
  fileprivate var words: String {
    switch self {
    case .empty: "is empty"
    case .notUTF8: "isn't UTF-8"
    case .absolute: "is an absolute path"
    case .backslash: "holds a backslash"
    case .control: "holds a control character"
    case .dots: "has an empty part, . or .."
    case .tooLong: "is longer than 65535 bytes"
    }
  }
}
