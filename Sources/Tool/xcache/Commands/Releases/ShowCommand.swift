import Manifests
import OriginAPI
import OriginClient
import Publishing
import Values

/// `xcache show V`: shows a release, or its manifest.
enum ShowCommand {
  static let command = Command(
    name: "show", operands: "[V]", summary: "show a release or its manifest",
    examples: [
      .init("553 --app shop", "one release"),
      .init("'10m ago' --manifest", "the URLs devices had then"),
    ],
    notes: """
      V is a number, or a time at which the version was live (default: the newest). --manifest prints the canonical
      resourcemap, byte for byte as devices received it: its SHA-256 is the release's digest.
      """,
    options: Command.remote + Command.channel + [
      VersionArgument.option, .flag("manifest", "print the manifest's resourcemap instead"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    if arguments.operands.count > 1 {
      throw UsageError("unexpected argument: \(arguments.operands[1])")
    }
    let remote = try RemoteOrigin(arguments)
    let version = try VersionArgument.one(arguments, arguments.operands.first) ?? remote.newestVersion
    if arguments.has("manifest") {
      terminal.write(try remote.api.manifest(version, of: try remote.address).canonical)
      return .done
    }
    let release = try remote.api.release(version, of: try remote.address)
    let first = firstInstall(release.value, remote)
    if arguments.has("json") {
      var document = release.document.object ?? JSONObject()
      if let first { document["firstInstall"] = first.document["cost"] }
      terminal.say(json: .object(document))
    } else {
      for line in lines(release.value, first: first?.value.cost, terminal) { terminal.say(line) }
    }
    return .done
  }

  /// The largest releases of which a first install is computed: it takes a look at each file.
  private static let firstLimit: Int64 = 256 << 20

  /// Asks what a release costs a device that has nothing; nil if `cost` says that, or if it would take long.
  private static func firstInstall(_ release: ReleaseInfo, _ remote: RemoteOrigin) -> OriginAnswer<
    DiffAnswer
  >? {
    guard release.cost != nil, release.resources > 0, release.version > ManifestVersion(1),
      release.bytes <= firstLimit
    else {
      return nil
    }
    // What else there is to show doesn't depend on it.
    return try? remote.api.diff(from: "0", to: release.version.text, of: remote.address, limit: 0)
  }

  private static let forNew = ", for a device that has nothing yet"

  /// - Parameter first: what it costs a device that has nothing, if that isn't the release's `cost`.
  static func lines(_ release: ReleaseInfo, first: TransferCost? = nil, _ terminal: Terminal) -> [String] {
    let lazy = release.lazy.map { ", \($0.files) of them (\(Bytes.text($0.bytes))) lazy" } ?? ""
    var lines = [
      terminal.colour("version \(release.version)", .bold) + "  \(LogCommand.kind(release))",
      "released  \(release.at.formatted) by \(release.author)",
      "changes   +\(release.added) ~\(release.changed) −\(release.removed), \(Bytes.text(release.newBytes)) new",
      "holds     \(Count.text(release.resources, "resource")), \(Bytes.text(release.bytes))\(lazy)",
      "digest    \(release.digest)",
    ]
    if let rollout = release.rollout {
      lines.append(
        "rollout   \(rollout.state), to \(rollout.audience)\(rollout.paused && rollout.state == "open" ? ", paused" : "")"
          + (rollout.prefetch.map { ", with prefetch config \($0)" } ?? ""))
    }
    if let cost = release.cost {
      // Of a first version, or one that replaces everything, this is what a new device downloads.
      let isAll = first == nil && release.resources > 0 && release.added == release.resources
      lines.append("update    \(cost.formatted)\(isAll ? forNew : "")")
    }
    if let first { lines.append("first     \(first.formatted)\(forNew)") }
    if let glass = release.breakGlass {
      lines.append("despite the freeze by \(glass.frozenBy): \(glass.reason)")
    }
    if !release.message.isEmpty { lines += ["", release.message] }
    var table = Table(["BUNDLE", "ADDED", "CHANGED", "REMOVED"], rightAligned: [1, 2, 3])
    for bundle in release.bundles {
      table.add([bundle.bundle, "\(bundle.added)", "\(bundle.changed)", "\(bundle.removed)"])
    }
    let signed = release.bundles.compactMap { bundle in
      bundle.serial.map {
        "signed    \(bundle.bundle): serial \($0), \(GivenSigning.keys(bundle.keys ?? []))"
      }
    }
    return lines + [""] + table.lines + signed + (release.routes ?? []).flatMap(Self.lines)
  }

  /// For which routes a page answers.
  private static func lines(_ routes: ReleaseInfo.Routes) -> [String] {
    routes.fallback.rules.map { rule in
      "routes    \(routes.bundle): \(routes.page) answers below \(rule.prefix)"
        + (rule.except.isEmpty ? "" : ", except \(rule.except.joined(separator: ", "))")
    }
  }
}
