import HTTP
import Store
import Synchronization
import System

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
  let inbox: Inbox

  init(capacity: Int, _ changes: FileChanges) {
    self.capacity = capacity
    inbox = Inbox(changes)
  }

  /// What the worker pool opened for this loop, and whether all that the loop has open is to be opened anew.
  final class Inbox: Sendable {
    private let arrived = Locked(Arrived())
    private let isFilled = Atomic<Bool>(false)
    private let changes: FileChanges

    fileprivate struct Arrived {
      var files: [DownloadFile] = []
      /// A file was found bad, or made whole: what was opened before may be that one.
      var isAnew = false
    }

    init(_ changes: FileChanges) {
      self.changes = changes
      changes.subscribe { [weak self] in self?.beginAnew() }
    }

    /// Opens a file for the loop to keep; once more where one was found bad meanwhile, since it may be this one.
    func open(_ body: () throws(StoreError) -> DownloadFile) throws(StoreError) -> DownloadFile {
      while true {
        let edition = changes.edition
        let file = try body()
        let isCurrent = arrived.withLock { arrived in
          guard changes.edition == edition else { return false }
          arrived.files.append(file)
          isFilled.store(true, ordering: .releasing)
          return true
        }
        if isCurrent { return file }
      }
    }

    private func beginAnew() {
      arrived.withLock { $0 = Arrived(isAnew: true) }
      isFilled.store(true, ordering: .releasing)
    }

    fileprivate func take() -> Arrived? {
      guard isFilled.load(ordering: .acquiring) else { return nil }
      return arrived.withLock { arrived in
        isFilled.store(false, ordering: .relaxed)
        defer { arrived = Arrived() }
        return arrived
      }
    }
  }

  /// The file at a path; nil where it isn't open.
  func file(at path: RawSpan) -> DownloadFile? {
    if let arrived = inbox.take() { take(arrived) }
    let key = Self.key(path)
    if let file = young[key] { return file.isAt(path) ? file : nil }
    guard let file = old[key], file.isAt(path) else { return nil }
    insert(file, key)
    return file
  }

  private func take(_ arrived: Inbox.Arrived) {
    if arrived.isAnew {
      young = [:]
      old = [:]
    }
    for file in arrived.files {
      let path = file.path
      insert(file, Self.key(path.span.bytes))
    }
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

/// An open, checked file and the heads of its answers.
final class DownloadFile: Sendable {
  /// The request path.
  let path: [UInt8]
  let document: CodedDocument
  /// What else has to be known to answer with a delta on the client's dictionary; nil where none may be.
  let target: DeltaTarget?

  init(path: [UInt8], document: CodedDocument, target: DeltaTarget? = nil) {
    self.path = path
    self.document = document
    self.target = target
  }

  func isAt(_ path: RawSpan) -> Bool { path.equals(self.path) }
}

/// A resource whose answers may be deltas.
struct DeltaTarget: Sendable {
  let sha256: SHA256
  let md5: String
  /// Of its answers, without Content-Encoding.
  let fields: HeadFields
}
