import System

extension Device {
  /// Verifies every listed file, and fetches those that are missing or damaged, as far as the disk limit allows.
  ///
  /// - Throws: `DeviceError`, at the first file that can't be fetched; those repaired before it stay.
  public func complete(
    progress: (@Sendable (Progress) -> Void)? = nil
  ) throws(DeviceError) -> CompletionReport {
    try job { () throws(DeviceError) in try runCompletion(progress) }
  }

  private func runCompletion(
    _ progress: (@Sendable (Progress) -> Void)?
  ) throws(DeviceError) -> CompletionReport {
    let index = try repair()
    var names: Set<CachedName> = []
    let entries = index.entries.filter { names.insert($0.name).inserted }
    let (bad, wrong) = try verifyFiles(entries)
    var report = CompletionReport()
    report.right = entries.count - bad.count
    report.wrong = wrong

    let absent = fitting(try supplyCopies(of: bad, &report))
    var seen: Set<SHA256> = []
    let fetched = absent.filter { seen.insert($0.sha256).inserted }
    let (folder, cache, now) = (folder, cache, now)
    let run = FetchRun(
      fetcher: fetcher(for: index.version), gate: gate, progress: progress)
    report.bytesFetched = try run.run(fetched, to: { folder.staged($0.sha256) }) {
      entry throws(DeviceError) in
      try cache.withLock { cache throws(DeviceError) in
        try cache.store(folder.staged(entry.sha256), for: entry, at: now())
      }
    }
    report.fetched = fetched.count
    // Entries with the same bytes as one that was just fetched.
    let twins = absent.filter { entry in !cache.withLock { $0.has(entry) } }
    for entry in try supplyCopies(of: twins, &report) {
      report.bytesFetched += try supply(entry, until: StopSignal()) ?? 0
      report.fetched += 1
    }
    return report
  }

  /// Returns the entries whose file is missing or wrong, and how many of those files existed; they are removed.
  private func verifyFiles(_ entries: [HeldEntry]) throws(DeviceError) -> (bad: [HeldEntry], wrong: Int) {
    let bad = Locked<Set<CachedName>>([])
    let (folder, cache) = (folder, cache)
    try Parallel.forEach(entries.count, threads: settings.connections) { index throws(DeviceError) in
      let entry = entries[index]
      let path = folder.file(entry.name)
      let mark = folder.mark(path)
      guard let mark, folder.digest(path) == entry.bytes else {
        return bad.withLock { _ = $0.insert(entry.name) }
      }
      cache.withLock { $0.markVerified(entry, as: mark) }
    }
    let names = bad.withLock { $0 }
    var wrong = 0
    for entry in entries where names.contains(entry.name) {
      if folder.status(folder.file(entry.name)) != nil { wrong += 1 }
      try cache.withLock { cache throws(DeviceError) in try cache.discard(entry) }
    }
    return (entries.filter { names.contains($0.name) }, wrong)
  }

  /// Copies the files that the device holds under another name into place, and returns the entries that remain.
  func supplyCopies(
    of entries: [HeldEntry], _ report: inout CompletionReport
  ) throws(DeviceError) -> [HeldEntry] {
    if entries.isEmpty { return [] }
    let held = holders()
    var rest: [HeldEntry] = []
    for entry in entries {
      let part = folder.incoming()
      var isCopied = false
      if let name = held[entry.sha256] { isCopied = try copyFile(folder.file(name), of: entry, to: part) }
      if !isCopied { isCopied = try copyFile(folder.aside(entry.sha256), of: entry, to: part) }
      guard isCopied else {
        rest.append(entry)
        continue
      }
      try cache.withLock { cache throws(DeviceError) in try cache.store(part, for: entry, at: now()) }
      report.copied += 1
    }
    return rest
  }

  /// Returns the entries that fit within the disk limit, the smallest first.
  func fitting(_ entries: [HeldEntry]) -> [HeldEntry] {
    let index = index
    var room = cache.withLock { $0.room(for: index) }
    if room == .max { return entries }
    return entries.sorted { $0.size < $1.size }.filter { entry in
      guard entry.blocks <= room else { return false }
      room -= entry.blocks
      return true
    }
  }

  private func holders() -> [SHA256: CachedName] {
    let (index, present) = cache.withLock { ($0.index, $0.present) }
    var holders: [SHA256: CachedName] = [:]
    for entry in index.entries where present.contains(entry.name) { holders[entry.sha256] = entry.name }
    return holders
  }
}
