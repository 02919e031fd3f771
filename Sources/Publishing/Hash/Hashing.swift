import Synchronization
import System

/// A file and what is known of its bytes.
package struct HashedFile: Hashable, Sendable {
  /// With the status in which the bytes were read.
  package let source: SourceFile
  package let digest: FileDigest
}

/// Reads files once for both digests, on all cores, each through one buffer of 256 KB.
package struct Hashing: Sendable {
  private let cache: HashCache
  private let kept: RetainedBytes?
  private let threads: Int

  /// - Parameter kept: takes the bytes of small files that are read.
  package init(cache: HashCache = HashCache(), keeping kept: RetainedBytes? = nil, threads: Int? = nil) {
    self.cache = cache
    self.kept = kept
    self.threads = threads ?? Environment.cores
  }

  /// The digests of `files`, in their order, and how many of them had to be read.
  /// - Parameter progress: called with the number of files done and their bytes, from any thread.
  package func digests(
    of files: [SourceFile], progress: @escaping @Sendable (Int, Int64) -> Void = { _, _ in }
  ) throws(PublishError) -> (files: [HashedFile], read: Int) {
    var hashed = files.map { file in
      cache.digest(of: file.status).map { HashedFile(source: file, digest: $0) }
    }
    // The largest first, so that no thread is left alone with one at the end.
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

/// The files that are still to be read, and what came of those that were.
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

  /// Takes files until none is left or one failed.
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
