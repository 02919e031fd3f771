import Testing

@testable import Origin

@Suite struct PublishedTests {
  /// A read that begins after a change has returned sees it, on every thread.
  @Test func readersSeePublishedValues() async {
    let published = Published(0)
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<4 {
        group.addTask {
          var reader = PublishedReader(published)
          var last = 0
          for _ in 0..<20_000 {
            let floor = published.current
            let value = reader.current
            if value < floor || value < last { return false }
            last = value
          }
          return true
        }
      }
      group.addTask {
        for number in 1...5_000 { published.update { $0 = number } }
        return true
      }
      for await isRight in group { #expect(isRight) }
    }
    #expect(published.current == 5_000)
  }
}
