import System

/// Which files a mirror has already.
///
/// A file is judged by its size, since most paths identify their content; a run that repairs reads it back.
struct ExistingFiles {
  let destination: any Destination
  /// The files of the previous run according to `mirror.json`; empty where that isn't reliable.
  let recorded: [String: MirrorIndex.File]
  let readsBack: Bool

  /// Whether each file is there; never for one whose content isn't known.
  func have(_ files: [(path: String, file: MirrorIndex.File?)]) throws(MirrorError) -> [Bool] {
    let paths = files.map(\.path)
    if readsBack {
      return zip(files, try destination.files(at: paths)).map { $0.file != nil && $0.file == $1 }
    }
    return zip(files, try destination.sizes(of: paths)).map { $0.file != nil && $0.file?.size == $1 }
  }

  /// Returns what each file is, if it is as the previous run recorded it; nil for others.
  func unchanged(_ paths: [String]) throws(MirrorError) -> [MirrorIndex.File?] {
    let files = paths.map { (path: $0, file: recorded[$0]) }
    return zip(files, try have(files)).map { file, isThere in isThere ? file.file : nil }
  }

  /// Whether a document, whose path says nothing about its content, is there.
  /// - Parameter size: the size of the file at its path; nil if there is none.
  func haveDocument(_ path: String, _ file: MirrorIndex.File, size: Int64?) throws(MirrorError) -> Bool {
    if readsBack { return try destination.files(at: [path]).first == file }
    return recorded[path] == file && size == file.size
  }
}
