import Platform

/// Keeps the memory of all documents that are received or carried out at once under a limit, over all connections.
final class BodyBudget: Sendable {
  /// Bytes that every document may have, whatever others hold: a small call doesn't wait for large ones.
  static let free = 65_536

  private let limit: Int
  private let used = Locked(0)

  /// - Parameter limit: bytes. One document may be larger, and then it is the only one.
  init(limit: Int) { self.limit = limit }

  /// A document's part of the budget, which it gives back when it is let go of.
  func share() -> Share { Share(self) }

  final class Share {
    private let budget: BodyBudget
    private var held = 0

    fileprivate init(_ budget: BodyBudget) { self.budget = budget }

    deinit { budget.used.withLock { [held] in $0 -= held } }

    /// Makes room for so many bytes in all; false where others have taken it.
    func hold(_ count: Int) -> Bool {
      guard count > max(held, BodyBudget.free) else { return true }
      let isGranted = budget.used.withLock { [held, limit = budget.limit] used in
        let others = used - held
        guard others == 0 || others + count <= limit else { return false }
        used = others + count
        return true
      }
      if isGranted { held = count }
      return isGranted
    }
  }
}
