import HTTP
import Platform
import Synchronization

/// The files that one event loop's clients asked for last, open and with their heads rendered.
///
/// The loop alone reads it. Files that were opened on the worker pool arrive through the inbox; one relaxed load
/// tells whether there are any.
final class DownloadCache {
  private var young: [UInt64: DownloadFile] = [:]
  private var old: [UInt64: DownloadFile] = [:]
  /// Files in one generation.
  private let capacity: Int
  /// What one file of the capacity may cost: two generations, in each the plain bytes, gzip and zstd.
  static let descriptorsPerFile = 2 * 3
  let inbox = Inbox()

  init(capacity: Int) { self.capacity = capacity }

  /// What the worker pool opened for this loop.
  final class Inbox: Sendable {
    private let files = Locked<[DownloadFile]>([])
    private let isFilled = Atomic<Bool>(false)

    func put(_ file: DownloadFile) {
      files.withLock { $0.append(file) }
      isFilled.store(true, ordering: .releasing)
    }

    fileprivate func take() -> [DownloadFile] {
      guard isFilled.load(ordering: .acquiring) else { return [] }
      return files.withLock { files in
        isFilled.store(false, ordering: .relaxed)
        defer { files = [] }
        return files
      }
    }
  }

  /// The file at a path; nil where it isn't open.
  func file(at path: RawSpan) -> DownloadFile? {
    for file in inbox.take() {
      let path = file.path
      insert(file, Self.key(path.span.bytes))
    }
    let key = Self.key(path)
    if let file = young[key] { return file.isAt(path) ? file : nil }
    guard let file = old[key], file.isAt(path) else { return nil }
    insert(file, key)
    return file
  }

  /// Two generations: what is asked for moves to the young one, and the old one is dropped when that is full.
  private func insert(_ file: DownloadFile, _ key: UInt64) {
    guard capacity > 0 else { return }
    if young.count >= capacity {
      old = young
      young = [:]
    }
    young[key] = file
  }

  /// Eight bytes a step; the whole path is compared after it.
  private static func key(_ path: RawSpan) -> UInt64 {
    var hash = UInt64(path.byteCount) &* 0x9E37_79B9_7F4A_7C15
    var index = 0
    while index &+ 8 <= path.byteCount {
      hash = (hash ^ path.word(index)) &* 0xFF51_AFD7_ED55_8CCD
      hash ^= hash &>> 32
      index &+= 8
    }
    while index < path.byteCount {
      hash = (hash ^ UInt64(path[index])) &* 0x100_0000_01b3
      index &+= 1
    }
    return hash ^ hash &>> 29
  }
}
