import System

/// Small entries on their way from the threads that pack them to the one that writes.
final class PackJob: Sendable {
  private struct State {
    /// In the plan's order.
    var next = 0
    /// The batch that is being written.
    var written = 0
    var packed: [Int: Result<PackedEntry, ArchiveError>] = [:]
    var isOver = false
  }

  private let inputs: [ArchiveInput]
  private let plan: PackPlan
  private let state = Monitor(State())

  init(_ inputs: [ArchiveInput]) {
    self.inputs = inputs
    plan = PackPlan(inputs)
  }

  /// Packs entries until none is left or the writer gave up.
  func work() {
    let packer = Packer()
    while let index = take() {
      let result = Result { () throws(ArchiveError) in try packer.pack(inputs[index]) }
      state.broadcasting { $0.packed[index] = result }
    }
  }

  private func take() -> Int? {
    enum Next {
      case entry(Int)
      case none
    }
    let next: Next = state.waiting { state in
      guard !state.isOver, state.next < plan.order.count else { return Next.none }
      let index = plan.order[state.next]
      guard plan.batch[index] <= state.written + 1 else { return nil }
      state.next += 1
      return .entry(index)
    }
    if case .entry(let index) = next { return index }
    return nil
  }

  /// Tells the packing threads which batch the writer is at, if that isn't `batch` any more; gives that batch.
  func reached(_ index: Int, after batch: Int) -> Int {
    let now = plan.batch[index]
    if now != batch { state.broadcasting { $0.written = now } }
    return now
  }

  /// An entry once it is packed.
  func packed(_ index: Int) throws(ArchiveError) -> PackedEntry {
    try state.waiting { $0.packed.removeValue(forKey: index) }.get()
  }

  /// Lets the packing threads end.
  func end() { state.broadcasting { $0.isOver = true } }
}
