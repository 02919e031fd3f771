import Testing
import XCacheRuntime

/// The pool's decisions for all engines, without an engine.
@Suite struct WarmViewsTests {
  private let start = ContinuousClock.now

  private func views(_ names: String..., size: Int = 3) -> WarmViews<String> {
    var views = WarmViews<String>(size: size, age: .seconds(10))
    for name in names { _ = views.add(name, since: views.round, at: start) }
    return views
  }

  private func choose(
    _ views: inout WarmViews<String>, isAnswered: Bool = true, at seconds: Int = 0, dead: [String] = []
  ) -> String {
    switch views.choose(
      isAnswered: isAnswered, at: start + .seconds(seconds), keeping: { !dead.contains($0) })
    {
    case .waiting(let name): name
    case .new: "new"
    case .plain: "plain"
    }
  }

  @Test func viewsAreTakenOnceOldestFirst() {
    var views = views("a", "b")
    #expect((1...3).map { _ in choose(&views) } == ["a", "b", "new"])
  }

  /// A page of another host, or a bypassed one, doesn't take a view.
  @Test func pagesThatTheDeviceDoesNotAnswerTakeNone() {
    var views = views("a")
    #expect(choose(&views, isAnswered: false) == "plain" && views.all == ["a"])
  }

  @Test func sizeIsLimited() {
    var views = views("a", "b", size: 2)
    let round = views.round
    #expect(!views.lacksOne(since: round))
    let isAdded = views.add("c", since: round, at: start)
    #expect(!isAdded && views.all == ["a", "b"])
    _ = choose(&views)
    #expect(views.lacksOne(since: round))
    // A pool of size 0 makes none.
    let none = self.views(size: 0)
    #expect(!none.lacksOne(since: none.round))
  }

  @Test func ageIsLimited() {
    var views = views("a")
    _ = views.add("b", since: views.round, at: start + .seconds(4))
    #expect(views.oldestEnd == start + .seconds(10))
    views.drop(at: start + .seconds(9)) { _ in true }
    #expect(views.count == 2)
    views.drop(at: start + .seconds(10)) { _ in true }
    #expect(views.all == ["b"] && views.oldestEnd == start + .seconds(14))
    #expect(choose(&views, at: 14) == "new" && views.oldestEnd == nil)
  }

  /// A view's process may end while it waits.
  @Test func unusableViewsAreSkipped() {
    var views = views("a", "b", "c")
    #expect(choose(&views, dead: ["a", "c"]) == "b" && views.count == 0)
  }

  @Test func memoryWarningsDropViewsInTheMaking() {
    var views = views("a")
    let round = views.round
    views.removeAll()
    #expect(views.count == 0 && !views.lacksOne(since: round))
    let isLateAdded = views.add("late", since: round, at: start)
    let isNextAdded = views.add("next", since: views.round, at: start)
    #expect(!isLateAdded && isNextAdded && views.all == ["next"])
  }
}
