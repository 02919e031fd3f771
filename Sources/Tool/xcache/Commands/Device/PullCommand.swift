import DeviceLinux
import Publishing
import System
import Values
import XCacheDevice

/// `xcache pull`: a simple device on this machine.
enum PullCommand {
  static let command = Command(
    name: "pull", operands: "", summary: "act as a device: poll, download and verify updates",
    examples: [
      .init("--to phone --app shop", "download what is new"),
      .init(
        "--to then --at 'yesterday 14:05' --tree https://m.example.com/shop/",
        "the files from that time, by path"),
      .init("--to qa --app shop --candidate", "the candidate of a rollout, to look at it"),
    ],
    notes: """
      DIR becomes a device's folder: files/ contains each resource under the name of its download, index.json the
      manifest. The next pull asks for changes and downloads only those. Polls are at least 30 seconds apart unless
      --force is given. --version and --at create a device of that version in a new folder, without a poll. With a
      token that may read the channel, that is any version that the origin keeps; without one, it is the newest and the
      last few that devices have, and a time can't be looked up.
      While a rollout is open, the device decides as others do, by an id that its folder keeps; --candidate takes the
      candidate.
      """,
    options: [
      .value("to", "DIR", "the device's folder (required)")
    ] + Command.remote + Command.channel + [
      .value(
        "fallback", "URL", environment: "XCACHE_FALLBACK",
        "the static copy to use after five failed polls in a row"),
      .value(
        "preset", "FILE.zip",
        "first install this zip file, the origin's bundle/N.zip, bundle/A-B.zip or bundle/A-B.delta.zip"
      ),
      .value("root", "FILE", "the root.json that the app is built with: take only what its keys have signed"),
      .flag("candidate", "take the candidate of an open rollout, whatever its rule says of this device"),
      .value("app-version", "V", "the app's version, for rollouts that name a range"),
      .value("group", "NAME", "a group that the app gave this device, for rollouts; repeatable"),
      .value("version", "V", "become a device with version V instead of the newest"), VersionArgument.option,
      .value("tree", "BASE-URL", "also write the files below this URL to DIR/tree, by path"),
      .flag("complete", "also download listed files that are missing or damaged, and lazy files"),
      .flag(
        "compare-gzip", "also show the size of these files as whole gzip downloads (slow)"),
      .flag("force", "poll even if the poll interval hasn't passed"), Command.all,
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    guard let folder = try arguments.value("to") else {
      throw UsageError("--to DIR is required: the device's folder")
    }
    if try Kernel.status("\(folder)/xcache.db") != nil {
      throw UsageError("--to \(folder) is an origin's data folder; a device needs one of its own")
    }
    let remote = try RemoteOrigin(arguments)
    let device = try device(folder, remote, arguments)
    if device.wasDamaged {
      terminal.remark("\(folder)/index.json was damaged; starting over, reusing the files")
    }
    // Even if it throws: that is what there is to report.
    defer { device.finishReports() }
    defer { terminal.endProgress() }
    return try Pull(
      arguments: arguments, terminal: terminal, remote: remote, device: device, folder: folder,
      drawn: ProgressLine(terminal)
    ).run()
  }

  private static func device(_ folder: String, _ remote: RemoteOrigin, _ arguments: Arguments) throws
    -> Device
  {
    var settings = DeviceSettings(
      folder: folder, server: try remote.server.text, app: try remote.app.text,
      hosts: ["*"], channel: remote.channel.text)
    settings.fallback = try arguments.value("fallback").map {
      try SettingsValue.url($0, in: arguments.source("fallback")).text
    }
    settings.root = try arguments.value("root").map { try Arguments.file($0) }
    settings.comparesWithGzip = arguments.has("compare-gzip")
    settings.appVersion = try arguments.value("app-version")
    settings.groups = Set(arguments.all("group"))
    let device = try Device(settings, transport: remote.transport(connections: settings.connections))
    if arguments.has("candidate") { device.takeCandidates() }
    return device
  }

  /// What one call of the command does with its device.
  private struct Pull {
    let arguments: Arguments
    let terminal: Terminal
    let remote: RemoteOrigin
    let device: Device
    let folder: String
    let drawn: ProgressLine

    func run() throws -> ExitCode {
      let preset = try preset()
      let update = try preset.takesVersion ? nil : update()
      // What an update leaves for later, and what one that was interrupted has left.
      let later = try device.fetchBacklog(progress: progress)
      let completion = arguments.has("complete") ? try device.complete(progress: progress) : nil
      let base = try arguments.value("tree")
      let misplaced = try base.flatMap { try nothingBelow($0, device, folder) }
      let tree = misplaced == nil ? try base.map { try device.writeTree(below: $0) } : nil
      terminal.endProgress()
      if base == nil, let update { try warnOfOldTree(update) }
      let failure = tree.flatMap(clashes) ?? misplaced
      if arguments.has("json") {
        terminal.say(json: json(device, preset.report, update, later, completion, tree), failure)
        return failure?.code ?? .done
      }
      terminal.say(
        list: (update.map { lines($0) } ?? []) + lines(later) + lines(completion, tree),
        all: arguments.has("all"))
      if let misplaced { throw misplaced }
      return failure?.code ?? .done
    }

    private var progress: @Sendable (Progress) -> Void {
      { [drawn] done in
        drawn.show("fetching", done.bytes, of: done.bytesTotal, files: done.files, of: done.filesTotal)
      }
    }

    /// Installs the zip, or makes the device hold the version, that was asked for.
    private func preset() throws -> (report: PresetReport?, takesVersion: Bool) {
      let preset = try arguments.value("preset").map { try device.install(preset: $0, progress: progress) }
      tell(preset)
      guard let word = try VersionArgument.one(arguments, try arguments.value("version")) else {
        return (preset, false)
      }
      if preset != nil { throw UsageError("give either --preset or a version, not both") }
      let taken = try PullVersion(remote: remote, device: device, folder: folder).run(
        word, progress: progress)
      tell(taken)
      return (taken, true)
    }

    private func tell(_ preset: PresetReport?) {
      if let preset, !arguments.has("json") { terminal.say(line(preset)) }
    }

    /// Polls, and fetches what is new.
    private func update() throws -> UpdateReport {
      let update = try DeviceRefusal(remote: remote).naming {
        try device.update(force: arguments.has("force"), progress: progress)
      }
      if arguments.has("candidate"), !device.holdsCandidate {
        terminal.remark("no rollout is open, so this is the version of all devices")
      }
      return update
    }

    private func warnOfOldTree(_ update: UpdateReport) throws {
      guard update.from != update.to, try Kernel.status("\(folder)/tree")?.kind == .folder else { return }
      terminal.remark(
        "\(folder)/tree still has version \(update.from) or older: --tree BASE-URL updates it")
    }

    private func clashes(_ tree: TreeReport) -> Failure? {
      let clashes = tree.clashes.count
      if clashes == 0 { return nil }
      return Failure("\(Count.text(clashes, "path")) of the tree would have several files", name: "clashes")
    }
  }

  /// The refusal of a tree below a base URL that no listed file is below: it would be emptied, and the base is probably misspelt.
  private static func nothingBelow(_ text: String, _ device: Device, _ folder: String) throws -> Failure? {
    let base = try SettingsValue.url(text, in: "--tree").text
    let folders = device.listedFolders
    guard !folders.isEmpty, !folders.contains(base) else { return nil }
    let near =
      Spelling.nearest(to: base, among: folders.sorted()).map { "; did you mean \($0)?" }
      ?? (folders.min { ($0.count, $0) < ($1.count, $1) }.map { "; its files are below \($0)." } ?? ".")
    return Failure(
      "version \(device.version) has no file below \(base)\(near) \(folder)/tree was left as it is; to empty it, delete it",
      code: .refused, name: "nothing-mapped")
  }

  private static func line(_ preset: PresetReport) -> String {
    guard preset.isTaken else {
      return
        "version \(preset.version) of the zip is not newer than \(preset.from), which the device already has"
    }
    return
      "version \(preset.from) → \(preset.version), \(Count.text(preset.files, "file")), \(Bytes.text(preset.bytes)) from the zip"
  }

  /// Describes an update's result.
  /// - Parameter isPull: whether `pull` says it, so that its options can be named.
  static func lines(_ update: UpdateReport, isPull: Bool = true) -> [String] {
    var lines: [String] = []
    if update.source == .fallback { lines.append("the origin failed too often; using the static copy") }
    switch update.kind {
    case .notDue:
      let wait = "\((update.wait + 999) / 1000) s\(isPull ? " (--force polls now)" : "")"
      lines.append(
        update.pack == nil && update.fetched == 0
          ? "not due: the next poll is in \(wait)"
          : "version \(update.to): the download went on: \(Count.text(update.fetched, "file")), "
            + "\(Bytes.text(update.bytesFetched)); no poll, the next is due in \(wait)")
    case .nothing: lines.append("up to date: version \(update.to)")
    case .patch, .pack, .whole:
      let how =
        switch update.kind {
        case .pack: "by a pack"
        case .patch: "by a patch"
        default: "by the whole manifest"
        }
      lines.append(
        "version \(update.from) → \(update.to) \(how): \(Count.text(update.files, "file")), \(Bytes.text(update.bytesTotal)): "
          + "\(update.fetched) fetched, \(update.copied) copied, \(update.kept) kept; "
          + "downloaded \(Bytes.text(update.bytesFetched))"
      )
      if update.deltas > 0 {
        lines.append("\(update.deltas) of them by \(update.deltas == 1 ? "a delta" : "deltas")")
      }
      if let gzip = update.bytesByGzip, update.fetched > 0 {
        lines.append("as whole gzip files:  \(Bytes.text(gzip))")
      }
      if update.deltasFailed > 0 {
        lines.append(
          "\(Count.text(update.deltasFailed, "delta")) \(update.deltasFailed == 1 ? "was" : "were") unusable; whole files were fetched instead"
        )
      }
    }
    if let pack = update.pack {
      lines += Self.lines(pack, of: update.kind)
    }
    lines += documents(update.documents)
    if update.missing > 0 {
      lines.append(
        "\(Count.text(update.missing, "listed file")) \(update.missing == 1 ? "is" : "are") missing\(isPull ? "; --complete fetches them" : "")"
      )
    }
    if update.lazy > 0 {
      lines.append(
        "\(Count.text(update.lazy, "lazy file")) \(update.lazy == 1 ? "isn't" : "aren't") here: devices fetch \(update.lazy == 1 ? "it" : "them") when a page asks\(isPull ? ", and --complete does" : "")"
      )
    }
    return lines
  }

  private static func lines(_ later: Int) -> [String] {
    later == 0 ? [] : ["\(Count.text(later, "file")) fetched that had been left for later"]
  }

  private static func lines(_ pack: PackReport, of kind: UpdateReport.Kind) -> [String] {
    let isFirst = kind != .patch && kind != .pack
    var lines: [String] = []
    // Without a poll, the first line says that the download went on.
    if pack.resumed > 0, kind != .notDue {
      lines.append("the pack's download was resumed \(Count.text(pack.resumed, "time"))")
    }
    if let failure = pack.failure {
      lines.append(
        isFirst
          ? "the pack was unusable, so files were fetched one by one: \(failure)"
          : "the pack was unusable, so the patch was used instead: \(failure)")
    }
    return lines
  }

  private static func lines(_ completion: CompletionReport?, _ tree: TreeReport?) -> [String] {
    var lines: [String] = []
    if let completion {
      lines.append(
        "complete: \(Count.text(completion.right, "file")) right, \(completion.wrong) damaged, \(completion.fetched) fetched, "
          + "\(completion.copied) copied; \(Bytes.text(completion.bytesFetched)) fetched")
    }
    if let tree {
      lines.append("tree: \(tree.written) written, \(tree.unchanged) unchanged, \(tree.removed) removed")
      if tree.missing > 0 {
        lines.append(
          "tree: \(Count.text(tree.missing, "file")) \(tree.missing == 1 ? "is" : "are") missing on this device; --complete fetches them"
        )
      }
      for url in tree.skipped {
        lines.append(
          url.hasSuffix("/")
            ? "tree: no file for \(url): it is a folder's URL"
            : "tree: skipped, not possible as a path: \(url)")
      }
      for clash in tree.clashes {
        lines.append("tree: the same path for all of: \(clash.joined(separator: ", "))")
      }
    }
    return lines
  }

  private static func documents(_ report: DocumentReport) -> [String] {
    var lines: [String] = []
    if let change = report.prefetch { lines.append("prefetch config \(change.from) → \(change.to)") }
    if let change = report.candidatePrefetch {
      lines.append("prefetch config \(change.to), of the candidate")
    }
    if let change = report.policy { lines.append("policy \(change.from) → \(change.to)") }
    for failure in report.failures { lines.append("not fetched; the next poll will retry: \(failure)") }
    return lines
  }

  private static func json(
    _ device: Device, _ preset: PresetReport?, _ update: UpdateReport?, _ later: Int,
    _ completion: CompletionReport?, _ tree: TreeReport?
  ) -> JSONValue {
    var document: JSONObject = JSONObject()
    document["update"] = update.map(json) ?? .null
    if later > 0 { document["later"] = .integer(Int64(later)) }
    document["documentFailures"] = .strings(update?.documents.failures.map { "\($0)" } ?? [])
    document["version"] = .string(device.version)
    if let preset {
      document["preset"] = [
        "bytes": .integer(preset.bytes), "files": .integer(preset.files), "from": .string(preset.from),
        "held": .integer(preset.held), "taken": .bool(preset.isTaken), "version": .string(preset.version),
      ]
    }
    document["prefetch"] = .string(device.prefetch.version)
    document["policy"] = .string(device.runtimePolicy.version)
    document["digest"] = .string(device.digest)
    if let completion {
      document["completion"] = [
        "bytesFetched": .integer(completion.bytesFetched), "copied": .integer(completion.copied),
        "fetched": .integer(completion.fetched), "right": .integer(completion.right),
        "wrong": .integer(completion.wrong),
      ]
    }
    if let tree {
      document["tree"] = [
        "clashes": .array(tree.clashes.map { .strings($0) }), "missing": .integer(tree.missing),
        "removed": .integer(tree.removed), "skipped": .strings(tree.skipped),
        "unchanged": .integer(tree.unchanged),
        "written": .integer(tree.written),
      ]
    }
    return .object(document)
  }

  private static func json(_ pack: PackReport) -> JSONValue {
    [
      "bytes": .integer(pack.bytes), "failure": pack.failure.map { .string($0) } ?? .null,
      "files": .integer(pack.files), "ready": .integer(pack.ready), "resumed": .integer(pack.resumed),
    ]
  }

  private static func json(_ update: UpdateReport) -> JSONValue {
    [
      "bytesFetched": .integer(update.bytesFetched), "bytesTotal": .integer(update.bytesTotal),
      "bytesByGzip": update.bytesByGzip.map { .integer(Int64($0)) } ?? .null,
      "copied": .integer(update.copied), "deltas": .integer(update.deltas),
      "deltasFailed": .integer(update.deltasFailed), "fetched": .integer(update.fetched),
      "files": .integer(update.files), "from": .string(update.from),
      "kept": .integer(update.kept), "kind": .string(update.kind.rawValue), "lazy": .integer(update.lazy),
      "missing": .integer(update.missing), "pack": update.pack.map(json) ?? .null,
      "source": .string(update.source == .fallback ? "fallback" : "origin"),
      "to": .string(update.to), "waitMilliseconds": .integer(update.wait),
    ]
  }
}
