/// Which blocks of a blob have been checked, and what is checked next: blocks that somebody waits for, and otherwise the
/// whole, from its beginning.
struct CheckProgress: Sendable {
  /// The next thing to do, which reads one block.
  enum Step: Hashable, Sendable {
    /// Compare a block with the tree.
    case block(Int)
    /// Add a block to the hash of the whole, and compare it.
    case whole(Int)
  }

  private enum Block: UInt8 {
    case unknown, requested, good
    /// It doesn't match the tree: the hash of the whole decides.
    case doubtful
  }

  private var blocks: [Block]
  /// Whether there is a tree, so that blocks can be checked by themselves.
  private let hasTree: Bool
  /// Requested blocks, in the order of their requests.
  private var requests: [Int] = []
  /// The block that the hash of the whole continues with.
  private var next = 0
  /// Whether a thread adds a block to the hash of the whole, which takes them in order.
  private var isHashing = false

  init(count: Int, hasTree: Bool) {
    blocks = Array(repeating: .unknown, count: count)
    self.hasTree = hasTree
  }

  var hasRequests: Bool { !requests.isEmpty }
  var hasWork: Bool { hasRequests || !isHashing && next < blocks.count }

  /// Takes the next step; nil if there is none, or another thread has the last one.
  mutating func nextStep() -> Step? {
    while !requests.isEmpty {
      let block = requests.removeFirst()
      // The hash of the whole may have come by meanwhile.
      guard blocks[block] == .requested else { continue }
      // Both at once, for whoever reads from the beginning.
      guard block == next, !isHashing else { return .block(block) }
      isHashing = true
      return .whole(block)
    }
    guard !isHashing, next < blocks.count else { return nil }
    isHashing = true
    return .whole(next)
  }

  /// Ends a step.
  /// - Parameter matches: whether the block is as in the tree; nil without a tree.
  mutating func end(_ step: Step, matches: Bool?) {
    switch step {
    case .block(let block): note(block, matches)
    case .whole(let block):
      isHashing = false
      next = block + 1
      note(block, matches)
    }
  }

  private mutating func note(_ block: Int, _ matches: Bool?) {
    if let matches { blocks[block] = matches ? .good : .doubtful }
  }

  /// How many blocks from `first` through `last` are good, without a gap.
  func good(from first: Int, through last: Int) -> Int {
    let end = min(last + 1, blocks.count)
    guard first < end else { return 0 }
    return blocks[first..<end].prefix { $0 == .good }.count
  }

  /// Has a block checked soon.
  mutating func request(_ block: Int) {
    guard hasTree, blocks.indices.contains(block), blocks[block] == .unknown else { return }
    blocks[block] = .requested
    requests.append(block)
  }
}
