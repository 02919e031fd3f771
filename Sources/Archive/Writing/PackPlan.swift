/// In which order small entries are packed, so that several threads end together and little waits to be written.
///
/// Entries are cut into batches of consecutive ones. Within a batch the largest is packed first: a large one at the
/// end would leave the other threads with nothing to do. What is packed ahead of the writer is at most two batches.
struct PackPlan: Sendable {
  /// Bytes of a batch, before packing.
  static let batchBytes: Int64 = 48 << 20

  /// Indices of small entries, in the order in which they are packed.
  private(set) var order: [Int] = []
  /// The batch of each entry.
  private(set) var batch: [Int] = []

  init(_ inputs: [ArchiveInput], batchBytes: Int64 = Self.batchBytes) {
    var number = 0
    var filled: Int64 = 0
    var current: [Int] = []
    for (index, input) in inputs.enumerated() {
      let bytes = input.isSmall ? input.size : 0
      if filled > 0, filled + bytes > batchBytes {
        order += Self.largestFirst(current, inputs)
        (number, filled, current) = (number + 1, 0, [])
      }
      batch.append(number)
      if input.isSmall { current.append(index) }
      filled += bytes
    }
    order += Self.largestFirst(current, inputs)
  }

  private static func largestFirst(_ batch: [Int], _ inputs: [ArchiveInput]) -> [Int] {
    batch.sorted { (inputs[$1].size, $0) < (inputs[$0].size, $1) }
  }
}
