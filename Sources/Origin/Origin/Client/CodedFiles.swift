import Compression
import HTTP
import Store
import Synchronization
import System

/// gzip and zstd bodies of compressible files, made on first request and kept under `derived/`.
///
/// They are optional: a file that is missing, or for which the disk has no space, is made again or done without. Each is made
/// once, however many ask for it: a small one while they wait, a large one on a thread of low priority, while the plain body
/// is sent.
final class CodedFiles: Sendable {
  private let store: Store
  private let log: @Sendable (String) -> Void
  private let work: SingleFlight<SHA256, Void>
  /// Files that couldn't be made, and until when nobody tries again (monotonic nanoseconds).
  private let failed = Locked<[SHA256: UInt64]>([:])
  /// The number of bodies coded, whether or not they turned out to be worth it.
  private let coded = Atomic<Int>(0)

  struct Coded {
    let file: OpenFile
    /// The SHA-256 of the coded bytes.
    let sha256: SHA256
  }

  /// The coded bodies of a file.
  struct Bodies {
    var gzip: Coded?
    var zstd: Coded?
    /// Whether one is still to be made.
    var isIncomplete = false
  }

  static let zstdLevel: Int32 = 9
  /// The size up to which a file is coded while its request waits: 256 KB, which takes some 20 ms.
  static let largestAtOnce: Int64 = 256 << 10
  /// How many files may wait to be coded; more are sent plain until they are asked for again.
  private static let maxWaiting = 10_000
  private static let retryNanoseconds: UInt64 = 600_000_000_000

  init(store: Store, log: @escaping @Sendable (String) -> Void) throws(SystemError) {
    self.store = store
    self.log = log
    work = try SingleFlight(
      threads: max(1, Environment.cores / 2), maxWaiting: Self.maxWaiting, name: "codings", .background)
  }

  /// Returns the coded bodies of a blob; a small one's are made if they don't exist.
  /// - Throws: `corruptBlob` if the blob's own bytes turn out to be damaged.
  func bodies(of sha256: SHA256, size: Int64) throws(StoreError) -> Bodies {
    guard Coding.sizes.contains(size) else { return Bodies() }
    let found = try existing(sha256)
    guard found.isIncomplete, size <= Self.largestAtOnce else { return found }
    work.perform(sha256) { [self] in make(sha256) }
    var made = try existing(sha256)
    // Throws if it was found damaged.
    if made.isIncomplete { _ = try store.openForSending(sha256) }
    made.isIncomplete = false
    return made
  }

  /// Has a large blob's bodies made; `done` is called afterwards, or at once if too many wait.
  func request(_ sha256: SHA256, done: @escaping @Sendable () -> Void) {
    let isTaken = work.request(sha256) { [self] in
      make(sha256)
    } completion: {
      done()
    }
    if !isTaken { done() }
  }

  private func existing(_ sha256: SHA256) throws(StoreError) -> Bodies {
    var bodies = Bodies()
    for coding in [BodyCoding.gzip, .zstd] {
      let kept = existing(sha256, coding)
      if coding == .gzip { bodies.gzip = kept } else { bodies.zstd = kept }
      if kept == nil, try !store.derived.isPoor(coding.text, for: sha256) { bodies.isIncomplete = true }
    }
    if bodies.isIncomplete, hasFailed(sha256) { bodies.isIncomplete = false }
    return bodies
  }

  private func existing(_ sha256: SHA256, _ coding: BodyCoding) -> Coded? {
    guard let kept = try? store.derived.openFile(path(sha256, coding)) else { return nil }
    let (size, digest) = (kept.size, kept.sha256)
    return size > 0 ? Coded(file: OpenFile(kept, store, log), sha256: digest) : nil
  }

  private func path(_ sha256: SHA256, _ coding: BodyCoding) -> String {
    store.derived.file(sha256, coding.text)
  }

  private func hasFailed(_ sha256: SHA256) -> Bool {
    let now = Clock.monotonicNanoseconds()
    return failed.withLock { failed in
      failed = failed.filter { $0.value > now }
      return failed[sha256] != nil
    }
  }

  /// Makes the bodies that don't exist, and notes which aren't worth it.
  private func make(_ sha256: SHA256) {
    do throws(StoreError) {
      let bodies = try existing(sha256)
      guard bodies.isIncomplete else { return }
      // Read once for both. One that is damaged is set aside, so that the plain body isn't served either.
      guard let plain = try? DurableFile.read(store.folder.blob(sha256)), SHA256.of(plain) == sha256 else {
        _ = try? store.openChecked(sha256)
        return
      }
      for coding in [BodyCoding.gzip, .zstd] where (coding == .gzip ? bodies.gzip : bodies.zstd) == nil {
        try make(sha256, plain, coding)
      }
    } catch {
      // Without disk space, for example, the plain body is sent.
      fail(sha256)
    }
  }

  private func make(_ sha256: SHA256, _ plain: [UInt8], _ coding: BodyCoding) throws(StoreError) {
    if try store.derived.isPoor(coding.text, for: sha256) { return }
    coded.add(1, ordering: .relaxed)
    let bytes = coding == .gzip ? Gzip.encode([plain]) : Zstd.encode([plain], level: Self.zstdLevel)
    guard Coding.pays(bytes.count, for: plain.count) else {
      return try store.derived.notePoor(coding.text, for: sha256)
    }
    let path = path(sha256, coding)
    try store.derived.keepFile(bytes, at: path)
    // Bytes that were purged or removed meanwhile don't come back: purges remove the blob first, then what was made of it.
    if (try? Kernel.status(store.folder.blob(sha256))) == nil { try? Kernel.remove(path) }
  }

  private func fail(_ sha256: SHA256) {
    failed.withLock { $0[sha256] = Clock.monotonicNanoseconds() + Self.retryNanoseconds }
  }

  /// The metric in the Prometheus text format, version 0.0.4.
  var prometheusText: String {
    """
    # HELP xcache_codings_made_total gzip and zstd bodies of files made, or tried and not worth it.
    # TYPE xcache_codings_made_total counter
    xcache_codings_made_total \(coded.load(ordering: .relaxed))

    """
  }
}

extension BodyCoding {
  /// Its name in fields and file names.
  fileprivate var text: String { "\(name)" }
}
