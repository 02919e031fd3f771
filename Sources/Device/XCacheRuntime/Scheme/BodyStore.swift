import System

/// Keeps the bodies that pages hand over until their requests pick them up: 64 MB in total, each for a minute, and each
/// taken once.
public final class BodyStore: Sendable {
  private let table: Locked<BodyTable>

  /// Creates an empty store.
  public convenience init() { self.init(BodyTable.Limits()) }

  init(_ limits: BodyTable.Limits) { table = Locked(BodyTable(limits)) }

  /// The bytes that are kept or still to come.
  public var used: Int { table.withLock { $0.used } }

  /// Adds a part of a body.
  /// - Returns: false if there is no room for it, or it doesn't go with the other parts.
  func add(_ part: BodyPart, from origin: String) -> Bool {
    table.withLock { $0.add(part, from: origin, at: Clock.continuousNanoseconds()) }
  }

  /// Takes the body whose id a request carries. If the request overtakes its body, this waits for the body.
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
