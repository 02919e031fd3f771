import System

/// Passes small entries from the threads that compress them to the one that writes.
final class CompressionJob: Sendable {
  private struct State {
    /// An index into the plan's order.
    var next = 0
    /// The batch that is being written.
    var written = 0
    var compressed: [Int: Result<CompressedEntry, ArchiveError>] = [:]
    var isOver = false
  }

  private let inputs: [ArchiveInput]
  private let plan: ZipPlan
  private let state = Monitor(State())

  init(_ inputs: [ArchiveInput]) {
    self.inputs = inputs
    plan = ZipPlan(inputs)
  }

  /// Compresses entries until none is left or the writer has given up.
  func work() {
    let compressor = EntryCompressor()
    while let index = nextIndex() {
      let result = Result { () throws(ArchiveError) in try compressor.compress(inputs[index]) }
      state.broadcasting { $0.compressed[index] = result }
    }
  }

  private func nextIndex() -> Int? {
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

  /// Tells the compressing threads which batch the writer has reached, if it is no longer `batch`; returns that batch.
  func reached(_ index: Int, after batch: Int) -> Int {
    let now = plan.batch[index]
    if now != batch { state.broadcasting { $0.written = now } }
    return now
  }

  /// Returns an entry once it is compressed.
  func compressed(_ index: Int) throws(ArchiveError) -> CompressedEntry {
    try state.waiting { $0.compressed.removeValue(forKey: index) }.get()
  }

  /// Makes the compressing threads end.
  func end() { state.broadcasting { $0.isOver = true } }
}

/// The order in which small entries are compressed, so that all threads finish together and little waits to be written.
///
/// Entries are divided into batches of consecutive ones. Within a batch the largest is compressed first: a large one at the
/// end would leave the other threads idle. At most two batches are compressed ahead of the writer.
struct ZipPlan: Sendable {
  /// The size of a batch in bytes, before compression.
  static let batchBytes: Int64 = 48 << 20

  /// Indices of small entries, in the order in which they are compressed.
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

/// An entry's bytes as they appear in an archive.
struct CompressedEntry: Sendable {
  let bytes: [UInt8]
  let crc: UInt32
}

/// Compresses small entries, one after another, with its own memory.
struct EntryCompressor: ~Copyable {
  private let deflater = Deflater()

  init() {}

  func compress(_ input: ArchiveInput) throws(ArchiveError) -> CompressedEntry {
    let bytes = try input.opened().bytes(at: 0, count: Int(input.size))
    guard bytes.count == Int(input.size) else { throw .wrongSize(input.name) }
    let crc = CRC32.of(bytes)
    switch input.method {
    case .stored: return CompressedEntry(bytes: bytes, crc: crc)
    case .deflate: return CompressedEntry(bytes: bytes.withUnsafeBytes { deflater.compress($0) }, crc: crc)
    }
  }
}
