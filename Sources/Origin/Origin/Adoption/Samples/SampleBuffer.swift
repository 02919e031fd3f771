import Manifests
import Store

/// The error samples that were reported since they were last written.
///
/// Its size is bounded, whatever is reported: what is beyond the limits is only counted.
struct SampleBuffer {
  private struct Key: Hashable {
    let channel: Int64
    let version: ManifestVersion
    let page: String
    let kind: ErrorSample.Kind
    let message: String
    let frame: String?
  }

  private struct Release: Hashable {
    let channel: Int64
    let version: ManifestVersion
  }

  /// The most samples that are told apart, each of at most 5 KB; and of one channel, so that the others have room.
  static let (limit, ofChannel) = (512, 128)
  /// The most versions whose further samples are counted.
  private static let maxReleases = 512

  private var samples: [Key: ReportedSample] = [:]
  private var perChannel: [Int64: Int] = [:]
  private var others: [Release: Int] = [:]

  /// Adds a sample of a channel.
  mutating func add(_ sample: ErrorSample, _ version: ManifestVersion, of channel: Int64) {
    let key = Key(
      channel: channel, version: version, page: sample.page, kind: sample.kind, message: sample.message,
      frame: sample.stack.first)
    if samples[key] != nil {
      samples[key]?.add(engine: sample.engine)
      return
    }
    guard samples.count < Self.limit, perChannel[channel] ?? 0 < Self.ofChannel else {
      let release = Release(channel: channel, version: version)
      if others[release] != nil || others.count < Self.maxReleases { others[release, default: 0] += 1 }
      return
    }
    samples[key] = ReportedSample(channel: channel, version: version, sample: sample)
    perChannel[channel, default: 0] += 1
  }

  /// What was added.
  var reported: [ReportedSample] { Array(samples.values) }

  /// What was only counted.
  var counted: [(channel: Int64, version: ManifestVersion, count: Int)] {
    others.map { ($0.key.channel, $0.key.version, $0.value) }
  }
}
