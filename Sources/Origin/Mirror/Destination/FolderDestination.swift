import Linux
import Manifests
import Synchronization
import System

/// A mirror in a local folder, which any static host can serve.
///
/// New files are created in `.xcache-mirror`, synced, and renamed to their final paths.
final class FolderDestination: Destination {
  let name: String
  private let root: String
  private let hardLinks: Bool
  private let staging: String
  private let lock = Locked<FileLock?>(nil)
  private let counter = Atomic<Int>(0)
  private let copier = FileCopier()
  private let unsettled = UnsyncedFiles()
  /// Documents that aren't visible yet: their staged and their final paths.
  private let waiting = Locked<[(staged: String, path: String)]>([])
  // syncfs(2): "Since Linux 5.8, syncfs() will also report an error if one or more inodes failed to be written back
  // since the last syncfs() call", counted per open file: so it is opened before anything is written.
  private let handle: Descriptor

  /// The number of files between two syncs: each sync waits for the disk once, however many files there are.
  private static let batch = 25_000
  private static let threads = 2

  init(_ path: String, hardLinks: Bool = false, staging: String = ".xcache-mirror") throws(MirrorError) {
    self.hardLinks = hardLinks
    let data = try MirrorError.disk { () throws(SystemError) in
      try Folder.holder(of: "xcache.db", from: path)
    }
    if let data {
      throw .badPlace(
        "\(path) is in \(data), which holds an origin's data; a copy is public, so choose another folder"
      )
    }
    root = try MirrorError.disk { () throws(SystemError) in
      try Kernel.makeFolder(path)
      return try Kernel.realPath(path)
    }
    let root = root
    handle = try MirrorError.disk { () throws(SystemError) in try Kernel.open(root, [.read, .directory]) }
    self.staging = "\(root)/\(staging)"
    let folder = self.staging
    try MirrorError.disk { () throws(SystemError) in try Kernel.makeFolder(folder) }
    name = root
  }

  private func path(_ path: String) -> String { "\(root)/\(path)" }

  private func stagingName() -> String { "\(staging)/\(counter.add(1, ordering: .relaxed).newValue)" }

  func begin() throws(MirrorError) {
    let taken = try MirrorError.disk { () throws(SystemError) in
      try Kernel.makeFolder(staging)
      return try FileLock.take(staging + "/lock")
    }
    guard let taken else { throw .locked(place: root, process: FileLock.holder(staging + "/lock")) }
    var own: FileLock? = taken
    lock.withLock { $0 = own.take() }
    try MirrorError.disk { () throws(SystemError) in
      // Removes what an interrupted run left behind.
      for name in try Folder.textNames(staging) where name != "lock" && name != "unfinished" {
        try Kernel.remove("\(staging)/\(name)")
      }
    }
  }

  func end() { lock.withLock { $0 = nil } }

  func sizes(of paths: [String]) throws(MirrorError) -> [Int64?] {
    let sizes = Locked([Int64?](repeating: nil, count: paths.count))
    let slice = 4096
    try Parallel.forEach((paths.count + slice - 1) / slice, threads: Self.threads) {
      [self] (part) throws(MirrorError) in
      let range = part * slice..<min(paths.count, (part + 1) * slice)
      var found: [Int64?] = []
      for index in range {
        let status = try readable(path(paths[index]))
        found.append(status?.kind == .file ? status?.size : nil)
      }
      let part = found
      sizes.withLock { $0.replaceSubrange(range, with: part) }
    }
    return sizes.withLock { $0 }
  }

  func files(at paths: [String]) throws(MirrorError) -> [MirrorIndex.File?] {
    let files = Locked([MirrorIndex.File?](repeating: nil, count: paths.count))
    try Parallel.forEach(paths.count, threads: Self.threads) { [self] (index) throws(MirrorError) in
      let file: MirrorIndex.File?
      do throws(MirrorError) {
        _ = try readable(path(paths[index]))
        file = try CopyCheck.digest(path(paths[index]))
      } catch .system(let error) where error.isOfFile {
        file = nil
      }
      files.withLock { $0[index] = file }
    }
    return files.withLock { $0 }
  }

