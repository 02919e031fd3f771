import System
import Values

/// Finds what is never meant for a browser: secrets in the files of a release, and files whose names say so.
struct SecretCheck {
  /// What was found.
  struct Result {
    var findings: [Finding] = []
    /// The URLs of files that have a secret and were allowed.
    var allowed: [ResourceURL] = []
  }

  private let site: Site
  private let allowed: Set<String>
  private let known: @Sendable (String) -> [UInt8]?

  /// - Parameters:
  ///   - site: the files.
  ///   - allowed: the files that may have secrets, by path below the published folder, or as given on the command line.
  ///   - known: returns the contents of a file that is already in memory, by path, or nil.
  init(_ site: Site, allowed: Set<String>, known: @escaping @Sendable (String) -> [UInt8]?) {
    self.site = site
    self.allowed = allowed
    self.known = known
  }

  /// Checks the names of all files, and the contents of those whose URLs are in `changed`; nil: of all.
  func result(changed: Set<String>?) throws(CheckError) -> Result {
    // An index page has two URLs, and is read once.
    var indices: [PathKey: Int] = [:]
    let files = site.files.enumerated().filter { index, file in
      indices.updateValue(indices[PathKey(file.location)] ?? index, forKey: PathKey(file.location)) == nil
    }.map(\.element)
    let read = changed.map { urls in
      Set(site.files.filter { urls.contains($0.url.text) }.map { PathKey($0.location) })
    }
    let isRead = files.map { file in read.map { $0.contains(PathKey(file.location)) } ?? true }
    let contents = try secrets(in: files, isRead)
    var result = Result()
    var folders: [String: Int] = [:]
    var allowedFiles: Set<PathKey> = []
    for (file, found) in zip(files, contents) {
      let named = SecretNames.secret(of: file.path, size: file.size)
      if named == nil, found.isEmpty { continue }
      if allowed.contains(file.path) || allowed.contains(file.location) {
        allowedFiles.insert(PathKey(file.location))
        continue
      }
      for secret in found { result.findings.append(Self.finding(secret, file)) }
      guard let named else { continue }
      if let folder = SecretNames.hiddenFolder(of: file.path) {
        // A folder such as node_modules/.cache may have thousands of files.
        if let first = folders[folder] {
          result.findings[first].repeats += 1
          continue
        }
        folders[folder] = result.findings.count
      }
      result.findings.append(Self.finding(named, file))
    }
    // What may have a secret and doesn't, or isn't read again, was meant; what isn't there was misspelt.
    let paths = Set(files.map(\.path)).union(files.map(\.location))
    for path in allowed.subtracting(paths).sorted() {
      result.findings.append(
        Finding(
          rule: .secret, severity: .warning, place: nil, position: nil, problem: .idleAllowance(path: path)))
    }
    result.allowed = site.files.filter { allowedFiles.contains(PathKey($0.location)) }.map(\.url)
    return result
  }

  private static func finding(_ secret: Secret, _ file: CheckedBundle.File) -> Finding {
    Finding(
      rule: .secret, severity: .error, place: file.place,
      position: secret.position, problem: .secret(secret, path: file.path))
  }

  /// Returns the secrets in each of `files`; none for those that aren't to be read.
  private func secrets(in files: [CheckedBundle.File], _ isRead: [Bool]) throws(CheckError) -> [[Secret]] {
    // Largest first, so that no thread is left with a large one at the end.
    let order = files.indices.filter { isRead[$0] && files[$0].size > 0 }.sorted {
      files[$1].size < files[$0].size
    }
    let found = Locked([[Secret]](repeating: [], count: files.count))
    try Parallel.forEach(order.count, threads: Environment.cores) { (number) throws(CheckError) in
      let file = files[order[number]]
      let secrets = try Self.secrets(in: file.location, known(file.location))
      if !secrets.isEmpty { found.withLock { $0[order[number]] = secrets } }
    }
    return found.withLock { $0 }
  }

  private static func secrets(in location: String, _ known: [UInt8]?) throws(CheckError) -> [Secret] {
    if let known { return SecretFile.secrets(in: known, isText: true) }
    let secrets: [Secret]?
    do {
      secrets = try SecretFile.secrets(inFile: location)
    } catch {
      throw .unreadable(location, error)
    }
    guard let secrets else { throw .gone(location) }
    return secrets
  }
}
