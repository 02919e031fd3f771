import Manifests
import System

/// The pages that an engine has open, and which of them a request comes from, as far as its headers tell.
final class ProxyPages: Sendable {
  private struct State {
    /// Those whose document is on its way, oldest first.
    var opening: [OpenPage] = []
    /// Those that are shown.
    var shown: [OpenPage] = []
  }

  /// Pages that may be on their way; of more, the oldest was left.
  private static let mostOpening = 32

  private let state = Locked(State())

  /// A page's document is about to be asked for.
  /// - Returns: those that were on their way for too long.
  func opens(_ page: OpenPage) -> [OpenPage] {
    state.withLock { state in
      state.opening.append(page)
      let left = state.opening.prefix(max(0, state.opening.count - Self.mostOpening))
      state.opening.removeFirst(left.count)
      return Array(left)
    }
  }

  /// A document of this address is asked for: the page that it is for, where that was told.
  func opening(_ url: String) -> OpenPage? {
    let url = Self.withoutFragment(url)
    return state.withLock { $0.opening.last { Self.withoutFragment($0.url) == url } }
  }

  /// A page with this address is shown now; nil where none was on its way.
  func shows(_ url: String) -> OpenPage? {
    let url = Self.withoutFragment(url)
    return state.withLock { state in
      guard let index = state.opening.lastIndex(where: { Self.withoutFragment($0.url) == url }) else {
        return nil
      }
      let page = state.opening.remove(at: index)
      state.shown.append(page)
      return page
    }
  }

  /// A page is gone.
  func closes(_ page: OpenPage) {
    state.withLock { state in
      state.opening.removeAll { $0 == page }
      state.shown.removeAll { $0 == page }
    }
  }

  /// The pages that a request may come from, newest first: one where `Referer` names it, else those of its origin.
  func candidates(referrer: String?, origin: String?) -> [OpenPage] {
    let all = state.withLock { Array(($0.shown + $0.opening).reversed()) }
    if let referrer {
      let url = Self.withoutFragment(referrer)
      if let page = all.first(where: { Self.withoutFragment($0.url) == url }) { return [page] }
    }
    guard let source = (origin ?? referrer).flatMap(Self.origin) else { return all }
    return all.filter { Self.origin($0.url) == source }
  }

  static func origin(_ url: String) -> String? {
    (try? ResourceURL(url)).map { "\($0.scheme)://\($0.authority)" }
  }

  private static func withoutFragment(_ url: String) -> String {
    (try? ResourceURL(url))?.text ?? String(url.prefix { $0 != "#" })
  }
}
