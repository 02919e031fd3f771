import System

/// Connections that haven't shown the password yet. An engine shows it at once, other processes never can. Their number is
/// limited, and a new one replaces the oldest, so that they can't lock the engine out.
final class UnauthenticatedStreams: Sendable {
  private let state = Locked<(next: Int, waiting: [(id: Int, stream: any ProxyStream)])>((0, []))

  /// The most such connections at a time.
  static let maxCount = 64
  /// Milliseconds within which the password has to arrive.
  static let patience = 10_000

  /// Adds a connection and returns its number.
  func add(_ stream: any ProxyStream) -> Int {
    let (id, oldest) = state.withLock { state -> (Int, (any ProxyStream)?) in
      state.next += 1
      state.waiting.append((state.next, stream))
      return (state.next, state.waiting.count > Self.maxCount ? state.waiting.removeFirst().stream : nil)
    }
    oldest?.close()
    return id
  }

  /// Removes a connection, which showed the password or is over.
  func remove(_ id: Int) { state.withLock { $0.waiting.removeAll { $0.id == id } } }
}