  /// Returns a file's status. If it isn't world-readable, makes it so, or else returns nil, so that it is replaced.
  private func readable(_ place: String) throws(MirrorError) -> FileStatus? {
    try MirrorError.disk { () throws(SystemError) -> FileStatus? in
      guard let status = try Kernel.status(place, followLinks: false) else { return nil }
      guard status.kind == .file, status.mode & 0o444 != 0o444 else { return status }
      do throws(SystemError) {
        // A copy is public, whatever the umask and the data folder's permissions are.
        try Kernel.setMode(place, to: 0o644)
        return status
      } catch  where error.isOfFile {
        return nil
      }
    }
  }

  func read(_ path: String) throws(MirrorError) -> [UInt8]? {
    try MirrorError.disk { () throws(SystemError) in try DurableFile.read(self.path(path)) }
  }

  // MARK: - Files that never change

  func put(
    _ files: [Placement],
    _ completed: @escaping @Sendable (Placement, MirrorIndex.File) throws(MirrorError) -> Void
  ) throws(MirrorError) {
    var rest = files[...]
    while !rest.isEmpty {
      let batch = Array(rest.prefix(Self.batch))
      rest = rest.dropFirst(batch.count)
      let names = Locked([String](repeating: "", count: batch.count))
      try Parallel.forEach(batch.count, threads: Self.threads) { [self] (index) throws(MirrorError) in
        let target = stagingName()
        guard
          let file = try batch[index].unlessLost({ () throws(MirrorError) in
            try stage(batch[index], at: target)
          })
        else {
          try MirrorError.disk { () throws(SystemError) in try Kernel.remove(target) }
          return
        }
        names.withLock { $0[index] = target }
        unsettled.add(file: target)
        try completed(batch[index], file)
      }
      // Bytes first, then names: after a power cut, no name may lead to lost bytes.
      try sync()
      let staged = names.withLock { $0 }
      try Parallel.forEach(batch.count, threads: Self.threads) { [self] (index) throws(MirrorError) in
        if !staged[index].isEmpty { try move(staged[index], to: batch[index].path) }
      }
    }
  }

  private func stage(_ file: Placement, at target: String) throws(MirrorError) -> MirrorIndex.File {
    let local = try file.source(target)
    var isThere = local.path == target
    if !isThere, hardLinks { isThere = try link(local.path, to: target) }
    let found: MirrorIndex.File
    if isThere {
      found = try CopyCheck.require(file, at: target)
    } else {
      found = try copier.copy(file, from: local.path, to: target)
    }
    _ = try readable(target)
    return found
  }

  private func link(_ existing: String, to target: String) throws(MirrorError) -> Bool {
    try MirrorError.disk { () throws(SystemError) in try Kernel.link(existing, to: target) }
  }

  private func move(_ staged: String, to path: String) throws(MirrorError) {
    let target = self.path(path)
    try MirrorError.disk { () throws(SystemError) in try rename(staged, to: target) }
    unsettled.moved(staged, to: target)
    unsettled.add(folder: DurableFile.parent(of: target))
  }

  private func rename(_ staged: String, to target: String) throws(SystemError) {
    do {
      try Kernel.rename(staged, to: target)
    } catch  where error.code == .noSuchFileOrDirectory {
      try makeFolder(DurableFile.parent(of: target))
      try Kernel.rename(staged, to: target)
    }
  }

  /// Creates a folder and its missing parents.
  private func makeFolder(_ path: String) throws(SystemError) {
    let parent = DurableFile.parent(of: path)
    if path.utf8.count > root.utf8.count, try Kernel.status(parent) == nil { try makeFolder(parent) }
    try Kernel.makeFolder(path)
    unsettled.add(folder: parent)
  }

