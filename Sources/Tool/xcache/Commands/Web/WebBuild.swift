import CAssets
import Manifests
import Publishing
import System
import Values

/// The folder of a web build, to which the worker and its script are written.
struct WebBuild {
  static let workerName = "xcache-sw.js"
  /// What the worker imports when it is installed; without it, browsers reject the worker.
  static let packsName = "xcache-sw-packs.js"
  /// What it imports besides if the site has a root: the check of what publishers signed.
  static let trustName = "xcache-sw-trust.js"
  static let scriptName = "xcache.js"
  /// What pages import after they failed, to say what happened; without it, they say nothing.
  static let samplesName = "xcache-samples.js"

  let folder: String

  /// Creates a build from its folder.
  /// - Throws: `Failure` if it isn't a folder.
  init(folder: String) throws {
    guard try Kernel.status(folder)?.kind == .folder else {
      throw Failure(
        "no such folder: \(folder); build first, and give the folder that is published", name: "no-files")
    }
    self.folder = folder
  }

  /// Writes the worker with its import, the pages' script, and what that imports; returns their names.
  func write(_ settings: WebSettings, worker: String?) throws -> [String] {
    try write(Self.head(settings.json) + Self.bytes(xcache_web_worker()), to: Self.workerName)
    try write(Self.bytes(xcache_web_packs()), to: Self.packsName)
    var written = [Self.workerName, Self.packsName]
    if settings.root != nil {
      try write(Self.bytes(xcache_web_trust()), to: Self.trustName)
      written.append(Self.trustName)
    }
    let page: JSONValue = worker.map { ["worker": .string($0)] } ?? [:]
    try write(Self.head(page) + Self.bytes(xcache_web_page()), to: Self.scriptName)
    try write(Self.bytes(xcache_web_samples()), to: Self.samplesName)
    return written + [Self.scriptName, Self.samplesName]
  }

  /// Writes a worker that removes the other one, and replaces the other files with scripts that do nothing.
  func writeRemover() throws -> [String] {
    try write(Self.bytes(xcache_web_remover()), to: Self.workerName)
    func present(_ name: String) throws -> [String] {
      try Kernel.status("\(folder)/\(name)")?.kind == .file ? [name] : []
    }
    let others =
      try [Self.packsName] + present(Self.trustName) + [Self.scriptName] + present(Self.samplesName)
    for name in others { try write(Array("// xcache was removed from this site.\n".utf8), to: name) }
    return [Self.workerName] + others
  }

  /// The files that a build with the worker may have.
  private static let names = [workerName, packsName, trustName, scriptName, samplesName]

  func write(_ bytes: [UInt8], to name: String) throws {
    try DurableFile.write(bytes, to: "\(folder)/\(name)")
  }

  private static let settingsStart = "self.xcacheSettings="

  /// Returns the line from which the scripts read their settings.
  private static func head(_ settings: JSONValue) -> [UInt8] {
    Array(settingsStart.utf8) + settings.canonical + Array(";\n".utf8)
  }

  private static func bytes(_ asset: xcache_asset) -> [UInt8] {
    Array(UnsafeBufferPointer(start: asset.bytes, count: asset.size))
  }

  // MARK: - A worker that is there already

  private static let otherWorkers = [
    "sw.js", "service-worker.js", "serviceworker.js", "serviceWorker.js", "ngsw-worker.js", "worker.js",
  ]
  /// The statement by which a site's own worker imports this one.
  static let line = "importScripts(\"\(workerName)\")"

  /// Checks for workers of the site's own.
  /// - Throws: `Failure` if the build has a worker that wasn't named, or lacks the named one.
  func checkWorker(_ named: String?, takesIn: Bool) throws {
    if let named {
      guard !named.contains("/"), !Self.names.contains(named) else {
        throw Failure(
          "--worker \(named): give the site's own worker by its name, which is in \(folder) itself, beside "
            + "\(Self.workerName)", code: .usage)
      }
      guard let script = try script(of: named) else {
        throw Failure("there is no worker \(folder)/\(named)", name: "no-files")
      }
      guard !script.isModule else {
        throw Failure(
          "\(named) is a module, which can't use importScripts: build the site's worker as a classic script",
          code: .refused)
      }
      guard takesIn || script.names(Self.workerName) else {
        throw Failure(
          "\(named) doesn't import the worker: add \(Self.line); at its beginning, or use --inject",
          code: .refused)
      }
      return
    }
    for name in Self.otherWorkers {
      // Other scripts have such names, too; only a service worker has these event names.
      guard let text = try text(of: name), text.contains("fetch") || text.contains("install") else {
        continue
      }
      throw Failure(
        "the build already has a worker, \(name), and a page can have only one: give --worker \(name), which imports "
          + "this one with \(Self.line)", code: .refused)
    }
  }

