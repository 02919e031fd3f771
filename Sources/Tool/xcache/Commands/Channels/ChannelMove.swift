import OriginAPI
import Publishing
import Values

/// `xcache channel set --public-url`: moves a channel's downloads to another URL.
enum ChannelMove {
  static func run(to url: BaseURL, _ remote: RemoteOrigin, _ arguments: Arguments, _ terminal: Terminal)
    throws
    -> ExitCode
  {
    let channel = try remote.address
    var request = RebaseRequest(
      publicURL: url, message: try arguments.text("message"), breakGlass: try arguments.breakGlass(),
      dryRun: true)
    if !arguments.has("dry-run") {
      let plan = try remote.api.rebase(request, of: channel).value
      // Nothing to ask about: a script that sets it again isn't refused.
      if plan.was != plan.publicURL, !arguments.has("yes") {
        guard try isConfirmed(plan, channel, arguments, terminal) else { return .refused }
      }
      request.dryRun = false
    }
    let answer = try remote.api.rebase(request, of: channel)
    if arguments.has("json") {
      terminal.say(json: answer.document)
    } else {
      for line in lines(answer.value, channel, dryRun: request.dryRun == true, terminal) {
        terminal.say(line)
      }
    }
    return .done
  }

  private static func isConfirmed(
    _ plan: RebaseAnswer, _ channel: ChannelAddress, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> Bool {
    let words = "--yes moves it without asking, --dry-run only shows the cost"
    if arguments.has("json") { throw UsageError("with --json nothing can be asked: \(words)") }
    for line in lines(plan, channel, dryRun: true, terminal) { terminal.note(line) }
    guard
      let isConfirmed = try terminal.confirms(
        "move \(channel.channel) of \(channel.app) to \(plan.publicURL)?")
    else {
      throw UsageError("nothing was changed, because there is no terminal to ask on: \(words)")
    }
    if !isConfirmed { terminal.note("nothing was changed") }
    return isConfirmed
  }

  static func lines(_ answer: RebaseAnswer, _ channel: ChannelAddress, dryRun: Bool, _ terminal: Terminal)
    -> [String]
  {
    let release = answer.release
    if answer.was == answer.publicURL {
      return ["nothing changed: downloads are at \(answer.publicURL) already"]
    }
    let warning = answer.publicURL.isLoopback ? [loopbackWarning(answer.publicURL, terminal)] : []
    guard release.isChanged else {
      return warning + [
        "\(dryRun ? "would move" : "moved") from \(answer.was) to \(answer.publicURL); nothing is published yet"
      ]
    }
    let files = Count.text(release.changed, "download")
    var lines = [
      dryRun
        ? "dry run: would become version \(release.version), with \(files) at \(answer.publicURL) instead of \(answer.was)"
        : "\(terminal.colour("version \(release.version)", .bold)): \(files) at \(answer.publicURL) instead of \(answer.was)"
    ]
    if !terminal.isQuiet {
      lines.append(
        "devices on version \(release.previous) take a patch of \(Bytes.text(answer.patchBytes)) "
          + "(\(Bytes.text(answer.patchGzipBytes)) gzipped), and fetch no file again")
      lines.append(
        "\(answer.was) has to go on answering: devices that haven't polled since download from there")
    }
    return warning + lines + release.freezeLines(terminal, of: channel.channel) + release.receiptLines
  }

  private static func loopbackWarning(_ url: BaseURL, _ terminal: Terminal) -> String {
    terminal.colour(
      "warning: only this machine reaches \(url): devices elsewhere couldn't download anything", .yellow)
  }
}
