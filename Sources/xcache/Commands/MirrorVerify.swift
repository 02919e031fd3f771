import Manifests
import Mirror
import Publishing

/// `xcache mirror verify DIR|URL`: reads a static copy back.
enum MirrorVerify {
  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let place = try arguments.operands("verify", "DIR or URL, the copy,")[1]
    let maxAge = try arguments.number("max-age", in: 1...100_000_000)
    let verification = Verification(try reader(place, arguments), maxAge: maxAge.map(Int64.init)) { done in
      terminal.progress(
        Bar.line("reading", done.bytes, of: done.bytesTotal, "\(done.files) of \(done.filesTotal) files"))
    }
    defer { terminal.endProgress() }
    let report = try verification.run()
    terminal.endProgress()
    if arguments.has("json") {
      terminal.say(String(decoding: report.json.canonical, as: UTF8.self))
    } else {
      for divergence in report.divergences { terminal.say("\(divergence)") }
      for line in report.lines(terminal) { terminal.say(line) }
    }
    let fails = arguments.has("strict") ? !report.divergences.isEmpty : report.hasErrors
    return fails ? .failed : .done
  }

  static func reader(_ place: String, _ arguments: Arguments) throws -> any MirrorReader {
    if place.hasPrefix("s3://") { return S3Reader(try MirrorCommand.s3(place, arguments)) }
    guard place.contains("://") else { return FolderReader(place) }
    return WebReader(try SettingsValue.url(place, in: "the copy's address"))
  }
}

extension Verification.Report {
  fileprivate func lines(_ terminal: Terminal) -> [String] {
    var words = channels.map { "\($0.app) \($0.channel): version \($0.version)" }
    if let audit { words.append("audit receipt \(audit.text)") }
    let errors = divergences.count { $0.severity == .error }
    let warnings = divergences.count - errors
    let verdict =
      hasErrors
      ? terminal.colour("\(errors) divergences", .red) + "; xcache mirror --repair writes those files anew"
      : terminal.colour("right", .green)
    return words + [
      "\(files) files, \(Bytes.text(bytes)): \(verdict)\(warnings > 0 ? ", \(warnings) warnings" : "")"
    ]
  }

  fileprivate var json: JSONValue {
    [
      "at": .integer(at), "audit": audit.map { .string($0.text) } ?? .null, "bytes": .integer(bytes),
      "channels": .array(
        channels.map {
          [
            "app": .string($0.app.text), "channel": .string($0.channel.text),
            "version": .string($0.version.text),
          ]
        }),
      "divergences": .array(divergences.map(\.json)), "files": .integer(files), "right": .bool(!hasErrors),
    ]
  }
}
