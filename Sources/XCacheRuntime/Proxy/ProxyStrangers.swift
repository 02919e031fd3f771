import System

/// Connections that haven't shown the password yet. An engine shows it at once, other processes never can: there are few at a
/// time, and one more takes the place of the oldest, so that they keep no engine out.
final class ProxyStrangers: Sendable {
  private let state = Locked<(next: Int, waiting: [(id: Int, stream: any ProxyStream)])>((0, []))

  /// How many wait at a time.
  static let most = 64
  /// Milliseconds in which the password has to be there.
  static let patience = 10_000

  /// A connection began; gives its number.
  func enters(_ stream: any ProxyStream) -> Int {
    let (id, oldest) = state.withLock { state -> (Int, (any ProxyStream)?) in
      state.next += 1
      state.waiting.append((state.next, stream))
      return (state.next, state.waiting.count > Self.most ? state.waiting.removeFirst().stream : nil)
    }
    oldest?.close()
    return id
  }

  /// It showed the password, or is over.
  func leaves(_ id: Int) { state.withLock { $0.waiting.removeAll { $0.id == id } } }
}
