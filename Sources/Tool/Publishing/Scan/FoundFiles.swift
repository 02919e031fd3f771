import Manifests
import System

/// The files found in a bundle's folders, not mapped yet.
struct FoundBundle {
  let source: BundleSource
  /// The files of each folder.
  let files: [[SourceFile]]
  /// Written patterns that match nothing.
  let idle: [BundleSource.WrittenPattern]

  /// - Throws: `PublishError` of the scan.
  init(_ source: BundleSource) throws(PublishError) {
    self.source = source
    var unused = source.written.filter(\.excludes).map(\.pattern)
    var files: [[SourceFile]] = []
    for folder in source.folders {
      files.append(try Scan.files(in: folder.path, source.filter, idle: &unused))
    }
    self.files = files
    idle = source.written.filter { [unused] written in
      written.excludes
        ? unused.contains(written.pattern)
        : !files.joined().contains { written.pattern.matches($0.path) }
    }.map { written in
      var written = written
      written.below = Self.folder(above: written.pattern.text, source.folders.map(\.path))
      return written
    }
  }

  /// Returns the start of a pattern that is the path of one of the folders, or the end of it.
  private static func folder(above pattern: String, _ folders: [String]) -> String? {
    let path = pattern.hasPrefix("./") ? pattern.dropFirst(2) : pattern.drop { $0 == "/" }
    return path.indices.filter { path[$0] == "/" }.map { String(path[..<$0]) }.first { start in
      folders.contains { "/\($0)".hasSuffix("/\(start)") || "/\($0)".hasSuffix("/\(start)/") }
    }
  }
}

/// The files found in the folders of a publish.
struct FoundFiles {
  let bundles: [FoundBundle]
  /// The state of each bundle.
  let states: [LocalState]

  /// Scans the folders; `program` is the publishing program's name and version.
  /// - Throws: `bundleTwice`; `PublishError` of the scan.
  init(_ sources: [BundleSource], program: String = "") throws(PublishError) {
    // A file that changes again in the same tick of the clock may keep its times.
    let settled = (Clock.unixMilliseconds() - HashCache.settling / 1_000_000) * 1_000_000
    for (index, source) in sources.enumerated()
    where sources[..<index].contains(where: { $0.name == source.name }) {
      throw .bundleTwice(source.name)
    }
    var bundles: [FoundBundle] = []
    for source in sources { bundles.append(try FoundBundle(source)) }
    self.bundles = bundles
    states = bundles.map { LocalState($0.source, $0.files, program: program, settled: settled) }
  }
}

/// A digest of everything that determines a bundle's resources: the rules, the program, and each file's path, device, inode,
/// size, mtime and ctime. A folder's own times don't matter. A newer program may, say, know a file's type better or check
/// more, so it looks at everything once.
///
/// While it equals the state in which the origin was last seen to have the same, no file is mapped, hashed or compared.
struct LocalState {
  let sha256: SHA256
  /// Whether any further change will show in some file's status; unsettled states aren't cached.
  let isSettled: Bool

  /// Computes the state. `program` is the publishing program's name and version; a ctime after `settled`, in nanoseconds since
  /// 1970, may stand for more than one state.
  init(_ source: BundleSource, _ files: [[SourceFile]], program: String, settled: Int64) {
    var hasher = SHA256Hasher()
    var buffer: [UInt8] = []
    ByteCoding.append(program, to: &buffer)
    buffer += LocalState.rules(source)
    var isSettled = true
    for (folder, files) in zip(source.folders, files) {
      ByteCoding.append((try? Kernel.realPath(folder.path)) ?? folder.path, to: &buffer)
      ByteCoding.append(folder.baseURL.text, to: &buffer)
      ByteCoding.append(UInt64(files.count), to: &buffer)
      if folder.isUnpacked { isSettled = false }
      for file in files {
        ByteCoding.append(file.path, to: &buffer)
        for word in HashCache.words(of: file.status) { ByteCoding.append(word, to: &buffer) }
        if file.status.changed > settled { isSettled = false }
        guard buffer.count >= 64 << 10 else { continue }
        hasher.update(buffer.span.bytes)
        buffer.removeAll(keepingCapacity: true)
      }
    }
    hasher.update(buffer.span.bytes)
    sha256 = hasher.finish()
    self.isSettled = isSettled
  }

  /// Encodes the rules by which files become resources.
  private static func rules(_ source: BundleSource) -> [UInt8] {
    var out: [UInt8] = []
    func append(_ texts: [String]) {
      ByteCoding.append(UInt64(texts.count), to: &out)
      for text in texts { ByteCoding.append(text, to: &out) }
    }
    append([source.name.text, source.mapsIndex ? "index" : ""])
    append(source.filter.include.map(\.text))
    append(source.filter.exclude.map(\.text))
    append(source.types.flatMap { [$0.pattern.text, $0.ctype.text] })
    append(source.lazy.map(\.pattern.text))
    for rule in source.headers {
      append([rule.pattern.text])
      append(rule.values.map { "\($0.key) \($0.value?.text ?? "")\($0.value == nil ? "-" : "+")" }.sorted())
    }
    for fallback in source.fallbacks {
      append([fallback.page.text, fallback.rule.prefix] + fallback.rule.except)
    }
    return out
  }
}

/// A state of the folders, and what the origin had when it was last seen to have the same.
///
/// The client keeps this on disk between publishes (`PublishCache`). What is kept of a release while it is prepared and made is at the
/// origin: the document in its `PlanCache`, the plan in the store's `RecentPlan`.
struct ScanState: Equatable {
  let local: SHA256
  /// The origin's ID.
  let origin: String
  let version: ManifestVersion
  let resources: Int64
  /// The size of all resources, in bytes.
  let bytes: Int64

  init(local: SHA256, origin: String, version: ManifestVersion, resources: Int64, bytes: Int64) {
    self.local = local
    self.origin = origin
    self.version = version
    self.resources = resources
    self.bytes = bytes
  }

  /// Decodes what `cached` wrote; nil for anything else.
  init?(cached: [UInt8]) {
    let read = cached.withUnsafeBytes { buffer -> ScanState? in
      var reader = ByteReader(buffer)
      guard let sha256 = reader.take(SHA256.byteCount).flatMap({ SHA256(bytes: $0.bytes) }),
        let origin = reader.text(), let version = reader.integer(), version >= 0,
        let resources = reader.integer(), let bytes = reader.integer(), reader.isAtEnd
      else { return nil }
      return ScanState(
        local: sha256, origin: origin, version: ManifestVersion(version), resources: resources, bytes: bytes)
    }
    guard let read else { return nil }
    self = read
  }

  var cached: [UInt8] {
    var out = local.bytes
    ByteCoding.append(origin, to: &out)
    for number in [version.number, resources, bytes] {
      ByteCoding.append(UInt64(bitPattern: number), to: &out)
    }
    return out
  }
}
