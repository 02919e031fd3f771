import Synchronization
import System

/// A file with its digest.
package struct HashedFile: Hashable, Sendable {
  /// The file, with the status in which it was read.
  package let source: SourceFile
  package let digest: FileDigest
}

/// Computes both digests of files in one read, on all cores, each core through a buffer of 256 KB.
package struct FileHashing: Sendable {
  private let cache: HashCache
  private let kept: RetainedBytes?
  private let threads: Int

  /// Small files that are read are also stored in `kept`.
  package init(cache: HashCache = HashCache(), keeping kept: RetainedBytes? = nil, threads: Int? = nil) {
    self.cache = cache
    self.kept = kept
    self.threads = threads ?? Environment.cores
  }

  /// Returns the digests of `files`, in order, and how many files had to be read. `progress` is called from any thread with
  /// the number of files done and their bytes.
  package func digests(
    of files: [SourceFile], progress: @escaping @Sendable (Int, Int64) -> Void = { _, _ in }
  ) throws(PublishError) -> (files: [HashedFile], read: Int) {
    var hashed = files.map { file in
      cache.digest(of: file.status).map { HashedFile(source: file, digest: $0) }
    }
    // Largest first, so that no thread is left with a large one at the end.
    let missing = hashed.indices.filter { hashed[$0] == nil }.sorted {
      (files[$1].status.size, $0) < (files[$0].status.size, $1)
    }
    let known = files.count - missing.count
    progress(known, 0)
    let results = try read(missing.map { files[$0] }) { progress(known + $0, $1) }
    for (index, result) in zip(missing, results) { hashed[index] = result }
    return (hashed.compactMap { $0 }, missing.count)
  }

  private func read(
    _ files: [SourceFile], _ progress: @escaping @Sendable (Int, Int64) -> Void
  ) throws(PublishError) -> [HashedFile] {
    if files.isEmpty { return [] }
    let job = HashJob(files, kept, progress)
    Parallel.run(threads: min(threads, files.count)) { job.run() }
    return try job.finish()
  }
}

/// The files still to be read, and the results so far.
private final class HashJob: Sendable {
  private struct State {
    var next = 0
    var done: [HashedFile?]
    var count = 0
    var bytes: Int64 = 0
    var failure: PublishError?
  }

  private let files: [SourceFile]
  private let kept: RetainedBytes?
  private let progress: @Sendable (Int, Int64) -> Void
  private let state: Locked<State>

  init(_ files: [SourceFile], _ kept: RetainedBytes?, _ progress: @escaping @Sendable (Int, Int64) -> Void) {
    self.files = files
    self.kept = kept
    self.progress = progress
    state = Locked(State(done: Array(repeating: nil, count: files.count)))
  }

  /// Hashes files until none is left or one has failed.
  func run() {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 262_144, alignment: 4096)
    defer { buffer.deallocate() }
    while let index = take() {
      do {
        let file = try hash(files[index], buffer)
        let (count, bytes) = state.withLock { state in
          state.done[index] = file
          state.count += 1
          state.bytes += file.digest.size
          return (state.count, state.bytes)
        }
        progress(count, bytes)
      } catch {
        state.withLock { if $0.failure == nil { $0.failure = error } }
      }
    }
  }

  private func take() -> Int? {
    state.withLock { state in
      guard state.failure == nil, state.next < files.count else { return nil }
      defer { state.next += 1 }
      return state.next
    }
  }

  private func hash(_ source: SourceFile, _ buffer: UnsafeMutableRawBufferPointer) throws(PublishError)
    -> HashedFile
  {
    if source.status.size <= RetainedBytes.small, let bytes = try FileReader.small(source, into: buffer) {
      kept?.keep(bytes, of: source.location)
      return HashedFile(source: source, digest: FileDigest(of: bytes.span.bytes))
    }
    let file = try FileReader(source)
    var hasher = FileHasher()
    var offset: Int64 = 0
    while true {
      let count = try file.read(at: offset, into: buffer)
      if count == 0 { break }
      hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes)
      offset += Int64(count)
    }
    try file.check(file.status)
    guard offset == file.status.size else { throw .changedWhileRead(source.location) }
    return HashedFile(
      source: SourceFile(location: source.location, path: source.path, status: file.status),
      digest: hasher.finish())
  }

  func finish() throws(PublishError) -> [HashedFile] {
    if let failure = state.withLock({ $0.failure }) { throw failure }
    return state.withLock { $0.done }.compactMap { $0 }
  }
}
