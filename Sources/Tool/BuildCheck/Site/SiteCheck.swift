import System
import Values

/// Why the check failed.
package enum CheckError: Error, Sendable {
  /// Thrown when a file can't be read.
  case unreadable(String, SystemError)
  /// Thrown when a file was removed after the folder was listed.
  case gone(String)
}

/// Checks that the files of a release are complete among themselves.
package struct SiteCheck: Sendable {
  package let site: Site
  private let options: CheckOptions
  private let known: @Sendable (String) -> [UInt8]?

  /// Creates a check; `known` returns the contents of a file that is already in memory, by path, or nil.
  package init(
    _ bundles: [CheckedBundle], _ options: CheckOptions = .all,
    known: @escaping @Sendable (String) -> [UInt8]? = { _ in nil }
  ) {
    site = Site(bundles, others: options.others)
    self.options = options
    self.known = known
  }

  /// What the files contain, before it is known what else is live.
  package struct Reading: Sendable {
    fileprivate let reports: [FileReport]

    /// URLs that are referenced but don't exist, or lie outside the bundles.
    package var missing: [ResourceURL] { reports.flatMap { $0.misses.map(\.url) + $0.strays.map(\.url) } }

    /// Those of them that are opened as documents, which another bundle's fallback page may answer.
    package var missingPages: [ResourceURL] {
      reports.flatMap { $0.misses.filter(\.reference.kind.isNavigation).map(\.url) }
    }
  }

  /// Reads the files. If not nil, `changed` has the URLs of the only files to read, for a release that removes nothing and whose
  /// other files were checked before. If one of them lacks something, or loads what is lazy, all are read; so they are for a lazy
  /// script or style sheet.
  package func read(changed: Set<String>? = nil) throws(CheckError) -> Reading {
    var reports = try reports(changed)
    // What a missing file means depends on what loads the file that needs it.
    if let changed, needsAll(reports, changed) { reports = try self.reports(nil) }
    return Reading(reports: reports)
  }

  private func needsAll(_ reports: [FileReport], _ changed: Set<String>) -> Bool {
    reports.contains { report in !report.misses.isEmpty || report.loads.contains { $0.lazyAt != nil } }
      || site.files.contains { file in
        guard file.isLazy, changed.contains(file.url.text) else { return false }
        return TextForm(file) == .script || TextForm(file) == .style
      }
  }

  /// Returns the findings; `live` has the match keys of missing URLs that are in other live bundles.
  package func report(_ reading: Reading, live: Set<String> = []) -> CheckReport {
    let reports = reading.reports
    var judge = SiteJudge(site, reports, live: live)
    var report = CheckReport()
    report.files = site.files.count
    report.bytesRead = reports.reduce(0) { $0 + $1.bytesRead }
    report.add(judge.findings().filter(options.wants))
    report.add(FileNames.findings(site, used: Set(reports.flatMap(\.used))).filter(options.wants))
    return report
  }

  /// Adds the secrets that the files have, and the URLs of those that may. If not nil, `changed` has the URLs of the only files
  /// to read.
  package func addSecrets(to report: inout CheckReport, changed: Set<String>? = nil) throws(CheckError) {
    let secrets = try SecretCheck(site, allowed: options.allowedSecrets, known: known).result(
      changed: changed)
    report.add(secrets.findings)
    report.allowedSecrets += secrets.allowed
  }

  /// Returns the reports of all files, by index in the site; files that aren't read have empty ones.
  private func reports(_ urls: Set<String>?) throws(CheckError) -> [FileReport] {
    let work = CheckWork(site, urls, known)
    Parallel.run(threads: min(Environment.cores, site.files.count)) { work.run() }
    return try work.finish()
  }
}

/// The files still to be read, and the results so far.
private final class CheckWork: Sendable {
  private struct State {
    var next = 0
    var reports: [FileReport]
    var failure: CheckError?
  }

  private let site: Site
  /// Indices of the files, largest first, so that no thread is left with a large one at the end; a file with two URLs once.
  private let order: [Int]
  private let known: @Sendable (String) -> [UInt8]?
  private let state: Locked<State>

  init(_ site: Site, _ urls: Set<String>?, _ known: @escaping @Sendable (String) -> [UInt8]?) {
    self.site = site
    self.known = known
    var locations: Set<PathKey> = []
    order = site.files.indices.filter { index in
      let file = site.files[index]
      return urls?.contains(file.url.text) != false && TextForm(file) != nil
        && file.size <= FileCheck.limit
        && locations.insert(PathKey(file.location)).inserted
    }.sorted { site.files[$1].size < site.files[$0].size }
    state = Locked(State(reports: Array(repeating: FileReport(), count: site.files.count)))
  }

  func run() {
    while let index = take() {
      let file = site.files[index]
      guard let form = TextForm(file) else { continue }
      do {
        let bytes = if let known = known(file.location) { known } else { try Self.bytes(of: file.location) }
        let report = FileCheck.report(site, file, form, bytes)
        state.withLock { $0.reports[index] = report }
      } catch {
        state.withLock { if $0.failure == nil { $0.failure = error } }
      }
    }
  }

  private func take() -> Int? {
    state.withLock { state in
      guard state.failure == nil, state.next < order.count else { return nil }
      defer { state.next += 1 }
      return order[state.next]
    }
  }

  private static func bytes(of location: String) throws(CheckError) -> [UInt8] {
    let bytes: [UInt8]?
    do {
      bytes = try DurableFile.read(location)
    } catch {
      throw .unreadable(location, error)
    }
    guard let bytes else { throw .gone(location) }
    return bytes
  }

  func finish() throws(CheckError) -> [FileReport] {
    if let failure = state.withLock({ $0.failure }) { throw failure }
    return state.withLock { $0.reports }
  }
}
