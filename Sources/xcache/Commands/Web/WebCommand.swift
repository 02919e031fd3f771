import Manifests
import System

/// `xcache web init | remove`.
enum WebCommand {
  static let command = Command(
    name: "web", operands: "init | remove",
    summary: "make browsers devices: put a service worker into a build, or one that removes it",
    examples: [
      .init(
        "init --dir dist --app shop --server https://xcache.example.com --inject",
        "after each build, before publish"),
      .init("remove --dir dist", "take it away from the browsers that have it"),
    ],
    notes: """
      init writes three files into the build: xcache-sw.js, the worker, with its settings; xcache-sw-packs.js, which the
      worker imports when it is installed; and xcache.js, which pages load. --inject writes the line that does so into each
      page. Run it after each build, before publish. The worker is about the folder that it is served from and all below it.
      Serve both its files with Cache-Control: no-cache.

      A page has one worker. Where the build has one already, say which, and let it take this one in at its beginning:
      xcache web init … --worker sw.js; with --inject the line importScripts("xcache-sw.js") is written there.

      remove writes a worker that empties its caches and unregisters itself at the next visit, and scripts that do nothing
      in the place of the other two. Leave them in the build for as long as browsers may have the other worker.
      """,
    options: [
      .value("dir", "DIR", "the build's folder"),
      .value("app", "NAME", environment: "XCACHE_APP", "the app").only("init"),
      .value("channel", "NAME", environment: "XCACHE_CHANNEL", "the channel (default: online)").only("init"),
      .value(
        "server", "URL", environment: "XCACHE_SERVER", "the origin's address, as browsers reach it"
      ).only("init"),
      .value("fallback", "URL", "the static copy that is asked while the origin is down").only("init"),
      .value(
        "host", "NAME", "another host whose files the worker may answer, or *.example.com; may be repeated"
      ).only("init"),
      .value("limit", "SIZE", "what the files may take of a browser's store (default: 100MB)").only("init"),
      .value("worker", "FILE", "the build's own worker, which takes this one in").only("init"),
      .flag("inject", "write the line that loads xcache.js into each page").only("init"),
    ],
    run: { arguments, terminal in
      switch arguments.operands.first {
      case "init": return try write(arguments, terminal)
      case "remove": return try remove(arguments, terminal)
      default: throw UsageError("web init or web remove?")
      }
    })

  private static func build(_ arguments: Arguments) throws -> WebBuild {
    guard let folder = try arguments.value("dir") else {
      throw UsageError("which build? Give --dir DIR, the folder that is published")
    }
    return try WebBuild(folder: folder)
  }

  private static func write(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("init")
    let build = try build(arguments)
    let settings = try WebSettings(arguments)
    let worker = try arguments.value("worker")
    try build.checkWorker(worker, takesIn: arguments.has("inject"))
    var written = try build.write(settings, worker: worker)
    if arguments.has("inject") {
      if let worker, try build.takeIn(in: worker) { written.append(worker) }
      written += try build.inject()
    }
    if arguments.has("json") {
      terminal.say(json: ["settings": settings.json, "written": .strings(written)])
      return .done
    }
    for name in written { terminal.say("wrote \(name)") }
    if !arguments.has("inject") {
      terminal.say(
        "load it in each page: <script src=\"/…/xcache.js\" async></script>, or run this with --inject")
    }
    return .done
  }

  private static func remove(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("remove")
    let written = try build(arguments).writeRemover()
    if arguments.has("json") {
      terminal.say(json: ["written": .strings(written)])
    } else {
      for name in written { terminal.say("wrote \(name)") }
    }
    return .done
  }
}