  // MARK: - Documents

  func write(_ bytes: [UInt8], as path: String, _ head: FileHead) throws(MirrorError) {
    let target = stagingName()
    try MirrorError.disk { () throws(SystemError) in
      let file = try Kernel.open(target, [.write, .create, .truncate], mode: 0o644)
      try Kernel.write(bytes.span.bytes, to: file, path: path)
      Kernel.startWriting(file)
    }
    _ = try readable(target)
    unsettled.add(file: target)
    waiting.withLock { $0.append((target, path)) }
  }

  func show() throws(MirrorError) {
    let documents = waiting.withLock { waiting in
      defer { waiting = [] }
      return waiting
    }
    for (staged, path) in documents { try move(staged, to: path) }
  }

  func sync() throws(MirrorError) {
    try MirrorError.disk { () throws(SystemError) in
      // syncfs also waits for other processes' writes; a few files are faster to sync individually.
      guard let (files, folders) = unsettled.take() else { return try Kernel.syncFileSystem(handle) }
      for file in files { try Kernel.sync(Kernel.open(file, .read), path: file) }
      for folder in folders { try Kernel.syncFolder(folder) }
    }
  }

  func remove(_ paths: [String]) throws(MirrorError) {
    try MirrorError.disk { () throws(SystemError) in
      for path in paths {
        try Kernel.remove(self.path(path))
        try removeEmptyFolders(above: path)
      }
    }
  }

  private func removeEmptyFolders(above path: String) throws(SystemError) {
    var folder = DurableFile.parent(of: path)
    while folder.contains("/") {
      do {
        try Kernel.removeFolder(self.path(folder))
      } catch
        where [.directoryNotEmpty, .fileExists, .notDirectory, .noSuchFileOrDirectory].contains(error.code)
      {
        // ENOTDIR: there is a link in place of a folder.
        return
      }
      folder = DurableFile.parent(of: folder)
    }
  }

  func list() throws(MirrorError) -> [String] { try Self.list(root) }

  /// Returns every file in the spaces below a folder.
  static func list(_ root: String) throws(MirrorError) -> [String] {
    try MirrorError.disk { () throws(SystemError) in
      var files: [String] = []
      var open = try Folder.textNames(root).filter { ChannelName(space: $0) != nil }
      while let path = open.popLast() {
        // No run creates links. A link is the administrator's, and its target may belong to anybody.
        guard let status = try Kernel.status("\(root)/\(path)", followLinks: false) else { continue }
        switch status.kind {
        case .folder: open += try Folder.textNames("\(root)/\(path)").map { "\(path)/\($0)" }
        case .file: files.append(path)
        case .link, .other: continue
        }
      }
      return files
    }
  }
}

/// The files with new bytes and the folders with new names since the last sync. Any thread may use it.
final class UnsyncedFiles: Sendable {
  private let state = Locked(State())

  private struct State {
    var files: [String] = []
    var folders: Set<String> = []
    var areMany = false
  }

  /// If there are more than this, the whole file system is synced.
  private static let few = 48

  func add(file: String) { add { $0.files.append(file) } }
  func add(folder: String) { add { $0.folders.insert(folder) } }

  /// Records that a file whose bytes may not be durable yet was renamed.
  func moved(_ file: String, to path: String) {
    state.withLock { state in
      if let index = state.files.firstIndex(of: file) { state.files[index] = path }
    }
  }

  private func add(_ note: (inout State) -> Void) {
    state.withLock { state in
      if state.areMany { return }
      note(&state)
      state.areMany = state.files.count + state.folders.count > Self.few
    }
  }

  /// Returns what to sync, and starts anew; nil if it is too much to sync individually.
  func take() -> (files: [String], folders: [String])? {
    let state = state.withLock { state in
      defer { state = State() }
      return state
    }
    return state.areMany ? nil : (state.files, state.folders.sorted())
  }
}
