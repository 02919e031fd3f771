import Linux
import Manifests
import Publishing
import System
import Values

/// `xcache init`: asks three questions and writes xcache.json.
enum InitCommand {
  static let command = Command(
    name: "init", summary: "create an xcache.json for the project in this folder",
    examples: [
      .init("", "asks for the app, folder and URL"),
      .init("--app shop --dir dist --base-url https://m.example.com/shop/", "asks no questions"),
    ],
    notes: """
      In a terminal, missing values are asked for; an empty answer takes the default in brackets. An existing file is
      kept unless --force is given. 'xcache publish' then needs no options. The file leaves out source maps, which no device
      needs, and publishes dir/index.html as dir/, too ("exclude" and "index"). If one page alone, not counting 404.html, loads a
      script that sets the path (pushState and popstate), it also answers the app's routes ("fallback"): delete that
      from the file if there are none. Files that few devices open are fetched when a page asks for them ("lazy"):
      fonts that also exist as woff2, and the files of five languages or more (locales/de.json, locales/de/app.json,
      app.de.json).
      """,
    options: [
      .value("app", "NAME", environment: "XCACHE_APP", "the app"),
      .value("dir", "DIR", "the build folder"),
      .value("base-url", "URL", "the URL of its files"),
      .value("bundle", "NAME", "the bundle's name (default: main)"),
      .value("server", "URL", environment: "XCACHE_SERVER", "the origin's address (default: left out)"),
      .flag("force", "overwrite an existing file"),
    ], run: run)

  private static let folders = ["dist", "build", "out", "public", "www"]
  /// How many invalid answers are accepted before giving up.
  private static let attempts = 3

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    let path = Settings.fileName
    let isThere = try Kernel.status(path, followLinks: false) != nil
    if isThere, !arguments.has("force") {
      throw Failure("\(path) already exists; use --force to overwrite it", code: .refused, name: "exists")
    }
    let here = (try? Kernel.realPath(".")) ?? ""
    let app = try answer(
      "app", "the app's name", guess: (try? AppName(last(here)))?.text, arguments, terminal
    ) {
      try SettingsValue.app($0, in: arguments.source("app"))
    }
    let found = folders.first { ((try? Kernel.status($0)) ?? nil)?.kind == .folder }
    let folder = try answer("dir", "the build folder", guess: found, arguments, terminal) { text in
      guard try Kernel.status(text).map({ $0.kind == .folder }) ?? true else {
        throw Failure("\(text) is not a folder", name: "no-files")
      }
      return text
    }
    let base = try answer("base-url", "the URL under which its files are", guess: nil, arguments, terminal) {
      try SettingsValue.folderURL($0, in: arguments.source("base-url"))
    }
    let bundle = try SettingsValue.bundle(try arguments.value("bundle") ?? "main", in: "--bundle")
    let server = try arguments.value("server").map {
      try SettingsValue.url($0, in: arguments.source("server"))
    }
    let fallback = FallbackProposal(folder, at: base)
    let lazy = LazyProposal(folder)
    let document = document(app, bundle, folder, base, server, fallback, lazy)
    try write(Array((PrettyJSON.text(document) + "\n").utf8), to: path, replaces: arguments.has("force"))
    if try Kernel.status(folder) == nil { terminal.remark("the folder \(folder) doesn't exist yet") }
    if let fallback { terminal.remark(Self.remark(fallback)) }
    if !lazy.patterns.isEmpty { terminal.remark(Self.remark(lazy)) }
    if lazy.hasSourceMaps {
      terminal.remark(
        "source maps aren't published; `xcache publish --source-maps \(folder)` has the origin read stacks of errors with them. To have "
          + "devices fetch them when asked, delete \"*.map\" from \"exclude\" and put it into \"lazy\"")
    }
    if arguments.has("json") {
      terminal.say(json: ["file": .string(path), "settings": document])
    } else {
      terminal.say("wrote \(path); `xcache publish` releases \(folder), the first time with --create")
    }
    return .done
  }

  /// Says what is proposed, and why.
  private static func remark(_ fallback: FallbackProposal) -> String {
    let start =
      "\(fallback.page) answers the routes below \(fallback.rule.prefix), too, because \(fallback.router) sets the path; if the app "
      + "has no such routes, delete \"fallback\""
    guard let relative = fallback.relative else { return start }
    return start
      + ". Only routes of one part: the page loads \(relative), which is relative, so deeper ones need a build with the base path "
      + fallback.rule.prefix
  }

  private static func remark(_ lazy: LazyProposal) -> String {
    let patterns = lazy.patterns.joined(separator: ", ")
    return
      "devices fetch \(patterns) when a page asks for them, not with each update; take patterns out of \"lazy\" if pages need "
      + "such files offline"
  }

  private static func document(
    _ app: AppName, _ bundle: BundleName, _ folder: String, _ base: BaseURL, _ server: BaseURL?,
    _ fallback: FallbackProposal?, _ lazy: LazyProposal
  ) -> JSONValue {
    var files = JSONObject()
    files["baseURL"] = .string(base.text + "/")
    files["dirs"] = .strings([folder])
    files["exclude"] = .strings(["*.map"])
    files["index"] = true
    files["fallback"] = fallback.map { fallback in
      .array([
        [
          "except": .strings(fallback.rule.except), "page": .string(fallback.page),
          "prefix": .string(fallback.rule.prefix),
        ]
      ])
    }
    files["lazy"] = lazy.patterns.isEmpty ? nil : .strings(lazy.patterns)
    var settings = JSONObject()
    settings["app"] = .string(app.text)
    settings["bundles"] = .object(JSONObject([.init(key: bundle.text, value: .object(files))]))
    settings["server"] = server.map { .string($0.text) }
    return .object(settings)
  }

  private static func write(_ bytes: [UInt8], to path: String, replaces: Bool) throws {
    // The file may have been created while the questions were answered.
    do throws(SystemError) {
      try DurableFile.write(bytes, to: path, replaces: replaces)
    } catch {
      guard error.code == .fileExists else { throw error }
      throw Failure("\(path) already exists; use --force to overwrite it", code: .refused, name: "exists")
    }
  }

  /// Returns the value of an option, or the user's answer.
  private static func answer<Value>(
    _ option: String, _ question: String, guess: String?, _ arguments: Arguments, _ terminal: Terminal,
    read: (String) throws -> Value
  ) throws -> Value {
    if let text = try arguments.value(option) { return try read(text) }
    guard StandardInput.isTerminal else {
      throw UsageError("\(question) is missing: give --\(option), because there is no terminal to ask")
    }
    for _ in 0..<attempts {
      terminal.ask("\(question)\(guess.map { " [\($0)]" } ?? ""): ")
      guard let line = try StandardInput.line() else { break }
      let text = String(line.drop { $0 == " " }.reversed().drop { $0 == " " || $0 == "\r" }.reversed())
      guard let text = text.isEmpty ? guess : text else { continue }
      if let id = SafeText.tokenID(in: text) {
        terminal.note(
          "that is a token, which doesn't belong in a file that is shared; if others may have seen it, revoke it: "
            + "`xcache token revoke \(id)`")
        continue
      }
      do {
        return try read(text)
      } catch {
        terminal.note(Fault(error).message)
      }
    }
    throw UsageError("\(question) is missing; give --\(option)")
  }

  private static func last(_ path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? ""
  }
}
