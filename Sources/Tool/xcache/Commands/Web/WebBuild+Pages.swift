import Publishing
import System

// The pages of a build.
extension WebBuild {
  /// What became of a build's pages.
  struct Injection {
    /// The pages that got the line.
    var written: [String] = []
    /// The pages that can't have it.
    var skipped: [String] = []
    /// The pages that have it, with a Content-Security-Policy that refuses it.
    var refused: [String] = []
    var warnings: [String] = []

    /// Whether each page has the line, as far as that can be known.
    var isComplete: Bool { skipped.isEmpty && refused.isEmpty }
  }

  /// Writes the line that loads the script to each page without it. Packages and hidden folders are no part of a site.
  func inject() throws -> Injection {
    var result = Injection()
    var pages = 0
    var open = [""]
    while let prefix = open.popLast() {
      for name in try Folder.textNames(folder + "/" + prefix) {
        let path = prefix + name
        let status = try Kernel.status("\(folder)/\(path)", followLinks: false)
        if status?.kind == .folder, name != "node_modules", !name.hasPrefix(".") { open.append(path + "/") }
        let isPage = name.hasSuffix(".html") || name.hasSuffix(".htm")
        if isPage, status?.kind == .link {
          result.warnings.append(
            "\(path) is a symbolic link, which --inject doesn't follow: add the line to its target")
        }
        guard status?.kind == .file, isPage, let page = try DurableFile.read("\(folder)/\(path)") else {
          continue
        }
        pages += 1
        let depth = prefix.utf8.count { $0 == UInt8(ascii: "/") }
        try inject(into: page, path, depth: depth, &result)
      }
    }
    if pages == 0 {
      result.warnings.append(
        "\(folder) has no page, no .html file: browsers register the worker in pages that load \(Self.scriptName)"
      )
    }
    result.written.sort()
    result.skipped.sort()
    result.refused.sort()
    result.warnings.sort()
    return result
  }

  private func inject(into page: [UInt8], _ path: String, depth: Int, _ result: inout Injection) throws {
    func skip(_ why: String) {
      result.skipped.append(path)
      result.warnings.append("\(path) \(why)")
    }
    guard PageInjection.isReadable(page) else {
      return skip("is UTF-16, which --inject doesn't write: add the line yourself, or write it in UTF-8")
    }
    switch try PageInjection.injected(into: page, depth: depth, has: has) {
    case .present: check(page, path, &result)
    case .line(let injected):
      try write(injected, to: path)
      result.written.append(path)
      check(injected, path, &result)
    case .unknownBase:
      skip(
        "has a <base href>, and no reference to a file of the build that says where it leads: add "
          + "the line yourself, with the script's absolute URL")
    case .fragment:
      skip(
        "begins with a template's mark and has no <head>, so it is a part of other pages: add the line to the layout that "
          + "has their <head>, if that isn't a page of the build")
    }
  }

  /// Warns of a page that has the line, and whose policy refuses it or may refuse it.
  private func check(_ page: [UInt8], _ path: String, _ result: inout Injection) {
    let policy = PagePolicy(of: page)
    for advice in policy.advice {
      result.warnings.append("\(path) has a Content-Security-Policy that stands in the way: \(advice)")
    }
    if !policy.advice.isEmpty { result.refused.append(path) }
    if policy.lacksNonce {
      result.warnings.append(
        "\(path) has scripts with a nonce, and the line of \(Self.scriptName) has none: give it the same")
    }
  }

  private func has(_ name: String) throws -> Bool {
    try Kernel.status("\(folder)/\(name)")?.kind == .file
  }

  // MARK: - What isn't a build

  /// Checks that the folder isn't a project's, whose sources aren't to be changed; returns a warning if it may be one.
  /// - Throws: `Failure` if it is.
  func checkRoot() throws -> String? {
    func isThere(_ name: String) throws -> Bool { try Kernel.status("\(folder)/\(name)") != nil }
    if let sign = try [".git", "node_modules"].first(where: isThere) {
      throw Failure(
        "\(folder) has \(sign), so it is a project and not its build: give the folder that is published, or --force if it is "
          + "this one", code: .refused)
    }
    guard try isThere("package.json") else { return nil }
    return "\(folder) has a package.json: is it the folder that is published, and not the project's?"
  }

  /// Checks that the folder has the worker that is to be removed.
  /// - Throws: `Failure` if it has none.
  func checkRemoval() throws {
    guard try has(Self.workerName) else {
      throw Failure(
        "\(folder) has no \(Self.workerName): give the folder that is published; after a fresh build, which has none yet, "
          + "add --create", code: .refused)
    }
  }
}
