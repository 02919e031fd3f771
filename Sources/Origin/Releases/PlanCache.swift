import Manifests
import Store
import System

/// What preparations were given, so that a release can name it rather than send it again.
///
/// In memory alone, a few at a time and for a while: whoever names one that isn't there sends it whole.
final class PlanCache: Sendable {
  /// Who sent what, for which channel.
  struct Name: Hashable, Sendable {
    /// The token's id.
    let token: String
    let app: AppName
    let channel: ChannelName
    /// Of the document that was sent.
    let sha256: SHA256
  }

  private struct Plan: Sendable {
    let name: Name
    let bundles: [BundleChange]
    /// Bytes that it takes in memory, about.
    let bytes: Int
    /// Monotonic nanoseconds.
    let end: UInt64
  }

  private let plans = Locked<[Plan]>([])
  private let clock: @Sendable () -> UInt64

  /// - Parameter clock: nanoseconds that never go back.
  init(
    mostBytes: Int = 128 << 20, mostBytesOfToken: Int = 48 << 20,
    clock: @escaping @Sendable () -> UInt64 = Clock.monotonicNanoseconds
  ) {
    self.mostBytes = mostBytes
    self.mostBytesOfToken = mostBytesOfToken
    self.clock = clock
  }

  /// Bytes that all plans may take: what comes is coded, so few bytes may stand for very many.
  private let mostBytes: Int
  /// Bytes that the plans of one token may take, so that none pushes out those of others; 100,000 files are some 40 MB.
  private let mostBytesOfToken: Int
  /// Seconds, more than a release waits for its deltas.
  private static let timeout = 300

  /// Keeps a plan, in the place of the oldest ones of its token where there is no room.
  /// - Returns: whether it is kept.
  func keep(_ bundles: [BundleChange], as name: Name) -> Bool {
    let bytes = Self.bytes(of: bundles)
    guard bytes <= mostBytesOfToken else { return false }
    let end = clock() + UInt64(Self.timeout) * 1_000_000_000
    return plans.withLock { plans in
      plans.removeAll { $0.name == name }
      var own = plans.filter { $0.name.token == name.token }.reduce(bytes) { $0 + $1.bytes }
      while own > mostBytesOfToken, let oldest = plans.firstIndex(where: { $0.name.token == name.token }) {
        own -= plans.remove(at: oldest).bytes
      }
      guard plans.reduce(bytes, { $0 + $1.bytes }) <= mostBytes else { return false }
      plans.append(Plan(name: name, bundles: bundles, bytes: bytes, end: end))
      return true
    }
  }

  /// What a plan takes in memory: its URLs, and for each of its contents about what a table's place takes.
  private static func bytes(of bundles: [BundleChange]) -> Int {
    bundles.reduce(4096) { sum, bundle in
      guard case .update(_, let set, let remove) = bundle.change else { return sum }
      let contents = set.reduce(0) { sum, item in
        sum + 320 + item.key.text.utf8.count
          + item.value.headers.fields.reduce(0) { $0 + 64 + $1.value.text.utf8.count }
      }
      return sum + remove.reduce(contents) { $0 + 96 + $1.text.utf8.count }
    }
  }

  /// What was given under a name; nil where it isn't kept.
  func plan(_ name: Name) -> [BundleChange]? {
    plans.withLock { plans in plans.first { $0.name == name }?.bundles }
  }

  /// The release is made.
  func drop(_ name: Name) { plans.withLock { plans in plans.removeAll { $0.name == name } } }

  /// Drops what nobody came for.
  func dropOld() {
    let now = clock()
    plans.withLock { plans in plans.removeAll { $0.end <= now } }
  }
}
