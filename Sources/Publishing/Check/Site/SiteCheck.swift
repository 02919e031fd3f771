import Manifests
import Platform

/// Checks that the files of a release are whole among themselves.
package struct SiteCheck: Sendable {
  let site: Site
  private let options: CheckOptions

  package init(_ bundles: [CheckedBundle], _ options: CheckOptions = .all) {
    site = Site(bundles, others: options.others)
    self.options = options
  }

  /// What is found.
  /// - Parameter changed: URLs of the files that are read, unless one of them lacks something: for a release that takes
  ///   nothing away, whose other files were checked before. Nil: all.
  /// - Parameter live: asked once, where anything is missing, which of these URLs other live bundles hold: their
  ///   match keys.
  /// - Throws: `unreadable`, `changedWhileRead`; what `live` throws.
  package func report(
    changed: Set<String>? = nil,
    live: ([ResourceURL]) throws(PublishError) -> Set<String> = { (_) throws(PublishError) in [] }
  ) throws(PublishError) -> CheckReport {
    var reports = try read(changed)
    // What a missing file means depends on who loads the one that needs it.
    if changed != nil, reports.contains(where: { !$0.misses.isEmpty }) { reports = try read(nil) }
    let missing = reports.flatMap { $0.misses.map(\.url) }
    var judge = SiteJudge(site, reports, live: missing.isEmpty ? [] : try live(missing))
    var report = CheckReport()
    report.files = site.files.count
    report.bytesRead = reports.reduce(0) { $0 + $1.bytesRead }
    report.add(judge.findings().filter(options.wants))
    report.add(FileNames.findings(site, used: Set(reports.flatMap(\.used))).filter(options.wants))
    return report
  }

  /// The reports of all files, by their place in the site; those that aren't read are empty.
  private func read(_ urls: Set<String>?) throws(PublishError) -> [FileReport] {
    let work = CheckWork(site, urls)
    Parallel.run(threads: min(Parallel.cores, site.files.count)) { work.run() }
    return try work.finish()
  }
}

/// The files that are still to be read, and what came of the others.
private final class CheckWork: Sendable {
  private struct State {
    var next = 0
    var reports: [FileReport]
    var failure: PublishError?
  }

  private let site: Site
  /// The largest first, so that no thread is left alone with one at the end; a file with two URLs once.
  private let order: [Int]
  private let state: Locked<State>

  init(_ site: Site, _ urls: Set<String>?) {
    self.site = site
    var locations: Set<String> = []
    order = site.files.indices.filter { index in
      let file = site.files[index]
      return urls?.contains(file.url.text) != false && TextForm(file) != nil
        && file.source.status.size <= FileCheck.limit
        && locations.insert(file.source.location).inserted
    }.sorted { site.files[$1].source.status.size < site.files[$0].source.status.size }
    state = Locked(State(reports: Array(repeating: FileReport(), count: site.files.count)))
  }

  func run() {
    while let index = take() {
      let file = site.files[index]
      guard let form = TextForm(file) else { continue }
      do {
        let report = FileCheck.report(site, file, form, try Self.bytes(of: file.source))
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

  private static func bytes(of file: SourceFile) throws(PublishError) -> [UInt8] {
    let bytes: [UInt8]?
    do {
      bytes = try DurableFile.read(file.location)
    } catch {
      throw .unreadable(file.location, error)
    }
    guard let bytes else { throw .changedWhileRead(file.location) }
    return bytes
  }

  func finish() throws(PublishError) -> [FileReport] {
    if let failure = state.withLock({ $0.failure }) { throw failure }
    return state.withLock { $0.reports }
  }
}
