import Manifests
import OriginAPI
import OriginClient
import System
import Trust
import Values

/// What an app's channels hold, read from the origin and checked against what it says, with the statements that it has.
package struct Holdings: Sendable {
  /// A bundle in a channel.
  package struct Bundle: Sendable {
    package let channel: ChannelName
    package let live: LiveBundle
    /// Whether it is the candidate's, which only a part of the devices has.
    package let isCandidate: Bool
    /// Nothing is known of it but that it is one.
    package let statement: Signed<ReleaseStatement>?
    /// The channel's floor, as the origin says; nil if it doesn't.
    package let floor: Serial?

    package init(
      channel: ChannelName, live: LiveBundle, isCandidate: Bool = false, statement: Signed<ReleaseStatement>?,
      floor: Serial? = nil
    ) {
      self.floor = floor
      self.channel = channel
      self.live = live
      self.isCandidate = isCandidate
      self.statement = statement
    }
  }

  /// A channel's prefetch config.
  package struct Prefetch: Sendable {
    package let channel: ChannelName
    /// The digest of what is signed of it, computed here.
    package let content: SHA256
    package let statement: Signed<PrefetchStatement>?
    /// The channel's floor, as the origin says; nil if it doesn't.
    package let floor: Serial?

    package init(
      channel: ChannelName, content: SHA256, statement: Signed<PrefetchStatement>?, floor: Serial? = nil
    ) {
      self.floor = floor
      self.channel = channel
      self.content = content
      self.statement = statement
    }
  }

  package var bundles: [Bundle] = []
  package var prefetch: [Prefetch] = []

  package init(bundles: [Bundle] = [], prefetch: [Prefetch] = []) {
    self.bundles = bundles
    self.prefetch = prefetch
  }

  /// Reads all channels of an app.
  ///
  /// - Parameter progress: called with each bundle before it is read.
  /// - Throws: `OriginError`, `CeremonyError`.
  package init(_ overview: TrustOverview, _ api: OriginClient, progress: (String) -> Void = { _ in }) throws {
    // The entries of a candidate don't name their bundles yet.
    let open = overview.roots.isEmpty ? overview.channels.filter { !$0.candidate.isEmpty } : []
    guard open.isEmpty else { throw CeremonyError.openRollouts(open.map(\.channel)) }
    for channel in overview.channels {
      let address = ChannelAddress(overview.app, channel.channel)
      try read(channel, address, api, progress)
      if let prefetch = channel.prefetch { try read(prefetch, address, api) }
    }
  }

  private mutating func read(
    _ channel: TrustedChannel, _ address: ChannelAddress, _ api: OriginClient, _ progress: (String) -> Void
  ) throws {
    for said in channel.bundles {
      progress("reading \(said.bundle) of \(channel.channel)")
      let answer = try api.entries(of: said.bundle, in: address)
      let live = try api.reading { () throws(JSONError) in
        try LiveBundle(said.bundle, entries: answer.entries)
      }
      guard live.content == said.content else {
        throw answer.channelVersion == channel.version
          ? CeremonyError.otherContent(channel.channel, said.bundle)
          : CeremonyError.changedMeanwhile(channel.channel)
      }
      bundles.append(try Self.bundle(live, said, channel.channel))
    }
    guard !channel.candidate.isEmpty else { return }
    progress("reading the candidate of \(channel.channel)")
    guard let candidate = try api.overview(of: address).value.rollout else {
      throw CeremonyError.changedMeanwhile(channel.channel)
    }
    let manifest = try api.manifest(candidate.version.text, of: address)
    let found = try api.reading { () throws(JSONError) in try LiveBundle.bundles(of: manifest) }
    for said in channel.candidate {
      // One that the candidate takes away has no entries.
      let live = found[said.bundle] ?? LiveBundle(said.bundle, items: [])
      guard live.content == said.content else {
        throw CeremonyError.otherContent(channel.channel, said.bundle)
      }
      if live.items.isEmpty { continue }
      bundles.append(try Self.bundle(live, said, channel.channel, isCandidate: true))
    }
  }

  private static func bundle(
    _ live: LiveBundle, _ said: TrustedChannel.Bundle, _ channel: ChannelName, isCandidate: Bool = false
  ) throws(CeremonyError) -> Bundle {
    Bundle(
      channel: channel, live: live, isCandidate: isCandidate,
      statement: try statement(said.envelope, said.bundle.text, channel),
      floor: said.floorInForce.flatMap { Serial($0) })
  }

  private mutating func read(
    _ prefetch: TrustedChannel.Prefetch, _ address: ChannelAddress, _ api: OriginClient
  ) throws {
    let config = try api.prefetch(of: address, version: String(prefetch.version)).value.config
    let content = SHA256.of((config ?? .array([])).canonical)
    guard content == prefetch.content else { throw CeremonyError.changedMeanwhile(address.channel) }
    self.prefetch.append(
      Prefetch(
        channel: address.channel, content: content,
        statement: try Self.statement(prefetch.envelope, "the prefetch config", address.channel),
        floor: prefetch.floorInForce.flatMap { Serial($0) }))
  }

  private static func statement<Statement: TrustDocument>(
    _ envelope: JSONValue?, _ name: String, _ channel: ChannelName
  ) throws(CeremonyError) -> Signed<Statement>? {
    guard let envelope, !envelope.isNull else { return nil }
    do {
      return try Signed(json: envelope)
    } catch {
      throw .envelope(channel, name, error)
    }
  }
}

extension Holdings {
  /// Those that devices with a root would refuse.
  package func refused(by judge: RootJudge) -> Holdings {
    Holdings(
      bundles: bundles.filter { judge.failure(of: $0.live, $0.statement, in: $0.channel) != nil },
      prefetch: prefetch.filter { judge.failure(ofPrefetch: $0.content, $0.statement, in: $0.channel) != nil }
    )
  }

  package var isEmpty: Bool { bundles.isEmpty && prefetch.isEmpty }

  /// Those that others don't have.
  package func without(_ others: Holdings) -> Holdings {
    Holdings(
      bundles: bundles.filter { bundle in
        !others.bundles.contains {
          $0.channel == bundle.channel && $0.live.bundle == bundle.live.bundle
            && $0.isCandidate == bundle.isCandidate
        }
      },
      prefetch: prefetch.filter { config in !others.prefetch.contains { $0.channel == config.channel } })
  }

  /// A URL in two bundles of a channel, which a channel with a root can't have; at most 20.
  package var sharedURLs: [String] {
    var shared: [String] = []
    let byChannel = Dictionary(grouping: bundles.filter { !$0.isCandidate }, by: \.channel)
    for (channel, bundles) in byChannel.sorted(by: { $0.key < $1.key }) {
      var owners: [ResourceURL: BundleName] = [:]
      for bundle in bundles {
        for item in bundle.live.items {
          if let other = owners.updateValue(bundle.live.bundle, forKey: item.url), shared.count < 20 {
            shared.append("\(item.url) in \(channel): \(other) and \(bundle.live.bundle)")
          }
        }
      }
    }
    return shared
  }
}
