import Manifests
import OriginAPI
import OriginClient
import Publishing

/// `xcache mirror list` and `xcache mirror forget NAME`: the copies that an origin knows of.
enum MirrorRegistrations {
  static func list(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("list")
    let answer = try api(arguments).mirrors()
    if arguments.has("json") {
      terminal.say(json: answer.document)
      return .done
    }
    var table = Table(["NAME", "LAST RUN", "KEEPS", "VERSIONS"])
    for mirror in answer.value.mirrors {
      table.add([
        mirror.name, mirror.at.formatted, mirror.keeps ?? true ? "yes" : "no", message(mirror.versions),
      ])
    }
    if table.isEmpty { return say(nothing: terminal) }
    terminal.say(list: table.lines, head: 1, all: arguments.has("all"))
    return .done
  }

  private static func say(nothing terminal: Terminal) -> ExitCode {
    terminal.say("no copy is registered; a run of `xcache mirror` registers its own")
    return .done
  }

  static func forget(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let name = try arguments.operands("forget", "NAME")[1]
    let answer = try api(arguments).forgetMirror(name)
    if arguments.has("json") {
      terminal.say(json: answer.document)
    } else {
      terminal.say("forgot \(name): gc may remove what only that copy uses, until its next run")
    }
    return .done
  }

  private static func api(_ arguments: Arguments) throws -> OriginClient {
    guard arguments.all("data").isEmpty else {
      throw UsageError("this needs a running origin (--server URL), not a data folder")
    }
    return try RemoteOrigin(arguments, namesApp: false, namesChannel: false).api
  }

  /// Formats versions as `shop online 3-7, 9; mall online 2`.
  private static func message(_ versions: [ChannelVersion]) -> String {
    var channels: [(name: String, versions: [ManifestVersion])] = []
    for item in versions {
      let name = "\(item.app) \(item.channel)"
      if channels.last?.name != name { channels.append((name, [])) }
      channels[channels.count - 1].versions.append(item.version)
    }
    return channels.map { "\($0.name) \($0.versions.ranges)" }.joined(separator: "; ")
  }
}
