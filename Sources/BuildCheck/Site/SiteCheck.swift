import Manifests
import System

/// Why files can't be checked.
package enum CheckError: Error, Sendable {
  /// Thrown when a file is there and can't be read.
  case unreadable(String, SystemError)
  /// Thrown when a file went after the folder was listed.
  case gone(String)
}

/// Checks that the files of a release are whole among themselves.
package struct SiteCheck: Sendable {
  package let site: Site
  private let options: CheckOptions
  private let known: @Sendable (String) -> [UInt8]?

  /// - Parameter known: gives the bytes of the file at a path, where somebody has read them; nil: it is read here.
  package init(
    _ bundles: [CheckedBundle], _ options: CheckOptions = .all,
    known: @escaping @Sendable (String) -> [UInt8]? = { _ in nil }
  ) {
    site = Site(bundles, others: options.others)
    self.options = options
    self.known = known
  }

  /// What the files say, before it is known what is live beside them.
  package struct Reading: Sendable {
    fileprivate let reports: [FileReport]

    /// What isn't there though something refers to it.
    package var missing: [ResourceURL] { reports.flatMap { $0.misses.map(\.url) } }
  }

  /// Reads the files.
  /// - Parameter changed: URLs of the files that are read, unless one of them lacks something: for a release that takes
  ///   nothing away, whose other files were checked before. Nil: all.
  package func read(changed: Set<String>? = nil) throws(CheckError) -> Reading {
    var reports = try reports(changed)
    // What a missing file means depends on who loads the one that needs it.
    if changed != nil, reports.contains(where: { !$0.misses.isEmpty }) { reports = try self.reports(nil) }
    return Reading(reports: reports)
  }

  /// What is found.
  /// - Parameter live: the match keys of those missing URLs that other live bundles hold.
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

  /// The reports of all files, by their place in the site; those that aren't read are empty.
  private func reports(_ urls: Set<String>?) throws(CheckError) -> [FileReport] {
    let work = CheckWork(site, urls, known)
    Parallel.run(threads: min(Environment.cores, site.files.count)) { work.run() }
    return try work.finish()
  }
}

/// The files that are still to be read, and what came of the others.
private final class CheckWork: Sendable {
  private struct State {
    var next = 0
    var reports: [FileReport]
    var failure: CheckError?
  }

  private let site: Site
  /// The largest first, so that no thread is left alone with one at the end; a file with two URLs once.
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
