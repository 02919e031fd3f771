import Manifests
import OriginAPI
import Publishing
import Values

// `xcache status` without an app: every channel, those with problems first, as in the console.
extension StatusCommand {
  static func fleet(_ remote: RemoteOrigin, _ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let answer = try remote.api.fleet()
    guard !arguments.has("json") else {
      terminal.say(json: answer.document)
      return .done
    }
    let fleet = answer.value
    for line in fleet.problems.map({ Self.line($0, terminal) }) { terminal.say(line) }
    guard !fleet.channels.isEmpty else {
      terminal.say("no channels yet")
      return .done
    }
    if !fleet.problems.isEmpty { terminal.say("") }
    let api = try remote.api
    let table = table(fleet) { ScheduleCommand.waiting($0, api) }
    terminal.say(list: table.lines, head: 1, all: arguments.has("all"))
    return .done
  }

  /// - Parameter acts: returns the acts that wait in a channel where some do.
  static func table(
    _ fleet: FleetOverview, acts waitingActs: (ChannelAddress) -> [ScheduledInfo] = { _ in [] }
  )
    -> Table
  {
    var table = Table(["APP", "CHANNEL", "VERSION", "RELEASED", "BY", "STATE"], rightAligned: [2])
    // The problems are sorted by their seriousness.
    let ranked = fleet.channels.enumerated().map { index, channel in
      (
        rank: fleet.problems.firstIndex { $0.isAbout(channel.app, channel.channel) } ?? fleet.problems.count,
        index: index, channel: channel
      )
    }
    for (_, _, channel) in ranked.sorted(by: { ($0.rank, $0.index) < ($1.rank, $1.index) }) {
      var state = fleet.problems.filter { $0.isAbout(channel.app, channel.channel) }.map(\.code)
      let acts = Int(channel.planned?.acts ?? 0)
      // What waits for a person isn't fine.
      let held = acts > 0 ? waitingActs(ChannelAddress(channel.app, channel.channel)) : []
      let unsigned = min(acts, held.count(where: \.isUnsigned))
      let unapproved = min(acts - unsigned, held.count { $0.isUnapproved && !$0.isUnsigned })
      let waiting = unsigned + unapproved
      if unsigned > 0 {
        state.append("\(Count.text(unsigned, "release")) \(unsigned == 1 ? "waits" : "wait") for signatures")
      }
      if unapproved > 0 {
        state.append("\(Count.text(unapproved, "act")) \(unapproved == 1 ? "waits" : "wait") for approvals")
      }
      if state.isEmpty { state = ["ok"] }
      if let planned = channel.planned {
        if acts > waiting { state.append("\(acts - waiting) scheduled") }
        if planned.freezes > 0 { state.append(Count.text(Int(planned.freezes), "planned freeze")) }
        if planned.failed > 0 { state.append("\(planned.failed) scheduled not carried out") }
      }
      table.add([
        channel.app.text, channel.channel.text, channel.version.text, channel.at.formatted,
        channel.author ?? "", state.joined(separator: ", "),
      ])
    }
    return table
  }

  /// The lines above a channel's state: what is wrong with it that the state doesn't say itself, and where else devices or
  /// releases are affected.
  static func problems(_ fleet: FleetOverview, of channel: ChannelAddress, _ terminal: Terminal) -> [String] {
    let shown = ["frozen", "damaged", "killed"]
    return fleet.problems.filter { problem in
      problem.isAbout(channel.app, channel.channel)
        ? !shown.contains(problem.code) : problem.severity == "error"
    }.map { line($0, terminal) }
  }

  /// Since when it is there, and who knows of it; empty from an older origin.
  private static func standing(of problem: FleetOverview.Problem) -> String {
    let since = problem.since.map { " (since \($0.formatted))" } ?? ""
    guard let known = problem.acknowledged else { return since }
    return since
      + "; acknowledged by \(known.by.onOneLine) until \(known.until.formatted): \(known.reason.onOneLine)"
  }

  static func line(_ problem: FleetOverview.Problem, _ terminal: Terminal) -> String {
    let place = problem.app.map { " \($0) \(problem.channel?.text ?? "")" } ?? ""
    let colour: Terminal.Colour = problem.severity == "error" ? .red : .yellow
    return
      "\(terminal.colour(problem.code.uppercased(), colour))\(place): \(problem.detail.onOneLine)\(standing(of: problem))"
  }
}

extension FleetOverview.Problem {
  fileprivate func isAbout(_ app: AppName, _ channel: ChannelName) -> Bool {
    self.app == app && self.channel == channel
  }
}
