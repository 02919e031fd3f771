import System
import Values

/// Makes a folder match a plan: writes files that differ, and removes those that aren't planned.
///
/// Links in the folder are never followed.
struct TreeWriter {
  let folder: CacheFolder
  let plan: TreePlan
  private(set) var report = TreeReport()

  init(_ folder: CacheFolder, _ plan: TreePlan) {
    self.folder = folder
    self.plan = plan
    report.skipped = plan.skipped
    report.clashes = plan.clashes
  }

  mutating func run() throws(DeviceError) {
    try removeUnplanned()
    for (path, entry) in plan.files.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      do {
        try write(entry, at: absolute(path))
      } catch .file(_, _, Errno.nameTooLong.rawValue, _) {
        report.skipped.append(entry.url.text)
      }
    }
  }

  private func absolute(_ path: [UInt8]) -> String {
    path.isEmpty ? folder.tree : "\(folder.tree)/\(String(decoding: path, as: UTF8.self))"
  }

  // MARK: What is there

  private mutating func removeUnplanned() throws(DeviceError) {
    try makeRoot()
    var folders: [[UInt8]] = [[]]
    var gone: [[UInt8]] = []
    // With a list instead of recursion, a deep tree can't exhaust the stack.
    while let path = folders.popLast() {
      for name in try names(of: path) {
        let child = path.isEmpty ? name : path + [UInt8(ascii: "/")] + name
        // We write only UTF-8 names, so others aren't ours.
        guard String(validating: child, as: UTF8.self) != nil else { continue }
        switch try kind(of: child) {
        case .folder?:
          folders.append(child)
          if plan.folders[child] == nil { gone.append(child) }
        case .file? where plan.files[child] != nil: break
        case nil: break
        case .file?, .link?, .other?:
          try folder.remove(absolute(child))
          report.removed += 1
        }
      }
    }
    // Reversed, because a folder is listed before its subfolders.
    for path in gone.reversed() { try removeFolder(absolute(path)) }
  }

  private func makeRoot() throws(DeviceError) {
    if let kind = try kind(of: []), kind != .folder { try folder.remove(folder.tree) }
    try makeFolder(folder.tree)
  }

  private func names(of path: [UInt8]) throws(DeviceError) -> [[UInt8]] {
    let path = absolute(path)
    return try onDisk(path) { () throws(SystemError) in try Folder.names(path) }
  }

  private func kind(of path: [UInt8]) throws(DeviceError) -> FileStatus.Kind? {
    let path = absolute(path)
    return try onDisk(path) { () throws(SystemError) in
      try Kernel.status(path, followLinks: false)?.kind
    }
  }

  /// Removes a folder if it is empty; one that isn't holds files that aren't ours, and stays.
  private func removeFolder(_ path: String) throws(DeviceError) {
    let isEmpty = try onDisk(path) { () throws(SystemError) in try Folder.names(path).isEmpty }
    guard isEmpty else { return }
    try onDisk(path) { () throws(SystemError) in try Kernel.removeFolder(path) }
  }

  private func makeFolder(_ path: String) throws(DeviceError) {
    try onDisk(path) { () throws(SystemError) in try Kernel.makeFolder(path) }
  }

  // MARK: What belongs there

  private mutating func write(_ entry: HeldEntry, at path: String) throws(DeviceError) {
    let isThere = folder.status(path)?.size == entry.size
    if isThere, folder.digest(path) == entry.bytes {
      report.unchanged += 1
      return
    }
    guard try replace(path, with: entry) else {
      report.missing += 1
      return try folder.remove(path)
    }
    report.written += 1
  }

  /// Replaces a file; false if the device doesn't have the entry's bytes.
  private func replace(_ path: String, with entry: HeldEntry) throws(DeviceError) -> Bool {
    let source = folder.file(entry.name)
    guard folder.status(source) != nil else { return false }
    try makeFolder(DurableFile.parent(of: path))
    let part = folder.incoming()
    guard try folder.copy(source, to: part) == entry.bytes else {
      try folder.remove(part)
      return false
    }
    do {
      try folder.move(part, to: path)
    } catch {
      try folder.remove(part)
      throw error
    }
    return true
  }
}

extension Device {
  /// The folders that the manifest lists files in, and the folders above them, as base URLs; empty if it lists nothing.
  package var listedFolders: Set<String> {
    var folders: Set<String> = []
    for entry in index.entries {
      var path = entry.url.text.prefix { $0 != "?" }[...]
      guard let host = path.firstRange(of: "://")?.upperBound else { continue }
      while let slash = path[host...].lastIndex(of: "/") {
        path = path[..<slash]
        guard folders.insert(String(path)).inserted else { break }
      }
    }
    return folders
  }

  /// Writes the manifest's files below a base URL into the folder `tree`, under their paths: changed files are
  /// written, and files no longer listed are removed.
  ///
  /// - Parameter base: the base URL, such as `https://m.example.com/app`; URLs elsewhere are left out.
  /// - Throws: `badSetting` for a base that isn't an http(s) URL; `file`.
  public func writeTree(below base: String) throws(DeviceError) -> TreeReport {
    guard let base = try? BaseURL(base) else { throw .badSetting(name: "The tree's base URL", value: base) }
    return try jobLock.withLock { _ throws(DeviceError) in
      var writer = TreeWriter(folder, TreePlan(index, below: base))
      try writer.run()
      return writer.report
    }
  }
}
