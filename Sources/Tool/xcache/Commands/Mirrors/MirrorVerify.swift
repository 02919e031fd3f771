import Manifests
import Mirror
import Publishing
import System
import Trust
import Values

/// `xcache mirror verify DIR|URL`: reads a static copy back and checks it.
enum MirrorVerify {
  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let place = try arguments.operands("verify", "DIR or URL, the copy,")[1]
    let maxAge = try arguments.number("max-age", in: 1...100_000_000)
    let progress = ProgressLine(terminal)
    let reader = try reader(place, arguments)
    let given = try MirrorHead.roots(arguments)
    let verification = Verification(
      reader, maxAge: maxAge.map(Int64.init),
      against: try origin(arguments), try MirrorCommand.selection(arguments),
      roots: given
    ) { done in
      progress.show("reading", done.bytes, of: done.bytesTotal, files: done.files, of: done.filesTotal)
    }
    defer { terminal.endProgress() }
    let report = try verification.run()
    terminal.endProgress()
    let roots = roots(of: report, given, reader)
    let fails = arguments.has("strict") ? !report.divergences.isEmpty : report.hasErrors
    let failure =
      fails
      ? Failure(
        "the copy at \(place) has \(Count.text(report.divergences.count, "divergence"))", name: "divergent")
      : nil
    if arguments.has("json") {
      var json = report.json.object ?? JSONObject()
      json["roots"] = .array(roots.map(\.json))
      terminal.say(json: .object(json), failure)
    } else {
      // That everything below is refused follows from it.
      for root in roots { if let cause = root.cause { terminal.say("error: \(cause)") } }
      for line in DivergenceOutput.lines(report.divergences, all: arguments.has("all")) { terminal.say(line) }
      let (channels, end) = report.lines(place, terminal)
      terminal.say(list: channels, all: arguments.has("all"))
      for root in roots { terminal.say(root.line) }
      for line in end { terminal.say(line) }
    }
    return failure?.code ?? .done
  }

  /// The root that an app's channels were checked against.
  private struct CheckedRoot {
    let app: AppName
    let number: RootNumber
    /// Whether `--root` named it; otherwise it is the first one that the copy has.
    let isGiven: Bool
    /// Why nothing in the copy can be right for devices with this root; nil if its roots may follow from it.
    let cause: String?

    var line: String {
      isGiven
        ? "\(app): checked against root \(number), of --root"
        : "\(app): checked against root 1 as the copy has it; --root FILE, with a root of the app's builds, also finds out a copy of "
          + "somebody else's roots"
    }

    var json: JSONValue {
      ["app": .string(app.text), "given": .bool(isGiven), "number": .integer(number.number)]
    }
  }

  private static func roots(
    of report: Verification.Report, _ given: [Signed<TrustRoot>], _ reader: any MirrorReader
  ) -> [CheckedRoot] {
    var roots: [CheckedRoot] = []
    for channel in report.channels where !roots.contains(where: { $0.app == channel.app }) {
      let folder = MirroredChannel(channel.app, channel.channel).folder
      guard let root = given.first(where: { $0.document.app == channel.app }) else {
        if held(.first, in: folder, reader) != nil {
          roots.append(CheckedRoot(app: channel.app, number: .first, isGiven: false, cause: nil))
        }
        continue
      }
      let number = root.document.number
      roots.append(
        CheckedRoot(
          app: channel.app, number: number, isGiven: true, cause: cause(root, in: folder, reader)))
    }
    return roots
  }

  private static func cause(
    _ root: Signed<TrustRoot>, in folder: String, _ reader: any MirrorReader
  ) -> String? {
    let number = root.document.number
    guard let held = held(number, in: folder, reader), held.digest != root.digest else { return nil }
    return
      "the copy's root \(number) of app \(root.document.app) is another one than that of --root: the file isn't the root of the app's "
      + "builds, or the copy is another app's of that name. What is said below follows from that"
  }

  /// Returns a root of the copy; what can't be read has been said by the check.
  private static func held(_ number: RootNumber, in folder: String, _ reader: any MirrorReader) -> Signed<
    TrustRoot
  >? {
    (try? reader.read("\(folder)/root/\(number).json")).flatMap { bytes in
      bytes.flatMap { try? Signed(parsing: $0) }
    }
  }

  /// Returns the origin to compare with; nil if none is configured, or there is no token for one from the environment.
  private static func origin(_ arguments: Arguments) throws -> (any MirrorSource)? {
    if arguments.all("server").isEmpty, try arguments.value("data") == nil,
      try !RemoteOrigin(arguments, namesApp: false, namesChannel: false).hasCredential
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
