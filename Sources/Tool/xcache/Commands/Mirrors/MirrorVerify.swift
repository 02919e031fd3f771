import Mirror
import Publishing
import System
import Values

/// `xcache mirror verify DIR|URL`: reads a static copy back and checks it.
enum MirrorVerify {
  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let place = try arguments.operands("verify", "DIR or URL, the copy,")[1]
    let maxAge = try arguments.number("max-age", in: 1...100_000_000)
    let progress = ProgressLine(terminal)
    let verification = Verification(
      try reader(place, arguments), maxAge: maxAge.map(Int64.init),
      against: try origin(arguments), try MirrorCommand.selection(arguments),
      roots: try MirrorHead.roots(arguments)
    ) { done in
      progress.show("reading", done.bytes, of: done.bytesTotal, files: done.files, of: done.filesTotal)
    }
    defer { terminal.endProgress() }
    let report = try verification.run()
    terminal.endProgress()
    let fails = arguments.has("strict") ? !report.divergences.isEmpty : report.hasErrors
    let failure =
      fails
      ? Failure(
        "the copy at \(place) has \(Count.text(report.divergences.count, "divergence"))", name: "divergent")
      : nil
    if arguments.has("json") {
      terminal.say(json: report.json, failure)
    } else {
      for line in DivergenceOutput.lines(report.divergences, all: arguments.has("all")) { terminal.say(line) }
      let (channels, end) = report.lines(place, terminal)
      terminal.say(list: channels, all: arguments.has("all"))
      for line in end { terminal.say(line) }
    }
    return failure?.code ?? .done
  }

  /// Returns the origin to compare with; nil if none is configured, or there is no token for one from the environment.
  private static func origin(_ arguments: Arguments) throws -> (any MirrorSource)? {
    if arguments.all("server").isEmpty, try arguments.value("data") == nil,
      try RemoteOrigin(arguments, namesApp: false, namesChannel: false).settings.token == nil
    {
      return nil
    }
    return try MirrorCommand.knownSource(arguments, attempts: 3)
  }

  static func reader(_ place: String, _ arguments: Arguments) throws -> any MirrorReader {
    if place.hasPrefix("s3://") { return S3Reader(try MirrorCommand.s3(place, arguments)) }
    guard place.contains("://") else { return FolderReader(place) }
    let certificates = try RemoteOrigin.certificates(arguments)
    return WebReader(
      try SettingsValue.url(place, in: "the copy's address"),
      http: arguments.http(authorities: certificates))
  }
}

extension Verification.Report {
  /// Returns a line for each channel, and what applies to the copy as a whole.
  fileprivate func lines(_ place: String, _ terminal: Terminal) -> (channels: [String], end: [String]) {
    var words: [String] = []
    switch (compared, leftOut) {
    case (let readable?, _):
      if let limits = readable.message {
        words.append("the token may read only \(limits): other channels were not checked")
      }
    case (nil, let leftOut?):
      if !leftOut.isEmpty { words.append("not in the copy, as its mirror.json says: \(leftOut.list)") }
      words.append(
        "no origin was given (--server or --data): channels created since the last run were not checked"
      )
    case (nil, nil):
      words.append("no origin was given (--server or --data): missing channels were not checked")
    }
    if let audit { words.append("audit receipt \(audit.text)") }
    let errors = divergences.count { $0.severity == .error }
    let warnings = divergences.count - errors
    let advice = Set(divergences.lazy.filter { $0.severity == .error }.map { $0.advice(at: place) }).sorted()
    let verdict =
      hasErrors
      ? ([terminal.colour(Count.text(errors, "divergence"), .red)] + advice).joined(separator: "; ")
      : terminal.colour("no problems found", .green)
    words.append(
      "\(Count.text(files, "file")), \(Bytes.text(bytes)): \(verdict)\(warnings > 0 ? ", " + Count.text(warnings, "warning") : "")"
    )
    return (channels.map { "\($0.app) \($0.channel): version \($0.version)" }, words)
  }

  fileprivate var json: JSONValue {
    [
      "at": .string(Timestamp.text(at)), "audit": audit.map { .string($0.text) } ?? .null,
      "bytes": .integer(bytes),
      "channels": .array(
        channels.map {
          [
            "app": .string($0.app.text), "channel": .string($0.channel.text),
            "version": .string($0.version.text),
          ]
        }),
      "compared": .bool(compared != nil), "divergences": .array(divergences.map(\.json)),
      "files": .integer(files), "leftOut": leftOut.map { .array($0.map(\.json)) } ?? .null,
      "right": .bool(!hasErrors),
    ]
  }
}
