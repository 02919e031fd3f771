import Manifests
import OriginAPI
import Publishing
import Values

/// `xcache channel protect`: how many others have to approve what is done to a channel.
enum ChannelProtect {
  static let options: [Option] = [
    .value("approvals", "N", "how many others have to approve each change, 1 to 9 (protect)").only("protect"),
    .value(
      "by", "GLOB",
      "only by people and tokens with these names, with * and ? as wildcards and commas in between (protect)"
    ).only("protect"),
    .value(
      "above", "SHARE", "steps of a rollout up to this share wait for none, such as 5% (protect; default: 0)"
    ).only("protect"),
    .flag("off", "nothing waits for approvals any more (protect)").only("protect"),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let remote = try ChannelActions.named(arguments)
    let approvals = try arguments.number("approvals", in: 1...9)
    let isOff = arguments.has("off")
    guard isOff != (approvals != nil) else {
      throw remote.missing(
        isOff ? "give either --approvals or --off, not both" : "--approvals N is required, or --off")
    }
    for other in ["by", "above"] where isOff && arguments.isGiven(other) {
      throw UsageError("--\(other) can't be used with --off")
    }
    var request = ProtectRequest(approvals: approvals ?? 0)
    request.by = try arguments.text("by", .line(bytes: 256))
    if request.by?.allSatisfy(\.isWhitespace) == true {
      throw UsageError(
        "--by needs a pattern of names, such as --by '*@example.com'; leave it out for all who have the scope release"
      )
    }
    if let text = try arguments.value("above") {
      request.share = try Percentage.read(text) {
        UsageError("--above \(text): expected a percentage from 0 to 100 with at most two decimals")
      }
    }
    let channel = try remote.address
    let answer = try remote.api.protect(channel, request)
    if arguments.has("json") {
      terminal.say(json: answer.document)
      return .done
    }
    let name = "channel \(channel.channel) of \(channel.app)"
    guard answer.value.approvals > 0 else {
      terminal.say(
        "\(name) isn't protected any more; what waits for approvals still does, as it was asked for")
      return .done
    }
    terminal.say("\(name) is protected: what changes it waits for \(answer.value.words)")
    terminal.remark("rollback, halt, pause and kill never wait; `xcache approve` lists what does")
    return .done
  }
}
