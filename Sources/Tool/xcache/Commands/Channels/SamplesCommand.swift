import OriginAPI
import System
import Values

/// `xcache samples`: what happened when pages failed, as devices reported it.
enum SamplesCommand {
  static let command = Command(
    name: "samples", operands: "", summary: "show errors of pages that failed on devices, with their stacks",
    examples: [
      .init("--app shop", "of the newest version, and of the candidate"),
      .init("--version 553 --page https://m.example.com/ares/ --app shop", "of one version's page"),
    ],
    notes: """
      A device whose page failed sends an example: the error's message, the top frames of its stack, the page, the web engine and
      the version. Values of queries, e-mail addresses, ids and long numbers are taken out before it is sent. The origin keeps 20
      different ones of a version's page, and forgets them after 30 days. Where a release was published with --source-maps, frames
      are shown in the source text. 'xcache channel set --samples off' ends it, and forgets what is kept.
      """,
    options: Command.remote + Command.channel + [
      .value("version", "V", "of this version, by its number or a time (default: the newest)"),
      .value("page", "URL", "only of this page, as the list names it"),
      .value("limit", "N", "show N kinds of errors, 1 to 500 (default: 20)"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    let remote = try RemoteOrigin(arguments)
    let version = try arguments.value("version").map { (text) throws(UsageError) in
      try VersionArgument.read(text, in: "--version")
    }
    let limit = try arguments.number("limit", in: 1...500) ?? 20
    let page = try arguments.value("page")
    let answer = try remote.api.samples(of: try remote.address, version: version, page: page, limit: limit)
    if arguments.has("json") {
      terminal.say(json: answer.document)
    } else {
      for line in lines(answer.value, page: page, limit: limit, terminal) { terminal.say(line) }
      if answer.value.isOn, answer.value.samples.isEmpty, version == nil {
        terminal.remark("--version N shows those of an older version, such as the one before a rollback")
      }
    }
    return .done
  }

  /// Describes a list: each kind of error with its place, then its stack.
  /// - Parameter page: what was asked for; nil: all pages.
  static func lines(_ list: SampleList, page: String? = nil, limit: Int, _ terminal: Terminal) -> [String] {
    guard list.isOn else {
      return [
        "devices of this channel send no error samples: 'xcache channel set --samples on' asks for them"
      ]
    }
    if list.samples.isEmpty {
      return [
        "version \(list.version): no errors were reported\(page.map { " of the page \($0.onOneLine)" } ?? "")"
      ]
    }
    var lines: [String] = []
    for sample in list.samples { lines += Self.lines(sample, terminal) + [""] }
    if list.others > 0 {
      lines.append("and \(Count.grouped(list.others)) more, of which no examples are kept")
    } else if list.samples.count == limit {
      lines.append("there may be more: --limit \(min(500, limit * 5))")
    } else {
      lines.removeLast()
    }
    return lines
  }

  private static func lines(_ sample: SampleList.Sample, _ terminal: Terminal) -> [String] {
    let message = sample.message.isEmpty ? words(sample.kind) : sample.message
    // Without a message, the first line says it.
    let kind = sample.message.isEmpty ? "" : ", \(words(sample.kind))"
    let engines = sample.engines.isEmpty ? "" : "; \(sample.engines.joined(separator: ", "))"
    let times = sample.count == 1 ? "once" : "\(Count.grouped(sample.count)) times"
    let head = [
      "\(times)  \(terminal.colour(message.onOneLine, .red))",
      "  \(sample.page.onOneLine)",
      "  version \(sample.version)\(kind)\(engines.onOneLine); last \(sample.lastAt.formatted)",
    ]
    return head + sample.stack.map { "    at \(line($0).onOneLine)" }
  }

  private static func words(_ kind: String) -> String {
    switch kind {
    case "script": "an error of a script"
    case "rejection": "a promise that was rejected"
    case "page": "the page didn't come up in time"
    case "process": "the page's process ended"
    default: kind
    }
  }

  /// Describes a frame: by the source text, if it is known, and with the script in any case.
  private static func line(_ frame: SampleList.Frame) -> String {
    let position = frame.line > 0 ? ":\(frame.line):\(frame.column)" : ""
    let script = frame.url.isEmpty ? "" : frame.url + position
    guard let source = frame.source else {
      let parts = [frame.function, script].filter { !$0.isEmpty }
      return parts.isEmpty ? frame.text : parts.joined(separator: " ")
    }
    let function = source.function ?? frame.function
    return
      "\(function.isEmpty ? "" : function + " ")\(source.file):\(source.line):\(source.column) (\(script))"
  }
}
