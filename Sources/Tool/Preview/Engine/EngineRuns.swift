import PreviewProtocol

/// Opens pages in as many runs of the engine's program as needed: a page on which it ends or hangs costs only that page.
struct EngineRuns {
  /// The maximum number of runs.
  static let maxRuns = 5

  let program: EngineProgram
  let settings: EngineSettings
  let interruption: Interruption
  var trace: (@Sendable (String) -> Void)?

  /// Returns what was seen of each page, in order, and the engine's name. `progress` gets the number of pages done.
  /// - Throws: `PreviewError` if the program can't be started, or gives an invalid answer.
  func show(
    _ jobs: [EngineJob], progress: (Int) -> Void = { _ in }
  ) throws -> (reports: [PageReport], engine: String) {
    var (left, settings, engine) = (jobs, settings, "")
    var reports: [Int: PageReport] = [:]
    for run in 1...Self.maxRuns where !left.isEmpty {
      let process = try EngineProcess(program, settings, interruption, trace: trace)
      let before = reports.count
      let shown = try process.show(left) { progress(before + $0) }
      engine = shown.engine
      reports.merge(shown.reports) { $1 }
      guard let loss = shown.loss else { break }
      if let job = left.first(where: { $0.id == loss.page }) {
        reports[job.id] = PageReport(job, failure: loss.why)
      }
      left.removeAll { reports[$0.id] != nil }
      // To find out which of several pages it was, open them one by one, first those that were open.
      if loss.page == nil { settings.parallel = 1 }
      left = left.filter { loss.pages.contains($0.id) } + left.filter { !loss.pages.contains($0.id) }
      guard run == Self.maxRuns else { continue }
      for job in left {
        reports[job.id] = PageReport(
          job, failure: "not opened: \(EngineProgram.name) exited on \(run) pages before it")
      }
    }
    return (jobs.compactMap { reports[$0.id] }, engine)
  }
}
