import DeviceTestSupport
import System
import Testing

@testable import XCacheRuntime

/// A `MemoryCache` in a class, so that `#expect` can call its mutating methods.
private final class Cache {
  var value: MemoryCache
  init(limit: Int) { value = MemoryCache(limit: limit) }
  var count: Int { value.count }
  var used: Int { value.used }
  var counts: MemoryCache.Counts { value.counts }
  func bytes(_ digest: SHA256) -> [UInt8]? { value.bytes(digest) }
  func keep(_ bytes: [UInt8], as digest: SHA256) { value.keep(bytes, as: digest) }
  func empty() { value.empty() }
}

@Suite struct MemoryCacheTests {
  private func digest(_ number: Int) -> SHA256 { SHA256.of(Array("\(number)".utf8)) }
  private func file(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: count) }

  @Test func leastRecentlyUsedFilesAreEvictedFirst() {
    let cache = Cache(limit: 30)
    for number in 1...3 { cache.keep(file(10), as: digest(number)) }
    #expect(cache.bytes(digest(1)) != nil)
    cache.keep(file(10), as: digest(4))
    #expect(cache.bytes(digest(2)) == nil && cache.bytes(digest(1)) != nil)
    #expect(cache.bytes(digest(3)) != nil && cache.bytes(digest(4)) != nil)
    cache.keep(file(25), as: digest(5))
    #expect(cache.count == 1 && cache.used == 25)
    #expect(cache.counts == .init(hits: 4, misses: 1, evictions: 4))
  }

  @Test func largeFilesAreNotKept() {
    let cache = Cache(limit: 10 << 20)
    cache.keep(file(MemoryCache.largestFile), as: digest(1))
    cache.keep(file(MemoryCache.largestFile + 1), as: digest(2))
    #expect(cache.count == 1)
    let small = Cache(limit: 5)
    small.keep(file(6), as: digest(1))
    #expect(small.count == 0 && small.counts.evictions == 0)
    let none = Cache(limit: -1)
    none.keep(file(1), as: digest(1))
    none.keep([], as: digest(2))
    #expect(none.count == 1 && none.used == 0)
  }

  @Test func emptiedCachesAreUsable() {
    let cache = Cache(limit: 100)
    for number in 1...20 { cache.keep(file(10), as: digest(number)) }
    cache.empty()
    #expect(cache.used == 0 && cache.count == 0 && cache.bytes(digest(20)) == nil)
    cache.keep(file(10), as: digest(1))
    #expect(cache.bytes(digest(1)) == file(10))
  }

  /// Compares with a simple list.
  @Test func agreesWithASimpleModel() {
    var random = SystemRandomNumberGenerator()
    let cache = Cache(limit: 100)
    var model: [(number: Int, count: Int)] = []
    for _ in 0..<5000 {
      let number = Int.random(in: 0..<40, using: &random)
      let index = model.firstIndex { $0.number == number }
      #expect((cache.bytes(digest(number)) != nil) == (index != nil))
      if let index {
        model.insert(model.remove(at: index), at: 0)
      } else {
        let count = Int.random(in: 0...40, using: &random)
        cache.keep(file(count), as: digest(number))
        while model.reduce(count, { $0 + $1.count }) > 100 { model.removeLast() }
        model.insert((number, count), at: 0)
      }
      #expect(cache.count == model.count && cache.used == model.reduce(0) { $0 + $1.count })
    }
  }
}
