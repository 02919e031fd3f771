import Testing
import XCacheRuntime

/// What the pools of all engines do, with views that a test makes and breaks.
@Suite @MainActor struct ViewPoolTests {
  @MainActor final class View {
    let number: Int
    var isBlank = true
    init(_ number: Int) { self.number = number }
  }

  /// Makes views, one after another; while it is closed, it doesn't finish any.
  @MainActor final class Maker {
    private(set) var made = 0
    private(set) var begun = 0
    var isOpen = true

    func make() async -> View {
      begun += 1
      let number = begun
      while !isOpen { await Task.yield() }
      made += 1
      return View(number)
    }
  }

  private let maker = Maker()

  private func pool(size: Int = 2, age: Duration = .seconds(600)) -> ViewPool<View> {
    ViewPool(site: "https://m.example.com", size: size, age: age) {
      $0.isBlank
    } make: { [maker = self.maker] in
      await maker.make()
    }
  }

  private func taken(_ pool: ViewPool<View>, _ url: String, isAnswered: Bool = true) -> String {
    switch pool.choose(for: url, isAnswered: isAnswered) {
    case .waiting(let view): "\(view.number)"
    case .new: "new"
    case .plain: "plain"
    }
  }

  /// Waits for a condition that is sure to come true.
  private func until(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
  }

  @Test func noMoreThanItsSizeHoweverOftenItIsFilled() async {
    let pool = pool()
    let tasks = (0..<2).map { _ in Task { await pool.fill() } }
    for task in tasks { await task.value }
    await pool.fill()
    #expect(pool.all.map(\.number) == [1, 2] && maker.made == 2)
  }

  @Test func pagesOfTheSiteTakeTheOldest() async {
    let pool = pool()
    await pool.fill()
    #expect(taken(pool, "https://cdn.example.com/index.html") == "new")
    #expect(taken(pool, "https://m.example.com.evil.test/") == "new")
    #expect(taken(pool, "https://m.example.com/net", isAnswered: false) == "plain")
    #expect(pool.count == 2)
    #expect(taken(pool, "HTTPS://M.example.com") == "1")
    #expect(taken(pool, "https://m.example.com/?a") == "2")
    #expect(taken(pool, "https://m.example.com/") == "new")
  }

  @Test func aViewWhoseProcessEndedIsReplaced() async {
    let pool = pool()
    await pool.fill()
    pool.all.first?.isBlank = false
    await pool.fill()
    #expect(pool.all.map(\.number) == [2, 3])
  }

  @Test func noOlderThanItsAge() async {
    let pool = pool(size: 1, age: .milliseconds(20))
    await pool.fill()
    // Another one takes its place without anybody asking.
    await until { maker.made >= 2 }
  }

  @Test func aMemoryWarningEndsThoseThatAreBeingMade() async {
    let pool = pool()
    maker.isOpen = false
    let filling = Task { await pool.fill() }
    await until { maker.begun == 1 }
    pool.removeAll()
    maker.isOpen = true
    await filling.value
    #expect(pool.count == 0 && maker.made == 1)
    await pool.fill()
    #expect(pool.count == 2)
  }

  @Test func theNextViewIsMadeAWhileAfterTheLoad() async {
    let pool = pool(size: 1)
    let began = ContinuousClock.now
    pool.fill(after: .loaded)
    #expect(pool.count == 0)
    await until { pool.count == 1 }
    #expect(.now - began >= .seconds(1))
  }
}
