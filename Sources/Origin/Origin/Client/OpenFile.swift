import HTTP
import Store
import System

/// Keeps a descriptor open for answers that are sent from it.
final class OpenFile: FileOwner {
  /// Nil: the descriptor is its check's.
  private let file: Descriptor?
  private let descriptor: Int32
  private let checked: CheckedFile?
  let size: Int64
  private let recheck: @Sendable () -> Void

  private init(_ file: consuming Descriptor, size: Int64, recheck: @escaping @Sendable () -> Void) {
    descriptor = file.raw
    self.file = consume file
    checked = nil
    self.size = size
    self.recheck = recheck
  }

  /// The file of a blob that is checked while it is sent.
  init(
    _ check: BlobCheck, _ checker: BlobChecker, _ store: Store, _ log: @escaping @Sendable (String) -> Void
  ) {
    file = nil
    descriptor = check.descriptor
    checked = CheckedFile(check: check, checker: checker)
    size = check.size
    recheck = Self.recheck(check.sha256, store, log)
  }

  /// The file of a blob.
  convenience init(
    _ blob: consuming StoredBlob, _ sha256: SHA256, _ store: Store,
    _ log: @escaping @Sendable (String) -> Void
  ) {
    let size = blob.size
    self.init(blob.takeFile(), size: size, recheck: Self.recheck(sha256, store, log))
  }

  private static func recheck(
    _ sha256: SHA256, _ store: Store, _ log: @escaping @Sendable (String) -> Void
  ) -> @Sendable () -> Void {
    {
      do throws(StoreError) {
        try store.recheck(sha256)
        log(
          "error: bytes of blob \(sha256) were missing in an open file; the file that is there now is intact"
        )
      } catch {
        log("error: a download was aborted: \(error)")
      }
    }
  }

  /// A file under `derived/`, which is removed and made again if it is damaged.
  convenience init(
    _ derived: consuming DerivedFile, _ store: Store, _ log: @escaping @Sendable (String) -> Void
  ) {
    let (size, path) = (derived.size, derived.path)
    self.init(derived.takeFile(), size: size, recheck: Self.recheck(path, store, log))
  }

  /// The file of a zip.
  convenience init(_ zip: consuming StoredZip, _ store: Store, _ log: @escaping @Sendable (String) -> Void) {
    let (size, path) = (zip.size, zip.path)
    self.init(zip.takeFile(), size: size, recheck: Self.recheck(path, store, log))
  }

  private static func recheck(
    _ path: String, _ store: Store, _ log: @escaping @Sendable (String) -> Void
  ) -> @Sendable () -> Void {
    {
      log(
        "error: a download was aborted: bytes of \(path) are missing; the file is read again, and rebuilt if it is damaged"
      )
      do throws(StoreError) {
        try store.recheckDerived(path)
      } catch {
        log("error: \(path) can't be read again: \(error)")
      }
    }
  }

  func bytesAreMissing() { recheck() }

  var gate: (any FileGate)? { checked.flatMap { $0.check.isDone ? nil : $0 } }

  var body: Body {
    .file(FileBody(owner: self, descriptor: descriptor, offset: 0, count: UInt64(max(0, size))))
  }
}

/// Lets the blocks of a blob be sent that were checked, and has those checked first that somebody waits for.
private final class CheckedFile: FileGate {
  let check: BlobCheck
  private let checker: BlobChecker

  init(check: BlobCheck, checker: BlobChecker) {
    self.check = check
    self.checker = checker
  }

  func sendable(at offset: UInt64, upTo count: Int, changed: @escaping @Sendable () -> Void) -> Int? {
    let sendable = check.checked(at: offset, upTo: count, changed: changed)
    if sendable == 0 { checker.wake() }
    return sendable
  }

  var failure: Response { ClientFailure.response(check.failure ?? .corruptBlob(check.sha256)) }
}
