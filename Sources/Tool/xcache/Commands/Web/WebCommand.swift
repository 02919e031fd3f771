import Manifests
import System
import Values

/// `xcache web init | remove`.
enum WebCommand {
  static let command = Command(
    name: "web", operands: "init | remove",
    summary: "add a service worker to a build, so that browsers act as devices, or remove it",
    examples: [
      .init(
        "init --dir dist --app shop --server https://xcache.example.com --inject",
        "after each build, before publishing"),
      .init("remove --dir dist --create", "remove it for good from browsers that have it"),
    ],
    notes: """
      init writes four files into the build: xcache-sw.js, the worker with its settings; xcache-sw-packs.js, which
      the worker imports when it is installed; xcache.js, which pages load; and xcache-samples.js, which a page loads
      after it failed, to say what happened. --inject adds the line that loads xcache.js to each page, and exits with
      1 if a page can't have it, or has a Content-Security-Policy that refuses it. It
      leaves out node_modules and hidden folders. Run init after each build, before publishing. The worker controls
      the folder that it is served from and everything below it. Serve the worker's files with Cache-Control: no-cache.
      With --root browsers take only what the app's publishers have signed; init then writes xcache-sw-trust.js, too,
      and is to be given the file with each build.
      A page can have only one worker. If the build already has one, give it with --worker sw.js and import this one
      at its beginning; with --inject the line importScripts("xcache-sw.js") is added to it.
      remove is for good: it writes a worker that empties its caches and unregisters itself at the next visit, and
      scripts that do nothing in place of the others. Publish and deploy the build, and keep these files in it
      for as long as browsers may have the old worker. A folder without a worker is refused, unless --create says that
      it is the right one, as after a fresh build. To switch the worker off for some hours, with its files kept,
      use 'xcache policy kill'.
      """,
    options: [
      .value("dir", "DIR", "the build folder"),
      .value("app", "NAME", environment: "XCACHE_APP", "the app").only("init"),
      .value("channel", "NAME", environment: "XCACHE_CHANNEL", "the channel (default: online)").only("init"),
      .value(
        "server", "URL", environment: "XCACHE_SERVER", "the origin's URL, as browsers reach it"
      ).only("init"),
      .value("fallback", "URL", "the static copy to use while the origin is down").only("init"),
      .value(
        "host", "NAME", "another host the worker may answer for, or *.example.com; repeatable"
      ).only("init"),
      .value("limit", "SIZE", "limit the size of files in a browser (default: 100MB; at least 1MB)").only(
        "init"),
      .value(
        "stale-after", "DAYS",
        "ask the network first if polls have failed for so long; 0: never (default: 30)"
      ).only("init"),
      .flag("no-go-back", "don't go back to the version before if pages of a new one fail").only("init"),
      .value("root", "FILE", "the app's root.json: browsers take only what its keys have signed").only(
        "init"),
      .value("worker", "FILE", "the build's own worker, which imports this one").only("init"),
      .flag("inject", "add the line that loads xcache.js to each page").only("init"),
      .flag("force", "write into a folder that looks like a project's, not a build's").only("init"),
      .flag("create", "write into a folder without a worker, such as a fresh build's").only("remove"),
    ],
    run: { arguments, terminal in
      switch arguments.operands.first {
      case "init": return try write(arguments, terminal)
      case "remove": return try remove(arguments, terminal)
      default: throw UsageError("expected web init or web remove")
      }
    })

  private static func build(_ arguments: Arguments) throws -> WebBuild {
    guard let folder = try arguments.value("dir") else {
      throw UsageError("--dir DIR is required: the folder that is published")
    }
    return try WebBuild(folder: folder)
  }

  private static func write(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("init")
    let build = try build(arguments)
    let settings = try WebSettings(arguments)
    let worker = try arguments.value("worker")
    var warnings: [String] = []
    if !arguments.has("force"), let warning = try build.checkRoot() { warnings.append(warning) }
    try build.checkWorker(worker, takesIn: arguments.has("inject"))
    var written = try build.write(settings, worker: worker)
    var injection = WebBuild.Injection()
    if arguments.has("inject") {
      if let worker, try build.takeIn(in: worker) { written.append(worker) }
      injection = try build.inject()
      written += injection.written
      warnings += injection.warnings
    }
    for warning in warnings { arguments.remark("warning: \(warning)") }
    // Nobody reads the warnings of a CI job that passed, and such a page has no worker.
    let outcome = injection.isComplete ? ExitCode.done : .failed
    if arguments.has("json") {
      var document = JSONObject()
      if !injection.refused.isEmpty { document["refused"] = .strings(injection.refused) }
      document["root"] = settings.rootSummary
      document["settings"] = settings.json
      document["skipped"] = .strings(injection.skipped)
      if !warnings.isEmpty { document["warnings"] = .strings(warnings) }
      document["written"] = .strings(written)
      terminal.say(json: .object(document))
      return outcome
    }
    for name in written { terminal.say("wrote \(name)") }
    terminal.say("browsers with this build poll \(settings.server)")
    if arguments.has("no-go-back") {
      terminal.say("they don't go back to the version before if pages of a new one fail")
    }
    if !arguments.has("inject") {
      terminal.say(
        "load it in each page: <script src=\"/…/xcache.js\" defer></script>, or run this with --inject")
    }
    return outcome
  }

  private static func remove(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("remove")
    let build = try build(arguments)
    if !arguments.has("create") { try build.checkRemoval() }
    let importers = try build.importers()
    let written = try build.writeRemover()
    if arguments.has("json") {
      var document = JSONObject()
      if !importers.isEmpty { document["importedBy"] = .strings(importers) }
      document["written"] = .strings(written)
      terminal.say(json: .object(document))
      return .done
    }
    for name in written { terminal.say("wrote \(name)") }
    terminal.remark(
      "once this build is deployed, browsers empty their caches and unregister the worker at their next visit, for good; "
        + "`xcache policy kill` only switches it off for a while")
    for name in importers {
      terminal.remark(
        "\(name) has \(WebBuild.line): delete that line when no browser has the old worker any more, with these files"
      )
    }
    return .done
  }
}
