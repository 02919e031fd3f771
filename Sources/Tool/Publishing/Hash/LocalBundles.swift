import BuildCheck
import Manifests
import System

/// The local files: the resources of each bundle by URL, and how many files were read.
struct LocalBundles {
  var bundles: [(source: BundleSource, resources: [BuildFile], state: LocalState)] = []
  var filesRead = 0
  /// Patterns that match nothing.
  var idle: [BundleSource.WrittenPattern] = []
  /// The bytes of small files that were read.
  let kept = RetainedBytes()
  /// The cache writes in progress.
  var caching: [ThreadTask<Void, Never>] = []

  /// The URLs of all bundles but one.
  func urls(without bundle: BundleName) -> Set<String> {
    Set(bundles.filter { $0.source.name != bundle }.flatMap { $0.resources.map(\.url.text) })
  }

  var bytes: Int64 { bundles.reduce(0) { $0 + $1.resources.reduce(0) { $0 + $1.content.size } } }

  /// Returns one local file for each of `contents` that is here.
  func files(of contents: Set<SHA256>) -> [SHA256: HashedFile] {
    var files: [SHA256: HashedFile] = [:]
    if contents.isEmpty { return files }
    for bundle in bundles {
      for resource in bundle.resources where contents.contains(resource.content.sha256) {
        files[resource.content.sha256] = resource.file
      }
    }
    return files
  }
}

extension Publisher {
  /// Reads the files that were found: maps each to its URL, and hashes it unless its digest is cached.
  func read(_ found: FoundFiles, rehash: Bool) throws(PublishError) -> LocalBundles {
    var mapped: [[MappedFile]] = []
    for bundle in found.bundles { mapped.append(try Mapping.files(of: bundle)) }
    var local = LocalBundles()
    local.idle = found.bundles.flatMap(\.idle)
    for ((bundle, state), files) in zip(zip(found.bundles, found.states), mapped) {
      let hashed = try hash(bundle.source, files.map(\.file), keeping: local.kept, rehash: rehash)
      local.filesRead += hashed.read
      if let caching = hashed.caching { local.caching.append(caching) }
      local.bundles.append(
        (bundle.source, zip(files, hashed.files).map { BuildFile($0, $1) }, state))
    }
    return local
  }

  /// Returns the digests of `files`, using the cache of the bundle's folders.
  private func hash(
    _ bundle: BundleSource, _ files: [SourceFile], keeping bytes: RetainedBytes, rehash: Bool
  ) throws(PublishError) -> (files: [HashedFile], read: Int, caching: ThreadTask<Void, Never>?) {
    let folders = bundle.folders.map { (try? Kernel.realPath($0.path)) ?? $0.path }
    let key = ([bundle.name.text] + folders).joined(separator: "\n")
    let kept = rehash ? nil : cache.read(.hashes, key)
    let now = Clock.unixMilliseconds() * 1_000_000
    let progress = self.progress
    let hashed = try FileHashing(
      cache: kept.flatMap { HashCache(records: $0) } ?? HashCache(), keeping: bytes
    )
    .digests(of: files) { progress(.hashing(done: $0, of: files.count, bytes: $1)) }
    if bundle.folders.contains(where: \.isUnpacked) { return (hashed.files, hashed.read, nil) }
    let caching = ThreadTask("cache") { [cache] in
      let records = HashCache(hashed.files.map { ($0.source.status, $0.digest) }, now: now).bytes
      // Failing to write the cache only costs time.
      if records != kept { try? cache.write(.hashes, key, records) }
    }
    return (hashed.files, hashed.read, caching)
  }
}
