import Mirror
import Publishing
import Store
import System
import Values

/// `xcache doctor`: checks a data folder or a backup.
enum DoctorCommand {
  static let command = Command(
    name: "doctor", operands: "", summary: "check a data folder or a backup",
    examples: [
      .init("--data /srv/xcache", "check structure, references and sizes"),
      .init("--data /backup/xcache --deep", "read every byte"),
      .init("--data /srv/xcache --pushed", "also look for what serve --cdn push uploaded"),
    ],
    notes: """
      Checks SQLite's structure, references between rows, the rules of releases, the audit log's hash chain, and that
      every file exists with the right size. --deep also hashes every file and computes the digest of every kept
      version. It changes nothing and can run beside a server. Exit code 1: something is damaged.
      The origin remembers what `serve --cdn push` uploaded and doesn't upload it again. --pushed compares that with
      the place itself, by sizes. If files are gone there, `xcache mirror --to PLACE` puts back those of live and
      recent versions, and `xcache mirror forget PLACE` makes the origin forget, so that releases upload again.
      """,
    options: [
      .value("data", "DIR", environment: "XCACHE_DATA", "the data folder or backup to check (required)"),
      .flag("deep", "read every byte"),
      .flag("pushed", "also look for the files that were uploaded by serve --cdn push"), Command.all,
    ] + MirrorCommand.s3Options,
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    let store = try MaintenanceOutput.sharedStore(arguments)
    let progress = ProgressLine(terminal)
    var checkup = try store.checkup(deep: arguments.has("deep")) { step, done, all in
      progress.show("\(step)", done, of: all, .bytes, step == "files" ? nil : "")
    }
    if arguments.has("pushed") { try lookForPushed(store, &checkup, arguments) }
    terminal.endProgress()
    // Rows of a damaged database may be anything.
    let scheduled = checkup.isClean ? try store.waitingActs() : []
    let damage = checkup.findings.count { $0.kind == .damage }
    let failure =
      checkup.isClean
      ? nil
      : Failure(
        "\(Count.text(damage, "finding")) of damage\(checkup.needsBytes ? "; " + Self.remedy : "")",
        name: "damaged")
    if arguments.has("json") {
      terminal.say(json: checkup.json(scheduled), failure)
    } else {
      terminal.say(list: findings(checkup, terminal), all: arguments.has("all"))
      if let first = scheduled.first {
        let (count, isOne) = (Count.text(scheduled.count, "scheduled act"), scheduled.count == 1)
        terminal.say(
          "\(count) \(isOne ? "waits, due" : "wait, the next due") \(Timestamp.words(first.due)): \(first.what)"
        )
      }
      for line in lines(checkup, terminal) { terminal.say(line) }
    }
    return failure?.code ?? .done
  }

  /// What to do about bytes that are damaged or missing.
  private static let remedy =
    "restore what is damaged from a backup (`xcache restore`), or publish it again with --rehash"

  /// Compares what is recorded as pushed with what is there.
  private static func lookForPushed(_ store: Store, _ checkup: inout Checkup, _ arguments: Arguments) throws {
    guard let recorded = try store.pushPlace() else { return }
    let name = recorded.name
    let place: MirrorPlace =
      name.hasPrefix("s3://") ? .s3(try MirrorCommand.s3(name, arguments)) : .folder(name)
    let found = try CDNPush.look(at: place, store)
    checkup.add(pushed: found.count, lost: found.lost, purged: found.purged, at: name)
  }

  private static func findings(_ checkup: Checkup, _ terminal: Terminal) -> [String] {
    checkup.findings.map { finding in
      switch finding.kind {
      case .damage: "\(terminal.colour("damage", .red)): \(finding.text)"
      case .note: "note: \(finding.text)"
      }
    }
  }

  private static func lines(_ checkup: Checkup, _ terminal: Terminal) -> [String] {
    var lines: [String] = []
    let hashed = checkup.hashed > 0 ? ", \(Bytes.text(checkup.hashed)) hashed" : ""
    let pushed = checkup.pushed > 0 ? ", \(Count.text(checkup.pushed, "pushed file"))" : ""
    lines.append(
      "\(Count.text(checkup.releases, "release")), \(Count.text(checkup.acts, "act")), \(Count.text(checkup.blobs, "file")), \(Count.text(checkup.packs, "pack"))\(hashed)\(pushed)"
    )
    lines.append(
      checkup.isClean
        ? terminal.colour("no problems found", .green)
        : checkup.needsBytes
          ? Self.remedy
          : terminal.colour(Count.text(checkup.findings.count { $0.kind == .damage }, "finding"), .red)
            + " of damage")
    return lines
  }
}

extension Checkup {
  /// Whether something is damaged that the origin can't make again.
  fileprivate var needsBytes: Bool {
    findings.contains { $0.kind == .damage && $0.code != "derived-bytes" && $0.code != "head-key" }
  }

  fileprivate func json(_ scheduled: [ScheduledAct]) -> JSONValue {
    [
      "auditRows": .integer(acts), "clean": .bool(isClean),
      "files": .integer(blobs),
      "findings": .array(
        findings.map {
          ["code": .string($0.code), "kind": .string($0.kind.rawValue), "text": .string($0.text)]
        }),
      "hashedBytes": .integer(hashed), "packs": .integer(packs), "pushed": .integer(pushed),
      "releases": .integer(releases), "scheduled": .integer(scheduled.count),
    ]
  }
}
