/// What the pools of all engines do: keeps views warm for the next pages, makes those that are missing, and replaces those that
/// have waited too long.
///
/// An engine's `PagePool` says how a view is made. A pool belongs to the actor that it is used on, that of the engine's views.
public final class ViewPool<View: Sendable> {
  /// What happened to a view, after which the next one is made.
  public enum Event: Sendable {
    /// A page was opened in it. Its load may not end: the user may go on to another one.
    case taken
    /// Its page is loaded. Starting a process competes with a page's first paint for processors, which then came about 40 ms later
    /// on two of them (WebKitGTK).
    case loaded

    /// The time before the next view is made.
    fileprivate var pause: Duration {
      switch self {
      case .taken: .seconds(10)
      case .loaded: .seconds(1)
      }
    }
  }

  private let site: String
  private let isUsable: (View) -> Bool
  private let make: @Sendable () async -> View?
  private var views: WarmViews<View>
  private var filling: Task<Void, Never>?
  private var aging: Task<Void, any Error>?

  /// Creates an empty pool; `fill` makes the views.
  ///
  /// - Parameters:
  ///   - site: the site of the app's pages: `https://m.example.com`.
  ///   - size: the number of views that wait at a time.
  ///   - age: how long a view waits before another replaces it.
  ///   - isUsable: whether a view can still be used: the system may have ended its process.
  ///   - make: returns a view in which a blank page of the site is loaded, or nil if there can't be one now.
  public init(
    site: String, size: Int, age: Duration, isUsable: @escaping (View) -> Bool,
    make: @escaping @Sendable () async -> View?
  ) {
    self.site = site
    self.isUsable = isUsable
    self.make = make
    views = WarmViews(size: size, age: age)
  }

  deinit { aging?.cancel() }

  /// The number of views that wait.
  public var count: Int { views.count }

  /// The views that wait, oldest first.
  public var all: [View] { views.all }

  /// Makes the missing views one after another, and returns when they are ready.
  public func fill(on actor: isolated any Actor = #isolation) async {
    if filling == nil {
      filling = Task { [weak self, round = views.round] in
        while let self, await self.add(since: round, on: actor) {}
        if let self, self.views.round == round { self.filling = nil }
      }
    }
    await filling?.value
  }

  /// - Returns: whether another one may be missing.
  private func add(since round: WarmViews<View>.Round, on actor: isolated any Actor) async -> Bool {
    views.drop(keeping: isUsable)
    guard views.lacksOne(since: round), let view = await make(), views.add(view, since: round) else {
      return false
    }
    age(on: actor)
    return true
  }

  /// Drops the oldest view when its time is over, and replaces it.
  private func age(on actor: isolated any Actor) {
    aging?.cancel()
    guard let end = views.oldestEnd else { return }
    aging = Task { [weak self] in
      try await Task.sleep(until: end, clock: .continuous)
      guard let self else { return }
      self.views.drop(keeping: self.isUsable)
      await self.fill(on: actor)
      // If none could be made, opening the next page tries again.
    }
  }

  /// Chooses the view for a page: a waiting one if the device answers the page and it is on the pool's site.
  public func choose(for url: String, isAnswered: Bool) -> WarmViews<View>.Choice {
    // If it replaced the blank page, it would come from another site, without its SameSite=Strict cookies.
    if isAnswered, !isOfSite(url) { return .new }
    return views.choose(isAnswered: isAnswered, keeping: isUsable)
  }

  private func isOfSite(_ url: String) -> Bool {
    (url + "/").lowercased().hasPrefix(site.lowercased() + "/")
  }

  /// Makes the next views a while after something happened to one: a second after its page is loaded, and at most 10 s after it was
  /// taken.
  public func fill(after event: Event, on actor: isolated any Actor = #isolation) {
    Task { [weak self, round = views.round] in
      try await Task.sleep(for: event.pause)
      guard let self, self.views.round == round else { return }
      await self.fill(on: actor)
    }
  }

  /// Drops all views, including those being made: memory is low.
  public func removeAll() {
    views.removeAll()
    filling = nil
    aging?.cancel()
  }
}
