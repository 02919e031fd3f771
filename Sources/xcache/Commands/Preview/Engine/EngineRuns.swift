/// Pages in as many runs of the engine's program as they take: a page that it ends or hangs on costs that page alone.
struct EngineRuns {
  /// Runs after which it is given up.
  static let most = 5

  let program: EngineProgram
  let settings: EngineSettings
  let interruption: Interruption
  var trace: (@Sendable (String) -> Void)?

  /// What was seen of each page, in their order, and the engine's name.
  /// - Parameter progress: told how many are done.
  /// - Throws: `Failure`, where the program can't be had, or says what is no answer.
  func show(
    _ jobs: [EngineJob], progress: (Int) -> Void = { _ in }
  ) throws -> (reports: [PageReport], engine: String) {
    var (left, settings, engine) = (jobs, settings, "")
    var reports: [Int: PageReport] = [:]
    for run in 1...Self.most where !left.isEmpty {
      let process = try EngineProcess(program, settings, interruption, trace: trace)
      let before = reports.count
      let shown = try process.show(left) { progress(before + $0) }
      engine = shown.engine
      reports.merge(shown.reports) { $1 }
      guard let loss = shown.loss else { break }
      if let page = loss.page { reports[page] = PageReport(id: page, failure: loss.why) }
      left.removeAll { reports[$0.id] != nil }
      // Which of several pages it was shows one by one, those that were open before the others.
      if loss.page == nil { settings.parallel = 1 }
      left = left.filter { loss.pages.contains($0.id) } + left.filter { !loss.pages.contains($0.id) }
      guard run == Self.most else { continue }
      for job in left {
        reports[job.id] = PageReport(
          id: job.id, failure: "not opened: \(EngineProgram.name) exited on \(run) pages before it")
      }
    }
    return (jobs.compactMap { reports[$0.id] }, engine)
  }
}
