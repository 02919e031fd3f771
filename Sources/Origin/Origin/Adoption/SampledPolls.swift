import Manifests
import Store

/// The polls of a fleet that asks a shared cache, worked out from the batches of counts that its devices report.
///
/// Of 10,000 batches, devices send those that the channel asks for, drawn by lot. So each that comes stands for the polls of all of
/// them. Its size is bounded, however many versions and polls are reported.
package struct SampledPolls {
  /// The most polls of one batch that count. A device makes a batch every two minutes at most, and polls every 30 seconds at most, so that
  /// a batch has four or five; it has more only if it couldn't report for a while. Whoever reports a million of them at once counts for no
  /// more than two devices do.
  package static let maxPerBatch = 8
  /// How many channels and versions are told apart; the polls of others count as `PollCount.other`.
  static let limit = 4096

  private struct Key: Hashable {
    let channel: Int64
    var version: Int64
  }

  private struct Sums {
    var polls = 0
    var sample = PollSample.none
  }

  private struct Channel {
    var share: ReportShare
    var perBatch = PollsPerBatch()
    /// What whole numbers left over.
    var rest = 0.0
  }

  private var counts: [Key: Sums] = [:]
  private var channels: [Int64: Channel] = [:]

  /// Creates one without polls.
  package init() {}

  /// Adds the polls that a batch stands for.
  /// - Parameters:
  ///   - batch: what a device sent.
  ///   - channel: the channel's id.
  ///   - extras: what the channel's answers say now, of which the share of batches and the interval are used.
  ///   - now: in monotonic nanoseconds.
  package mutating func add(_ batch: DeviceBatch, of channel: Int64, _ extras: AnswerExtras, now: UInt64) {
    let asked = extras.reports ?? AnswerExtras.allReports
    var state = channels[channel] ?? Channel(share: ReportShare(asked))
    defer { channels[channel] = state }
    let share = state.share.update(asked, interval: extras.interval, now: now)
    guard let polls = state.perBatch.polls(of: batch), share > 0 else { return }
    let exact = polls * Double(AnswerExtras.allReports) / Double(share) + state.rest
    let whole = Int(exact)
    state.rest = exact - Double(whole)
    var key = Key(channel: channel, version: batch.version.number)
    if counts[key] == nil, counts.count >= Self.limit { key.version = PollCount.other }
    counts[key, default: Sums()].polls += whole
    counts[key, default: Sums()].sample.add(batchOf: whole)
  }

  /// Returns what was added since the last call.
  package mutating func take() -> [PollCount] {
    defer { counts = [:] }
    return counts.map { key, sums in
      PollCount(channel: key.channel, version: key.version, polls: sums.polls, sample: sums.sample)
    }
  }
}

/// The share of their batches, of 10,000, that the devices of a channel send.
///
/// After it was changed, some still go by the old one. Until they all can know, the larger one counts, which makes too few polls of a
/// batch rather than too many: all versions alike.
struct ReportShare {
  private var share: Int
  private var larger: (share: Int, until: UInt64)?

  /// How long an answer may be on its way through caches, and a batch wait on a device, in seconds.
  static let delay: UInt64 = 300

  init(_ share: Int) { self.share = share }

  /// Takes note of the share that answers ask for now, and returns the one by which batches count.
  /// - Parameters:
  ///   - asked: of 10,000 batches.
  ///   - interval: the seconds that devices wait between polls; nil for the least.
  ///   - now: in monotonic nanoseconds.
  mutating func update(_ asked: Int, interval: Int?, now: UInt64) -> Int {
    if let known = larger, now >= known.until { larger = nil }
    if asked != share {
      let seconds = UInt64(interval ?? AnswerExtras.intervals.lowerBound) + Self.delay
      larger = (max(share, larger?.share ?? 0), now.addingClamped(seconds * 1_000_000_000))
      share = asked
    }
    return max(share, larger?.share ?? 0)
  }
}

/// How many polls a batch stands for: those that it counts, or those that a device would count which doesn't.
///
/// A device that doesn't count polls (up to 0.2.0) makes a batch only if something else happened. So does it stand for the polls that
/// others count per batch that has something else, too: theirs that have nothing but polls are missing from it.
struct PollsPerBatch {
  private var polls: Double
  private var batches: Double
  private var all: Double

  /// The polls per batch before any was counted: one every 30 seconds, a batch every two minutes.
  static let standard = 4.0
  /// How many batches that weighs as much as.
  private static let weight = 16.0
  /// After how many batches the earlier ones count by half.
  private static let memory = 4096.0

  init() { (polls, batches, all) = (Self.standard * Self.weight, Self.weight, Self.weight) }

  /// The polls of a device that doesn't count them, per batch.
  var mean: Double { min(max(1, polls / batches), Double(SampledPolls.maxPerBatch)) }

  /// Returns the polls of a batch, and learns from it; nil if it has none.
  mutating func polls(of batch: DeviceBatch) -> Double? {
    // A batch without anything isn't a device's, but would stand for as many polls as one.
    guard batch.countsPolls else { return batch.counts.isEmpty ? nil : mean }
    let counted = min(batch.counts[.polls], Int64(SampledPolls.maxPerBatch))
    let hasOthers = batch.counts.all.contains { $0.count != .polls }
    polls += Double(counted)
    batches += hasOthers ? 1 : 0
    all += 1
    if all >= Self.memory { (polls, batches, all) = (polls / 2, batches / 2, all / 2) }
    return counted > 0 ? Double(counted) : nil
  }
}
