import Manifests
import Store
import System

/// Which first packs whole manifests name.
final class FirstPacks: Sendable {
  /// By channel, and by the version of the manifest.
  private let choices = Locked<[Int64: [ManifestVersion: FirstPackChoice]]>([:])

  /// Held while one is chosen: what was read before another one was made must not take its place.
  let choosing = Locked(())

  /// What was chosen for a version; nil if nothing yet.
  func choice(of channel: ChannelInfo) -> FirstPackChoice? {
    choices.withLock { $0[channel.id]?[channel.version] }
  }

  /// Notes what was chosen for a version, and forgets versions that polls aren't answered with any more.
  /// - Returns: whether another pack is named than before.
  func choose(_ choice: FirstPackChoice, of channel: ChannelInfo) -> Bool {
    choices.withLock { choices in
      let before = choices[channel.id]?[channel.version]
      choices[channel.id] = (choices[channel.id] ?? [:]).filter { version, _ in
        channel.answeredVersions.contains(version) || version == channel.rollout?.candidate
      }
      choices[channel.id]?[channel.version] = choice
      return before.flatMap(Self.pack) != Self.pack(choice)
    }
  }

  /// Whether some version's manifest names a pack.
  func isNamed(_ pack: StoredPack, of channel: Int64) -> Bool {
    choices.withLock { $0[channel]?.values.contains { Self.pack($0)?.sha256 == pack.sha256 } ?? false }
  }

  /// The packs that manifests of a channel name.
  func named(_ channel: Int64) -> Set<StoredPack> {
    choices.withLock { Set(($0[channel] ?? [:]).values.compactMap(Self.pack)) }
  }

  /// Forgets what was chosen for a channel.
  /// - Parameter kept: a version whose choice stays.
  /// - Returns: whether a manifest named one that was forgotten.
  func forget(_ channel: Int64, except kept: ManifestVersion? = nil) -> Bool {
    choices.withLock { choices in
      let gone = (choices[channel] ?? [:]).filter { $0.key != kept }
      for version in gone.keys { choices[channel]?[version] = nil }
      return gone.values.contains { Self.pack($0) != nil }
    }
  }

  private static func pack(_ choice: FirstPackChoice) -> StoredPack? {
    if case .stored(let pack) = choice { pack } else { nil }
  }
}
