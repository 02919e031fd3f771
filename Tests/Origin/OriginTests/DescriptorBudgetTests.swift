import HTTP
import OriginAPI
import Store
import System
import Testing

@testable import Origin

@Suite struct DescriptorBudgetTests {
  @Test(arguments: [256, 1024, 4096, 65_536, 524_288, 1_048_576], [1, 2, 4, 64])
  func budgetCoversAllOpenDescriptors(_ descriptors: Int, _ loops: Int) {
    let budget = DescriptorBudget(descriptors: descriptors, loops: loops)
    let downloads = budget.openFiles * DownloadCache.descriptorsPerFile * loops
    #expect(budget.connections > 0)
    // Three sixteenths remain of what the loops don't need themselves.
    let kept = budget.connections + budget.refused + downloads
    #expect(kept <= (descriptors - 3 * loops) * 13 / 16)
  }

  @Test func shares() {
    let small = DescriptorBudget(descriptors: 1024, loops: 2)
    #expect(small.connections == 635 && small.refused == 63 && small.openFiles == 10)
    let large = DescriptorBudget(descriptors: 1_048_576, loops: 8)
    #expect(large.connections == 655_345 && large.openFiles == 1024)
    #expect(DescriptorBudget(descriptors: 64, loops: 256) == DescriptorBudget(descriptors: 2, loops: 1))
  }

  /// After both statuses, publishers and devices retry.
  @Test func descriptorExhaustionIsTemporary() {
    for code in [Errno.tooManyOpenFiles, .tooManyOpenFilesInSystem] {
      let error = StoreError.system(SystemError("open", on: "blobs/a", code: code))
      #expect(
        Problem(error).status == 503
          && ClientFailure.response(error).status == .serviceUnavailable)
    }
    let error = StoreError.system(SystemError("open", on: "blobs/a", code: .ioError))
    #expect(Problem(error).status == 500)
  }

  /// As the budget assumes: two generations, each file in plain and coded forms.
  @Test func cacheClosesFilesBeyondItsCapacity() throws {
    let capacity = 4
    let cache = DownloadCache(capacity: capacity, FileChanges())
    var files: [Kept] = []
    for number in 0..<50 {
      let path = Array("/xcache/\(number)".utf8)
      let plain = Representation(HeadFields(), tag: nil, body: .none)
      let file = try cache.inbox.open { () throws(StoreError) in
        DownloadFile(path: path, document: .file(identity: plain, gzip: nil, zstd: nil))
      }
      files.append(Kept(file: file))
      #expect(cache.file(at: path.span.bytes) != nil)
    }
    let most = files.filter { $0.file != nil }.count
    #expect(most <= 2 * capacity && DownloadCache.descriptorsPerFile == 2 * 3)
  }

  private struct Kept {
    weak var file: DownloadFile?
  }

  /// An origin without references closes its files.
  @Test func originIsReleased() throws {
    weak var store: Store?
    weak var catalog: AnyObject?
    do {
      let origin = try TestOrigin()
      (store, catalog) = (origin.store, origin.origin.catalog)
      #expect(try origin.publish(["a.js": "1"]).status < 300)
    }
    // A thread that is ending may hold a reference for a moment.
    for _ in 0..<300 where store != nil || catalog != nil { Clock.sleep(for: .milliseconds(10)) }
    #expect(store == nil && catalog == nil)
  }
}
