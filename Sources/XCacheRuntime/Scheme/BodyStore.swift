import System

/// Keeps what pages hand over until their requests come for it: 64 MB in all, each for a minute, and taken once.
public final class BodyStore: Sendable {
  private let table: Locked<BodyTable>

  /// A store without bodies.
  public convenience init() { self.init(BodyTable.Limits()) }

  init(_ limits: BodyTable.Limits) { table = Locked(BodyTable(limits)) }

  /// Bytes that are kept, or on their way.
  public var used: Int { table.withLock { $0.used } }

  /// - Returns: false where there is no room for it, or it isn't the next part.
  func add(_ part: BodyPart, from origin: String) -> Bool {
    table.withLock { $0.add(part, from: origin, at: Clock.continuousNanoseconds()) }
  }

  /// The body that a request carries the id of. A request may overtake its body: that is waited for.
  func take(
    _ id: String, method: String, url: String, origin: String?, within patience: Duration = .seconds(5)
  ) async -> PageBody? {
    let end = ContinuousClock.now + patience
    while true {
      let taken = table.withLock {
        $0.take(id, method: method, url: url, origin: origin, at: Clock.continuousNanoseconds())
      }
      switch taken {
      case .body(let body): return body
      case .refused: return nil
      case .missing:
        guard .now < end, (try? await Task.sleep(for: .milliseconds(10))) != nil else { return nil }
      }
    }
  }
}
