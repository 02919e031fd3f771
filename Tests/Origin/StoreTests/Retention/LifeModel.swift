import Manifests
import System
import Values

@testable import Store

/// What an origin should hold, said naively: every kept version of every channel as a whole copy.
struct LifeModel {
  typealias Content = [ResourceURL: Sample]
  typealias Bundles = [String: Content]

  struct Release {
    var bundles: Bundles
    /// As devices got it.
    var manifest: [ResourceURL: Entry]
  }

  struct Channel {
    /// Those that are kept.
    var releases: [Int64: Release] = [:]
    var newest: Int64 = 0
    var bundleVersions: [String: Int64] = [:]
    var pins: Set<Int64> = []
    var reported: Set<Int64> = []
    var isRemoved = false

    var bundles: Bundles { releases[newest]?.bundles ?? [:] }
    var versions: [Int64] { releases.keys.sorted() }

    /// What stays where so many of the newest do; of a removed channel its last number alone.
    func kept(_ count: Int) -> Set<Int64> {
      if isRemoved { return Set(versions.suffix(1)) }
      return Set(versions.suffix(max(1, count))).union(pins).union(reported.intersection(versions))
    }

    /// The bundles that another content would change.
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
  /// How often each act was carried out, was refused, or ended in a crash.
  var acts: [String: Int] = [:]

  /// The bytes that some kept version names.
  var reachable: Set<SHA256> {
    Set(channels.values.flatMap { $0.releases.values.flatMap { $0.manifest.values.map(\.sha256) } })
  }

  static func union(_ bundles: Bundles) -> Content {
    bundles.values.reduce(into: [:]) { $0.merge($1) { a, _ in a } }
  }

  /// Whether bundles that share a URL agree.
  static func isSound(_ bundles: Bundles) -> Bool {
    var union: Content = [:]
    for (url, sample) in bundles.values.joined() {
      if let other = union.updateValue(sample, forKey: url), other != sample { return false }
    }
    return true
  }
}
