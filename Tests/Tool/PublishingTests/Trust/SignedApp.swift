import Manifests
import OriginAPI
import System
import Testing
import Trust
import Values

@testable import Publishing

/// An app with a root, and the keys that its documents are signed with.
struct SignedApp {
  let rootKey = P256PrivateKey()
  let releaseKey = P256PrivateKey()
  let otherKey = P256PrivateKey()
  let headKey = P256PrivateKey()
  let root: Signed<TrustRoot>

  /// - Parameters:
  ///   - grants: who may sign what, made of the release key and the other one; nil: the release key everything.
  ///   - floors: those of the root.
  init(
    floors: [BundleName: Serial] = [:],
    _ grants: ((_ release: KeyID, _ other: KeyID) throws -> [ReleaseGrant])? = nil
  ) throws {
    let (release, other) = (releaseKey.trustKey, otherKey.trustKey)
    root = try Signed(
      TrustRoot(
        app: AppName("shop"), number: .first,
        keys: [rootKey, releaseKey, otherKey, headKey].map(\.trustKey),
        roots: Self.group(rootKey.trustKey.id),
        grants: grants?(release.id, other.id) ?? [ReleaseGrant(signers: Self.group(release.id))],
        prefetch: [release.id], heads: [headKey.trustKey.id], floors: floors)
    ).signed(by: rootKey)
  }

  /// What the origin answers about it.
  func overview(
    bundles: [TrustedChannel.Bundle] = [], prefetch: TrustedChannel.Prefetch? = nil,
    channel: ChannelName = .online, roots: [Signed<TrustRoot>]? = nil
  ) throws -> TrustOverview {
    TrustOverview(
      app: try AppName("shop"),
      roots: (roots ?? [root]).map {
        .init(
          number: $0.document.number.number, envelope: $0.envelope.json, at: Moment(milliseconds: 0),
          author: "admin")
      }, headKeys: [],
      channels: [
        TrustedChannel(
          channel: channel, version: ManifestVersion(1), head: nil, bundles: bundles, candidate: [],
          prefetch: prefetch)
      ])
  }

  /// A bundle with a statement.
  func bundle(
    _ name: String = "main", _ content: SHA256 = SHA256.of([1]), serial: Int64, floor: Int64 = 0,
    channels: Set<ChannelName> = [.online], by keys: [P256PrivateKey]
  ) throws -> TrustedChannel.Bundle {
    var signed = try Signed(
      ReleaseStatement(
        app: AppName("shop"), bundle: BundleName(name), channels: channels, content: content,
        serial: Self.serial(serial), floor: Self.serial(floor)))
    for key in keys { signed = try signed.signed(by: key) }
    return TrustedChannel.Bundle(
      bundle: try BundleName(name), content: content, serial: serial, floor: floor,
      channels: channels.sorted(), keys: keys.map(\.trustKey.id.text), problem: nil,
      envelope: signed.envelope.json)
  }

  static func serial(_ number: Int64) throws -> Serial { try #require(Serial(number)) }

  static func group(_ keys: KeyID..., threshold: Int = 1) throws -> KeyGroup {
    try #require(KeyGroup(Set(keys), threshold: threshold))
  }

  func options(_ key: P256PrivateKey? = nil) -> SigningOptions {
    var options = SigningOptions()
    options.signers = LazySigners(KeyFile(key ?? releaseKey))
    return options
  }
}
