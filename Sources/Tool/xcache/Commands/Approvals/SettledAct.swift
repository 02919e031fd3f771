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
      let nobody = noun == "release" ? "no further signature" : "nobody"
      return (act, "\(noun) \(id) waits for \(nobody), and is made at \(act.value.due.formatted)")
    }
    let ended = try wait(for: act)
    switch ended.value.state {
    case "done":
      return (
        ended,
        ended.value.version.map { "\(noun) \(id) is done: \(terminal.colour("version \($0)", .bold))" }
          ?? "\(noun) \(id) is done\(noun == "release" ? "; it changed nothing" : "")"
      )
    case "waiting":
      let why = ended.value.reason.map { ", but couldn't be carried out yet: \($0.onOneLine)" } ?? ""
      let nobody = noun == "release" ? "no further signature" : "nobody"
      return (
        ended,
        "\(noun) \(id) waits for \(nobody)\(why); `xcache schedule show \(id)\(noun == "release" ? "" : place)` says what becomes of it"
      )
    default:
      let reason = ended.value.reason.map { ": \($0.onOneLine)" } ?? ""
      throw Failure(
        "\(done)\(noun) \(id) is \(ended.value.state)\(ended.value.endedAt.map { " since \($0.formatted)" } ?? "")\(reason)",
        code: .refused, name: ended.value.code ?? "schedule-over")
    }
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
