import HTTP
import Manifests
import OriginAPI
import Store
import System

/// What a console shows of all channels: `GET /overview`, `GET /disk`, `GET /token`; and of one channel over time: `GET
/// …/adoption/series`.
struct FleetHandler: APIHandler {
  let context: RequestContext

  /// `GET /overview`
  func overview() throws -> Response { try context.api.fleet.overview(for: caller) }

  /// `GET /token`: what the caller's token may do.
  func token() throws -> Response { .json(TokenInfo(caller)) }

  /// `GET /disk`
  func disk() throws -> Response {
    let hours = try request.number("hours", in: 1...Self.hours) ?? 7 * 24
    return .json(
      DiskAnswer(
        now: try store.diskUse(), hours: try store.diskUses(hours: hours)))
  }

  /// 90 days.
  private static let hours = 90 * 24

  /// `GET …/adoption/series`
  func series() throws -> Response {
    let channel = try context.channel()
    let name = request.text("step") ?? SeriesStep.hour.rawValue
    if name == "minute" { return .json(try minutes(of: channel)) }
    guard let step = SeriesStep(rawValue: name) else {
      throw Problem.badRequest("step=\(name): expected minute, hour, day or week")
    }
    let steps = Self.hours / Int(step.hours)
    let points = try request.number("points", in: 1...min(steps, Self.maxPoints)) ?? min(steps, 48)
    context.api.adoption.flush()
    let polls = try store.pollSeries(of: channel, step, points: points)
    var chart = SeriesChart(points: points)
    for count in polls.counts { chart.add(count.kind, count.count, at: count.point) }
    var reasons: [String: [Int64]] = [:]
    for count in try store.failureSeries(of: channel, step, points: points).counts {
      reasons[count.kind, default: [Int64](repeating: 0, count: points)][count.point] += Int64(count.count)
    }
    return .json(
      AdoptionSeries(
        step: name, from: Moment(milliseconds: polls.start), seconds: Int(step.hours) * 3600, points: points,
        versions: chart.versions,
        failures: reasons.sorted { $0.key < $1.key }.map { .init(reason: $0.key, failures: $0.value) }))
  }

  private static let maxPoints = 14 * 24

  /// Returns the last hour by the minute, as far as this process was running.
  private func minutes(of channel: ChannelInfo) throws -> AdoptionSeries {
    let points = try request.number("points", in: 1...60) ?? 60
    context.api.adoption.flush()
    let window = context.api.adoption.minutes(of: channel.id)
    let now = store.now / 60_000
    var chart = SeriesChart(points: points)
    for (age, counts) in window {
      for (version, polls) in counts { chart.add(version, polls, at: points - 1 - age) }
    }
    return AdoptionSeries(
      step: "minute", from: Moment(milliseconds: (now - Int64(points - 1)) * 60_000), seconds: 60,
      points: points,
      versions: chart.versions, failures: [])
  }
}