  /// Makes the build's own worker import this one; returns false if it already does.
  func takeIn(in name: String) throws -> Bool {
    guard let script = try script(of: name), !script.names(Self.workerName) else { return false }
    try write(script.beginning(with: "\(Self.line);"), to: name)
    return true
  }

  /// Returns the names of the site's own workers that import this one.
  func importers() throws -> [String] {
    try Folder.textNames(folder).filter { name in
      guard name.hasSuffix(".js"), !Self.names.contains(name),
        try Kernel.status("\(folder)/\(name)")?.kind == .file, let script = try script(of: name)
      else { return false }
      return script.names(Self.workerName) && script.names("importScripts")
    }.sorted()
  }

  private func text(of name: String) throws -> String? {
    try DurableFile.read("\(folder)/\(name)").map { String(decoding: $0, as: UTF8.self) }
  }

  private func script(of name: String) throws -> WorkerScript? {
    try DurableFile.read("\(folder)/\(name)").map(WorkerScript.init)
  }

  // MARK: - Publishing

  /// Returns the settings of a build's worker; nil if it has none of `web init`.
  static func settings(in folder: String) -> JSONValue? {
    ((try? DurableFile.read("\(folder)/\(workerName)")) ?? nil).flatMap { settings(ofWorker: $0) }
  }

  /// Returns the settings of a worker's script; nil for one that `web init` didn't write.
  static func settings(ofWorker script: [UInt8]) -> JSONValue? {
    guard script.starts(with: settingsStart.utf8) else { return nil }
    let line = script.dropFirst(settingsStart.utf8.count).prefix { $0 != UInt8(ascii: "\n") }
    guard line.last == UInt8(ascii: ";") else { return nil }
    return try? JSONValue.parse(Array(line.dropLast()))
  }

  /// Returns the URLs from which a worker with these settings takes documents.
  static func bases(_ settings: JSONValue) -> [BaseURL] {
    ["server", "fallback"].compactMap { settings[$0]?.string.flatMap { try? BaseURL($0) } }
  }

  /// Whether a bundle's build has the worker.
  static func hasWorker(_ source: BundleSource) -> Bool {
    source.folders.contains { (try? Kernel.status("\($0.path)/\(workerName)"))?.kind == .file }
  }

  /// Returns a warning if the build has a worker that browsers don't accept, or folder URLs that aren't published and so fail
  /// offline.
  static func warning(_ source: BundleSource) -> String? {
    if let warning = trustWarning(source) { return warning }
    guard !source.mapsIndex else { return nil }
    func has(_ name: String, _ folder: BundleSource.Folder) -> Bool {
      (try? Kernel.status("\(folder.path)/\(name)"))?.kind == .file
    }
    guard let folder = source.folders.first(where: { has(workerName, $0) && has("index.html", $0) }) else {
      return nil
    }
    return
      "bundle \(source.name) has a service worker and index.html, which isn't published as \(folder.baseURL): that "
      + "URL doesn't open offline. Use --index, or \"index\": true in xcache.json"
  }

  /// Returns a warning if a build's worker has a root, but its check isn't there, so that browsers don't accept it.
  private static func trustWarning(_ source: BundleSource) -> String? {
    let lacks = source.folders.contains { folder in
      settings(in: folder.path)?["root"] != nil
        && (try? Kernel.status("\(folder.path)/\(trustName)"))?.kind != .file
    }
    guard lacks else { return nil }
    return
      "bundle \(source.name) has the service worker \(workerName) with a root, but not \(trustName), which it imports: "
      + "browsers don't accept the worker without it. Run `xcache web init` after each build, and deploy everything "
      + "it writes"
  }

  /// Returns a warning if a release removes a worker that browsers have, or its import, without a worker that removes it.
  static func warning(_ plan: Plan) -> String? {
    func loses(_ name: String) -> Bool { plan.remove.contains { $0.hasSuffix("/\(name)") } }
    if loses(workerName) {
      return
        "bundle \(plan.bundle) had a service worker, \(workerName), and this build has none: browsers keep the old one"
        + ". Run `xcache web init` after each build, or `xcache web remove` to remove it"
    }
    if loses(trustName) {
      return
        "bundle \(plan.bundle) had the service worker \(workerName) with a root, and this build's has none: browsers take "
        + "what nobody signed once it is deployed. Give `xcache web init` the root with --root FILE"
    }
    guard loses(packsName) else { return nil }
    return
      "bundle \(plan.bundle) has the service worker \(workerName) without \(packsName), which it imports: browsers "
      + "don't accept the worker without it. Run `xcache web init` after each build, and deploy everything it writes"
  }
}
