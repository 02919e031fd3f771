import Manifests

/// Error samples of one kind that devices reported, before they are stored.
package struct ReportedSample: Hashable, Sendable {
  /// The channel's id.
  package let channel: Int64
  /// The version whose page failed.
  package let version: ManifestVersion
  /// The first sample of this kind.
  package let sample: ErrorSample
  /// The engines that it was seen in, without those that aren't known.
  package var engines: [String]
  /// How many there were.
  package var count: Int

  /// Creates the first sample of a kind.
  package init(channel: Int64, version: ManifestVersion, sample: ErrorSample) {
    (self.channel, self.version, self.sample) = (channel, version, sample)
    engines = sample.engine.isEmpty ? [] : [sample.engine]
    count = 1
  }

  /// Counts another one of the same kind, with the engine that it was seen in.
  package mutating func add(engine: String, count more: Int = 1) {
    count = count.addingClamped(more)
    guard !engine.isEmpty, engines.count < Store.enginesOfSample, !engines.contains(engine) else { return }
    engines.append(engine)
  }
}

/// Error samples of one kind, as stored.
package struct KeptSample: Hashable, Sendable {
  /// The version whose page failed.
  package let version: ManifestVersion
  /// The kind of failure, message, page and stack of all of them, as the first one had it.
  package let sample: ErrorSample
  /// The engines that it was seen in, `Store.enginesOfSample` at most.
  package let engines: [String]
  /// How many there were.
  package let count: Int
  /// When the first and the last one came, in milliseconds since 1970.
  package let firstAt, lastAt: Int64
}

/// A channel's error samples.
package struct KeptSamples: Hashable, Sendable {
  /// The most frequent ones first.
  package let samples: [KeptSample]
  /// How many more there were that aren't kept, since others had been before.
  package let others: Int
}
