import BuildCheck
import Manifests
import Publishing
import Values

/// `xcache check`: checks whether a build is complete, before it is published.
enum CheckCommand {
  static let command = Command(
    name: "check", operands: "[DIR|FILE.zip]",
    summary: "check that a build has every file its pages, styles and scripts refer to",
    examples: [
      .init("dist --base-url https://m.example.com/shop/", "a folder"),
      .init("--bundle main", "one bundle of xcache.json (default: all)"),
    ],
    notes: """
      publish runs the same checks before it uploads, and also checks what other live bundles and the prefetch config
      need. Each finding is one line: file:line:column: problem and remedy [rule]. Errors set exit code 3; warnings
      don't. Without a base URL, references that begin with / are not checked. A DIR that is a folder of a bundle of
      xcache.json is checked as --bundle would: with its base URL, patterns and fallbacks.
      Rules:
      \(rules)
      In xcache.json: "check": {"off": ["weight"], "ignore": ["legacy/*"]}; files that match `ignore` are not
      reported.
      """,
    options: [
      .value("bundle", "NAME", "a bundle of xcache.json; repeatable"),
      .value("base-url", "URL", "the URL that the folder's files will have"),
      .value("include", "GLOB", "check only matching files; repeatable"),
      .value("exclude", "GLOB", "skip matching files; repeatable"),
      noCheck, allowSecret, SourceMapOutput.checkOption, Command.all,
    ],
    run: run)

  static let noCheck = Option.value(
    "no-check", "RULE", choices: CheckRule.optional.map(\.rawValue) + ["all"],
    "skip this rule, or all but secret; repeatable")

  static let allowSecret = Option.value(
    "allow-secret", "PATH",
    "allow this file, a path below DIR, although it looks secret; publish records it in the audit log; repeatable"
  )

  private static var rules: String {
    let width = (CheckRule.allCases.map(\.rawValue.count).max() ?? 0) + 2
    return CheckRule.allCases.map { rule in
      "  \(rule.rawValue)\(String(repeating: " ", count: width - rule.rawValue.count))\(rule.summary)"
    }.joined(separator: "\n")
  }

  /// Returns the check options from `--no-check` and `xcache.json`.
  static func options(_ arguments: Arguments, _ settings: Settings) throws(UsageError) -> CheckOptions {
    var options = settings.check
    options.allowedSecrets = Set(arguments.all("allow-secret"))
    for word in arguments.all("no-check") {
      if word == "all" {
        options.off = CheckOptions.none.off
        continue
      }
      if word == CheckRule.secret.rawValue {
        throw UsageError("--no-check secret: this rule can't be skipped; --allow-secret PATH allows one file")
      }
      guard let rule = CheckRule(rawValue: word) else {
        let suggestion = Spelling.suggestion(for: word, among: CheckRule.optional.map(\.rawValue))
        throw UsageError(
          "--no-check \(word) is not a rule\(suggestion.isEmpty ? "; it is one of \(CheckRule.list), or all" : suggestion)"
        )
      }
      options.off.insert(rule)
    }
    return options
  }

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let settings = try Settings.file(from: ".")
    let bundles = try sources(arguments, settings, folders: arguments.operands)
    let names = Set(bundles.map(\.name))
    var options = try options(arguments, settings)
    options.others = settings.bundles.filter { !names.contains($0.name) }.flatMap(\.baseURLs)
    let report = try report(bundles, options)
    let folder =
      try arguments.value("source-maps") ?? (arguments.operands.isEmpty ? settings.sourceMaps : nil)
    let maps = try folder.map { (folder) throws(PublishError) in
      try LocalCheck.sourceMaps(folder, of: bundles)
    }
    let failure =
      report.errors > 0 ? Failure(CheckOutput.summary(report), code: .refused, name: "check") : nil
    if arguments.has("json") {
      var document = report.json.object ?? JSONObject()
      if let maps { document["sourceMaps"] = .object(SourceMapOutput.json(maps)) }
      terminal.say(json: .object(document), failure)
    } else {
      // Errors come first in a long list, so that truncating it doesn't lose any.
      let isLong = report.findings.count > Listing.limit
      let errors = report.findings.filter { $0.severity == .error }
      let findings = isLong ? errors + report.findings.filter { $0.severity != .error } : report.findings
      terminal.say(list: findings.map { CheckOutput.line($0, terminal) }, all: arguments.has("all"))
      for line in maps.map(SourceMapOutput.lines(_:)) ?? [] { terminal.say(line) }
      terminal.say(CheckOutput.summary(report))
    }
    return failure?.code ?? .done
  }

  /// Checks the build; of an empty folder it says what helps here, which isn't what helps a publish.
  private static func report(_ bundles: [BundleSource], _ options: CheckOptions) throws -> CheckReport {
    do throws(PublishError) {
      return try LocalCheck.report(bundles, options)
    } catch {
      guard case .nothingToPublish(let folder) = error else { throw error }
      throw Failure(
        "\(folder) contains no files to check: build first, or correct include and exclude", name: "no-files")
    }
  }

  // MARK: - What is checked

  /// Returns the build that the arguments select: folders, or bundles of `xcache.json`. `requiresBase` says whether the base URL
  /// must be known.
  static func sources(
    _ arguments: Arguments, _ settings: Settings, folders: [String], requiresBase: Bool = false,
    mapsIndex: Bool? = nil
  ) throws -> [BundleSource] {
    let base = try arguments.value("base-url").map { try SettingsValue.folderURL($0, in: "--base-url") }
    let include = try PublishCommand.globs("include", arguments)
    let exclude = try PublishCommand.globs("exclude", arguments)
    var bundles: [BundleSettings] = []
    if !folders.isEmpty {
      let name = try arguments.value("bundle").map { try SettingsValue.bundle($0, in: "--bundle") }
      let part = name == nil ? settings.bundle(with: folders, base: base) : nil
      var bundle =
        try name.flatMap { settings.bundle($0) } ?? part ?? BundleSettings(name ?? BundleName("checked"))
      if part == nil { bundle.folders = folders.map { .init(path: $0, baseURL: nil) } }
      bundle.baseURL = base ?? bundle.baseURL
      if bundle.baseURL == nil, bundle.folders.contains(where: { $0.baseURL == nil }) {
        guard !requiresBase else {
          throw UsageError("--base-url URL is required: the URL that the files of \(folders[0]) will have")
        }
        bundle.baseURL = try LocalCheck.unknownBase()
        // Their pages have URLs that aren't known, either.
        bundle.fallbacks = []
      }
      bundles = [bundle]
    } else {
      for text in arguments.all("bundle") {
        let name = try SettingsValue.bundle(text, in: "--bundle")
        guard let bundle = settings.bundle(name) else {
          throw UsageError("xcache.json has no bundle \(text): name a folder to check")
        }
        bundles.append(bundle)
      }
      if bundles.isEmpty { bundles = settings.bundles }
      if bundles.isEmpty { throw UsageError("nothing to check: give DIR, or create an xcache.json") }
    }
    return try bundles.map { bundle in
      var bundle = bundle
      bundle.narrow(include: include, exclude: exclude)
      return try bundle.source(baseURL: base, mapsIndex: mapsIndex)
    }
  }
}
