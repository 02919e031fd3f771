import Manifests
import System
import Values

@testable import Store

/// The expected content of an origin, in a simple model: every kept version of every channel as a whole copy.
struct LifeModel {
  typealias Content = [ResourceURL: Sample]
  typealias Bundles = [String: Content]

  struct Release {
    var bundles: Bundles
    /// The manifest as devices got it.
    var manifest: [ResourceURL: Entry]
  }

  struct Channel {
    /// The kept releases.
    var releases: [Int64: Release] = [:]
    var newest: Int64 = 0
    var bundleVersions: [String: Int64] = [:]
    var pins: Set<Int64> = []
    var reported: Set<Int64> = []
    var isRemoved = false

    var bundles: Bundles { releases[newest]?.bundles ?? [:] }
    var versions: [Int64] { releases.keys.sorted() }

    /// The versions that are kept with a limit of `count`; of a removed channel only its last number.
    func kept(_ count: Int) -> Set<Int64> {
      if isRemoved { return Set(versions.suffix(1)) }
      return Set(versions.suffix(max(1, count))).union(pins).union(reported.intersection(versions))
    }

    /// The bundles that differ in `next`.
    func changed(to next: Bundles) -> [String] {
      Set(next.keys).union(bundles.keys).filter { next[$0] ?? [:] != bundles[$0] ?? [:] }.sorted()
    }

    mutating func drop(keeping kept: Set<Int64>) {
      releases = releases.filter { kept.contains($0.key) }
      if isRemoved { (pins, reported) = ([], []) }
    }
  }

  var channels: [String: Channel] = ["online": Channel(), "test": Channel(), "beta": Channel()]
  /// Every download URL that was ever given, and its bytes.
  var downloads: [String: SHA256] = [:]
  /// How often each act succeeded, was refused, or crashed.
  var acts: [String: Int] = [:]

  /// The bytes named by a kept version.
  var reachable: Set<SHA256> {
    Set(channels.values.flatMap { $0.releases.values.flatMap { $0.manifest.values.map(\.sha256) } })
  }

  static func union(_ bundles: Bundles) -> Content {
    bundles.values.reduce(into: [:]) { $0.merge($1) { a, _ in a } }
  }

  /// Whether bundles that share a URL have equal content for it.
  static func isConsistent(_ bundles: Bundles) -> Bool {
    var union: Content = [:]
    for (url, sample) in bundles.values.joined() {
      if let other = union.updateValue(sample, forKey: url), other != sample { return false }
    }
    return true
  }
}
