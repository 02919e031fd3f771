import BuildCheck
import System

/// Walks a folder to be published: several folders at a time, since each file's status is read.
package final class Scan: Sendable {
  private let filter: FileFilter
  /// The root with links resolved, to detect links that leave it.
  private let realRoot: String
  /// Patterns that haven't excluded anything yet.
  private let idle: Locked<[Glob]>
  private let hasPatterns: Bool
  private let work = Monitor(Work())

  fileprivate struct FolderID: Equatable {
    let device: UInt64
    let inode: UInt64
  }

  /// A folder that was found but not read yet.
  private struct Task {
    /// Its index in `Work.found`.
    let number: Int
    let location: String
    /// The prefix of the names in it.
    let prefix: String
    /// It and its parents, to detect circular links.
    let open: [FolderID]
  }

  /// What a name in a folder turned out to be.
  private enum Item {
    case file(SourceFile)
    /// A folder, by its index in `Work.found`.
    case folder(Int)
    case refused(PublishError)
  }

  private struct Work {
    var waiting: [Task] = []
    var running = 0
    /// The contents of each folder, in the order of the names.
    var found: [[Item]] = []
  }

  private init(_ realRoot: String, _ filter: FileFilter, _ idle: [Glob]) {
    self.realRoot = realRoot
    self.filter = filter
    self.idle = Locked(idle)
    hasPatterns = !idle.isEmpty
  }

  /// Returns the files of `folder` that `filter` includes, in a stable order: each folder's names by their bytes. Links to
  /// files and folders inside it are followed.
  /// - Throws: `PublishError`: the folder isn't one, or has nothing to publish; something can't be read, or isn't a file; a
  ///   link is dangling, circular or leads out of the folder; a name isn't UTF-8.
  package static func files(in folder: String, _ filter: FileFilter = FileFilter()) throws(PublishError)
    -> [SourceFile]
  {
    var idle: [Glob] = []
    return try files(in: folder, filter, idle: &idle)
  }

  /// As above; removes the patterns from `idle` that match something, included or not.
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
    let scan = Scan(realRoot, filter, idle)
    let first = Task(number: 0, location: root, prefix: "", open: [FolderID(status)])
    scan.work.withLock { work in
      work.found.append([])
      work.waiting.append(first)
    }
    Parallel.run(threads: Environment.cores) { scan.run() }
    idle = scan.idle.withLock { $0 }
    var files: [SourceFile] = []
    try collect(0, of: scan.work.withLock { $0.found }, into: &files)
    guard !files.isEmpty else { throw .nothingToPublish(root) }
    return files
  }

  private static func collect(_ number: Int, of found: [[Item]], into files: inout [SourceFile])
    throws(PublishError)
  {
    for item in found[number] {
      switch item {
      case .file(let file): files.append(file)
      case .folder(let inner): try collect(inner, of: found, into: &files)
      case .refused(let error): throw error
      }
    }
  }

  // MARK: The threads' work

  /// Reads folders until all are read.
  private func run() {
    while true {
      let next: Task?? = work.waiting { work in
        if let task = work.waiting.popLast() {
          work.running += 1
          return .some(task)
        }
        return work.running == 0 ? .some(nil) : nil
      }
      guard case .some(.some(let task)) = next else { return }
      let items: [Item]
      do {
        items = try read(task)
      } catch {
        items = [.refused(error)]
      }
      work.broadcasting { work in
        work.found[task.number] = items
        work.running -= 1
      }
    }
  }

  private func read(_ task: Task) throws(PublishError) -> [Item] {
    let folder = task.location
    var unreadable: String?
    let entries = try Scan.reading(folder) { () throws(SystemError) in
      try Folder.entries(folder) { bytes -> String? in
        if unreadable != nil { return nil }
        let valid = String(validating: bytes, as: UTF8.self)
        let name = valid ?? String(decoding: bytes, as: UTF8.self)
        let path = task.prefix + name
        if hasPatterns { idle.withLock { $0.removeAll { $0.matches(path) } } }
        if filter.excludes(path, name: name) { return nil }
        if valid == nil { unreadable = name }
        return valid
      }
    }
    var items: [Item] = []
    items.reserveCapacity(entries.count)
    let base = folder.hasSuffix("/") ? folder : folder + "/"
    for entry in entries {
      let item = try take(base + entry.name, task.prefix + entry.name, entry.status, in: task)
      if let item { items.append(item) }
    }
    // It comes after what was found before it; what follows doesn't matter.
    if let unreadable { items.append(.refused(.notUTF8(base + unreadable))) }
    return items
  }

  private func take(_ location: String, _ path: String, _ own: FileStatus, in task: Task) throws(PublishError)
    -> Item?
  {
    let status: FileStatus
    do {
      status = own.kind == .link ? try follow(location) : own
    } catch {
      return .refused(error)
    }
    switch status.kind {
    case .folder: return enter(location, path, status, in: task)
    case .file:
      return filter.includes(path)
        ? .file(SourceFile(location: location, path: path, status: status)) : nil
    case .link, .other: return filter.includes(path) ? .refused(.notAFile(location)) : nil
    }
  }

  private func enter(_ location: String, _ path: String, _ status: FileStatus, in task: Task) -> Item {
    let id = FolderID(status)
    guard !task.open.contains(id) else { return .refused(.linkInCircle(location)) }
    return work.signalling { work in
      let number = work.found.count
      work.found.append([])
      work.waiting.append(
        Task(number: number, location: location, prefix: path + "/", open: task.open + [id]))
      return .folder(number)
    }
  }

  /// Returns the status of a link's target if that is inside the root.
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
    let status = try Scan.reading(location) { () throws(SystemError) in try Kernel.status(location) }
    guard let status else { throw .linkToNothing(location) }
    return status
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

extension Scan.FolderID {
  fileprivate init(_ status: FileStatus) { self.init(device: status.device, inode: status.inode) }
}

/// A file to be published.
package struct SourceFile: Hashable, Sendable {
  /// The path to open it and to name it in messages: the folder as given, then `path`.
  package let location: String
  /// The path below the published folder, with `/` as the separator.
  package let path: String
  package let status: FileStatus
}
