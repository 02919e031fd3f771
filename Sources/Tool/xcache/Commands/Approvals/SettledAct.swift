import Manifests
import OriginAPI
import OriginClient
import Publishing
import System
import Values

/// What becomes of an act that waits for nobody any more: it is made at once, or at its time.
struct SettledAct {
  /// What it is called: `release` or `act`.
  let noun: String
  let channel: ChannelAddress
  let api: OriginClient
  let terminal: Terminal

  /// How long the act is waited for, in nanoseconds.
  private static let patience: UInt64 = 120_000_000_000

  /// Waits until the act is made, unless that is later, and says so.
  ///
  /// - Parameter isLater: whether it is made at a time of its own.
  /// - Returns: the act, and words about it.
  /// - Throws: `Failure` if it ended in another way, with `done` before its words.
  func finish(_ act: OriginAnswer<ScheduledInfo>, isLater: Bool, done: String) throws -> (
    OriginAnswer<ScheduledInfo>, String
  ) {
    let id = act.value.id
    if act.value.isUnapproved {
      return (act, "\(noun) \(id) waits for \(act.value.missingApprovals): `xcache approve \(id)`")
    }
    if isLater, act.value.state == "waiting" {
      return (act, "\(noun) \(id) \(complete), and is made at \(act.value.due.formatted)")
    }
    let ended = try wait(for: act)
    switch ended.value.state {
    case "done":
      return (
        ended,
        ended.value.version.map { "\(noun) \(id) is done: \(terminal.colour("version \($0)", .bold))" }
          ?? "\(noun) \(id) is done\(ended.value.makesVersion ? "; it changed nothing" : "")"
      )
    case "waiting":
      let why = ended.value.reason.map { ", but couldn't be carried out yet: \($0.onOneLine)" } ?? ""
      return (
        ended,
        "\(noun) \(id) \(complete)\(why); `xcache schedule show \(id)\(noun == "release" ? "" : place)` says what becomes of it"
      )
    default:
      let reason = ended.value.reason.map { ": \($0.onOneLine)" } ?? ""
      throw Failure(
        "\(done)\(noun) \(id) \(Self.end(ended.value))\(reason)", code: .refused,
        name: ended.value.code ?? "schedule-over")
    }
  }

  /// What it waits for no more.
  private var complete: String {
    noun == "release" ? "waits for no further signature" : "has all that it waited for"
  }

  /// How an act ended that wasn't done: `failed at 2026-11-22 12:00:00 UTC`, `was rejected at …`.
  static func end(_ act: ScheduledInfo) -> String {
    let verb = act.state == "failed" ? "failed" : "was \(act.stateWord)"
    return verb + (act.endedAt.map { " at \($0.formatted)" } ?? "")
  }

  /// The options that name the channel to a command.
  private var place: String { " --app \(channel.app)\(channel.channel.option)" }

  private func wait(for act: OriginAnswer<ScheduledInfo>) throws -> OriginAnswer<ScheduledInfo> {
    var act = act
    let end = Clock.monotonicNanoseconds() + Self.patience
    var pause: UInt32 = 100
    while act.value.state == "waiting", !act.value.isUnapproved, Clock.monotonicNanoseconds() < end {
      terminal.progress("\(noun) \(act.value.id) is being made")
      Clock.sleep(for: .milliseconds(pause))
      pause = min(pause * 3 / 2, 2000)
      act = try api.schedule(act.value.id, of: channel)
    }
    terminal.endProgress()
    return act
  }
}

extension ScheduledInfo {
  /// Whether it makes a version of the manifest unless it changes nothing. Policies and prefetch configs have numbers of their own.
  fileprivate var makesVersion: Bool { !act.hasPrefix("policy.") && !act.hasPrefix("prefetch.") }
}
