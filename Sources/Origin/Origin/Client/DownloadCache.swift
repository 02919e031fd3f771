import HTTP
import Store
import Synchronization
import System

/// The files most recently requested from one event loop, open and with rendered heads.
///
/// Only the loop reads it. Files opened on the worker pool arrive through the inbox; one relaxed load tells whether there
/// are any.
final class DownloadCache {
  private var young: [UInt64: DownloadFile] = [:]
  private var old: [UInt64: DownloadFile] = [:]
  /// The number of files in one generation.
  private let capacity: Int
  /// The most descriptors that one file of the capacity may take: two generations, each with the plain bytes, gzip and
  /// zstd.
  static let descriptorsPerFile = 2 * 3
  let inbox: Inbox

  init(capacity: Int, _ changes: FileChanges) {
    self.capacity = capacity
    inbox = Inbox(changes)
  }

  /// What the worker pool opened for this loop, and whether the loop must reopen all its files.
  final class Inbox: Sendable {
    private let arrived = Locked(Arrived())
    private let isFilled = Atomic<Bool>(false)
    private let changes: FileChanges

    fileprivate struct Arrived {
      var files: [DownloadFile] = []
      /// A file was found damaged, or was repaired: it may be one that is open.
      var mustReopen = false
      /// Files that are opened once more when their codings were made.
      var awaited: Set<[UInt8]> = []
    }

    init(_ changes: FileChanges) {
      self.changes = changes
      changes.subscribe { [weak self] in self?.invalidate() }
    }

    /// Opens a file for the loop to keep; opens it again if one was found damaged meanwhile, which may be this one.
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

    /// Notes that a file is opened once more when its codings were made; false if that is so already.
    func awaitCodings(_ path: [UInt8]) -> Bool { arrived.withLock { $0.awaited.insert(path).inserted } }

    /// Ends what `awaitCodings` noted.
    func codingsMade(_ path: [UInt8]) { arrived.withLock { _ = $0.awaited.remove(path) } }

    private func invalidate() {
      arrived.withLock { arrived in
        arrived.files = []
        arrived.mustReopen = true
      }
      isFilled.store(true, ordering: .releasing)
    }

    fileprivate func drain() -> Arrived? {
      guard isFilled.load(ordering: .acquiring) else { return nil }
      return arrived.withLock { arrived in
        isFilled.store(false, ordering: .relaxed)
        defer {
          arrived.files = []
          arrived.mustReopen = false
        }
        return arrived
      }
    }
  }

  /// Returns the file at a path; nil if it isn't open.
  func file(at path: RawSpan) -> DownloadFile? {
    if let arrived = inbox.drain() { merge(arrived) }
    let key = Self.key(path)
    if let file = young[key] { return file.isAt(path) ? file : nil }
    guard let file = old[key], file.isAt(path) else { return nil }
    insert(file, key)
    return file
  }

  private func merge(_ arrived: Inbox.Arrived) {
    if arrived.mustReopen {
      young = [:]
      old = [:]
    }
    for file in arrived.files {
      let path = file.path
      insert(file, Self.key(path.span.bytes))
    }
  }

  /// Inserts into the young of two generations: requested files move there, and the old one is dropped when it is full.
  private func insert(_ file: DownloadFile, _ key: UInt64) {
    guard capacity > 0 else { return }
    if young.count >= capacity {
      old = young
      young = [:]
    }
    young[key] = file
  }

  /// Hashes eight bytes per step; the whole path is compared afterwards.
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

/// An open, verified file and the heads of its answers.
final class DownloadFile: Sendable {
  /// The request's path.
  let path: [UInt8]
  let document: CodedDocument
  /// What is needed to answer with a delta from the client's dictionary; nil if deltas aren't allowed.
  let target: DeltaTarget?
  /// The blob whose coded bodies are still to be made; nil if none are.
  let awaitsCodings: SHA256?
  private let plain: OpenFile?

  init(
    path: [UInt8], document: CodedDocument, _ plain: OpenFile? = nil, target: DeltaTarget? = nil,
    awaitsCodings: SHA256? = nil
  ) {
    self.path = path
    self.document = document
    self.plain = plain
    self.target = target
    self.awaitsCodings = awaitsCodings
  }

  /// Whether its bytes may be sent only as they are checked.
  var isBeingChecked: Bool { plain?.gate != nil }

  func isAt(_ path: RawSpan) -> Bool { path.equals(self.path) }
}

/// A resource whose answers may be deltas.
struct DeltaTarget: Sendable {
  let sha256: SHA256
  let md5: String
  /// The fields of its answers, without Content-Encoding.
  let fields: HeadFields
}
