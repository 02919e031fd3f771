import BuildCheck
import System

/// Walks a folder that is to be published.
package struct Scan {
  private let filter: FileFilter
  private let root: String
  /// `root` without links, to tell which links leave it.
  private let realRoot: String
  private var files: [SourceFile] = []
  /// Patterns that have left nothing out so far.
  private var idle: [Glob]
  /// The folders on the way from `root` to the current one, to tell links that lead in circles.
  private var open: [FolderID] = []

  private struct FolderID: Equatable {
    let device: UInt64
    let inode: UInt64
  }

  private init(_ root: String, _ realRoot: String, _ filter: FileFilter, _ idle: [Glob]) {
    self.root = root
    self.realRoot = realRoot
    self.filter = filter
    self.idle = idle
  }

  /// The files of `folder` that `filter` lets through, always in the same order: each folder's names by their
  /// bytes. Links to files and folders inside it are followed.
  /// - Throws: `PublishError`: what isn't a folder, holds nothing to publish, can't be read, or isn't a file; a
  ///   link that leads nowhere, out of the folder or in a circle; a name that isn't UTF-8.
  package static func files(in folder: String, _ filter: FileFilter = FileFilter()) throws(PublishError)
    -> [SourceFile]
  {
    var idle: [Glob] = []
    return try files(in: folder, filter, idle: &idle)
  }

  /// The same; `idle` loses the patterns that match something there, let through or not.
  static func files(in folder: String, _ filter: FileFilter, idle: inout [Glob]) throws(PublishError)
    -> [SourceFile]
  {
    var root = folder
    while root.count > 1, root.hasSuffix("/") { root.removeLast() }
    guard let status = try reading(root, { () throws(SystemError) in try Kernel.status(root) }) else {
      throw .noFolder(root)
    }
    guard status.kind == .folder else { throw .notAFolder(root) }
    let realRoot = try reading(root) { () throws(SystemError) in try Kernel.realPath(root) }
    var scan = Scan(root, realRoot, filter, idle)
    try scan.walk(root, below: "", status)
    idle = scan.idle
    guard !scan.files.isEmpty else { throw .nothingToPublish(root) }
    return scan.files
  }

  private mutating func walk(_ folder: String, below prefix: String, _ status: FileStatus)
    throws(PublishError)
  {
    let id = FolderID(device: status.device, inode: status.inode)
    guard !open.contains(id) else { throw .linkInCircle(folder) }
    open.append(id)
    defer { open.removeLast() }
    let names = try Scan.reading(folder) { () throws(SystemError) in try Folder.names(folder) }
    for bytes in names {
      let name = String(decoding: bytes, as: UTF8.self)
      let path = prefix + name
      if !idle.isEmpty { idle.removeAll { $0.matches(path) } }
      if filter.excludes(path, name: name) { continue }
      let location = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
      guard String(validating: bytes, as: UTF8.self) != nil else { throw .notUTF8(location) }
      try take(location, path)
    }
  }

  private mutating func take(_ location: String, _ path: String) throws(PublishError) {
    guard let own = try status(location, followLinks: false) else { return }
    let status = own.kind == .link ? try follow(location) : own
    switch status.kind {
    case .folder: try walk(location, below: path + "/", status)
    case .file:
      if filter.includes(path) { files.append(SourceFile(location: location, path: path, status: status)) }
    case .link, .other:
      if filter.includes(path) { throw .notAFile(location) }
    }
  }

  /// What a link leads to, when that lies inside the root.
  private func follow(_ location: String) throws(PublishError) -> FileStatus {
    let target: String
    do {
      target = try Kernel.realPath(location)
    } catch {
      throw error.code == .tooManySymbolicLinkLevels ? .linkInCircle(location) : .linkToNothing(location)
    }
    let inside = realRoot == "/" ? "/" : realRoot + "/"
    guard target == realRoot || target.utf8.starts(with: inside.utf8) else {
      throw .linkLeaves(location, target: target)
    }
    guard let status = try status(location, followLinks: true) else { throw .linkToNothing(location) }
    return status
  }

  private func status(_ location: String, followLinks: Bool) throws(PublishError) -> FileStatus? {
    try Scan.reading(location) { () throws(SystemError) in
      try Kernel.status(location, followLinks: followLinks)
    }
  }

  private static func reading<Value>(
    _ location: String, _ body: () throws(SystemError) -> Value
  ) throws(PublishError) -> Value {
    do {
      return try body()
    } catch {
      throw .unreadable(location, error)
    }
  }
}

/// A file that is to be published.
package struct SourceFile: Hashable, Sendable {
  /// How it is opened and named in messages: the folder as given, then `path`.
  package let location: String
  /// Below the published folder, names apart by `/`.
  package let path: String
  package let status: FileStatus
}
