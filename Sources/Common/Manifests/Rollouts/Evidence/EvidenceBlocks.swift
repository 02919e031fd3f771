extension EvidenceHour {
  /// The openings that a block has in each arm, at least.
  package static let blockLeast = 20.0

  /// Returns the hours put together to blocks, in which the arms are compared: each consists of as many hours, one after another, as
  /// it takes until both arms have `blockLeast` openings. The last one may have fewer.
  ///
  /// Where a block ends is told by openings alone, never by failures.
  package static func blocks(_ hours: [EvidenceHour]) -> [EvidenceHour] {
    var blocks: [EvidenceHour] = []
    var open: EvidenceHour?
    for hour in hours.sorted(by: { $0.hour < $1.hour }) {
      var block = open ?? EvidenceHour(hour: hour.hour)
      block.add(hour)
      let isFull = min(block.candidate.opened, block.control.opened) >= blockLeast
      if isFull { blocks.append(block) }
      open = isFull ? nil : block
    }
    return blocks + (open.map { [$0] } ?? [])
  }
}
