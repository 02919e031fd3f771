import Manifests

/// The patches from older versions that devices asked for; those asked for last stay.
struct PatchCache: Sendable {
  private var answers: [Int64: PatchAnswer] = [:]
  /// Base versions, the oldest insertion first.
  private var order: [Int64] = []
  private var cost = 0

  /// Answers kept at most, and the bytes that they may take together.
  static let limit = (answers: 64, bytes: 32 << 20)

  subscript(base: Int64) -> PatchAnswer? { answers[base] }

  var count: Int { answers.count }

  /// The versions that there are answers for, the newest first.
  var bases: [ManifestVersion] { order.sorted(by: >).map { ManifestVersion($0) } }

  /// Puts a newer answer in the place of one that is there.
  mutating func replace(_ answer: PatchAnswer, from base: ManifestVersion) {
    guard let old = answers[base.number] else { return }
    cost += answer.cost - old.cost
    answers[base.number] = answer
  }

  mutating func insert(_ answer: PatchAnswer, from base: ManifestVersion) {
    if answers[base.number] != nil { return }
    answers[base.number] = answer
    order.append(base.number)
    cost += answer.cost
    while order.count > 1, order.count > Self.limit.answers || cost > Self.limit.bytes {
      cost -= answers.removeValue(forKey: order.removeFirst())?.cost ?? 0
    }
  }
}
