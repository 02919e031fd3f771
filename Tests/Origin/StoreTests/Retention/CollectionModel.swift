import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// The expected content of a store after releases, pins and collections, in a simple model: every manifest as devices got it.
struct CollectionModel {
  struct Channel {
    var bundles: [String: [String: Sample]] = [:]
    var bundleVersions: [String: Int64] = [:]
    /// The manifests that devices got, by version.
    var manifests: [Int64: [ResourceURL: Entry]] = [:]
    var pins: Set<Int64> = []
    var newest: Int64 = 0
    var mirrored: Set<Int64> = []
    var reported: Set<Int64> = []

    func kept(_ count: Int) -> Set<Int64> {
      Set(manifests.keys.sorted().suffix(max(1, count))).union(pins).union(mirrored).union(reported)
    }
  }

  var channels: [String: Channel] = ["online": Channel(), "test": Channel()]
  /// Uploaded bytes that no release has used.
  var sent: Set<SHA256> = []

  var reachable: Set<SHA256> {
    Set(channels.values.flatMap { $0.manifests.values.flatMap { $0.values.map(\.sha256) } })
  }

  mutating func drop(keeping count: Int) {
    for (name, channel) in channels {
      let kept = channel.kept(count)
      channels[name]?.manifests = channel.manifests.filter { kept.contains($0.key) }
    }
  }
}

/// A store whose steps can fail; it is reopened after each failure, as after a crash.
final class CrashingStore {
  let scratch = Scratch()
  private let stepsLeft = Locked<Int?>(nil)
  private let now = Locked<Int64>(Clock.unixMilliseconds())
  private(set) var store: Store
  /// A database that gets only what the store's acts recorded; nil: none does.
  private(set) var replica: ReplicaUnderTest?

  /// The error that simulates a crash.
  static let code = Errno.ioError

  init(isReplicated: Bool = false) throws {
    store = try Store(path: scratch.data)
    if isReplicated { replica = try ReplicaUnderTest(of: store, in: scratch.path) }
    try reopen()
  }

  func advance(hours: Int64) { now.withLock { $0 += hours * 3_600_000 } }

  /// Sets the step that fails; nil: none does.
  func arm(_ steps: Int?) { stepsLeft.withLock { $0 = steps } }

  func reopen() throws {
    arm(nil)
    // The old store must release its lock first.
    store = try Store(path: scratch.path + "/none-\(Clock.monotonicNanoseconds())")
    var options = Store.Options()
    options.clock = { [now] in now.withLock { $0 } }
    options.disk = Disk { [stepsLeft] (_, path) throws(SystemError) in
      let fails = stepsLeft.withLock { left in
        left = left.map { $0 - 1 }
        return left == 0
      }
      if fails { throw SystemError("crash", on: path, code: Self.code) }
    }
    options.recorded = replica?.recorded
    store = try Store(path: scratch.data, options: options)
  }
}
