import Compression
import Glibc
import System

/// Measures the deltas of one folder's files over another's, without a server:
///
///     delta-bench OLD NEW [--exhaustive]
///
/// Prints a line for each new file, then the sums, seconds and peak memory. `--exhaustive` tries every old file for
/// each new one and ends with 1 where one has a relative that was not found.
enum DeltaBench {
  struct File {
    let path: String
    let bytes: [UInt8]
    let sha256: SHA256
    let entry: BaseFinder.File
  }

  struct Result {
    let file: File
    let plain: Int
    let delta: DeltaTrial.Delta?
  }

  static func run() {
    let arguments = CommandLine.arguments.dropFirst().filter { !$0.hasPrefix("--") }
    guard arguments.count == 2 else { stop("delta-bench OLD NEW [--exhaustive]") }
    let start = Clock.monotonicNanoseconds()
    let old = files(arguments[arguments.startIndex])
    let held = Set(old.map(\.sha256))
    let new = files(arguments[arguments.startIndex + 1]).filter { !held.contains($0.sha256) }
    var finder = BaseFinder(wanted: new.map(\.entry.sketch))
    for file in old { finder.add(file.entry) }
    finder.seal()
    let sealed = finder
    let next = Locked(0)
    let results = Locked<[Result]>([])
    let order = new.sorted { $0.bytes.count > $1.bytes.count }
    let threads = (0..<Environment.cores).compactMap { number in
      try? OSThread(name: "delta-\(number)") {
        while let index = next.withLock({ next -> Int? in
          defer { next += 1 }
          return next < order.count ? next : nil
        }) {
          let result = measure(order[index], sealed, old)
          results.withLock { $0.append(result) }
        }
      }
    }
    for thread in threads { thread.join() }
    report(results.withLock { $0 }, seconds: Double(Clock.monotonicNanoseconds() - start) / 1e9)
    if CommandLine.arguments.contains("--exhaustive") { exhaust(results.withLock { $0 }, old) }
  }

  private static func measure(_ file: File, _ finder: BaseFinder, _ old: [File]) -> Result {
    let plain = plain(file)
    let bases = finder.bases(for: file.entry)
    let delta = DeltaTrial.best(of: file.bytes, sha256: file.sha256, plain: plain, bases: bases.count) {
      DeltaTrial.Base(sha256: old[bases[$0]].sha256, bytes: old[bases[$0]].bytes)
    }
    return Result(file: file, plain: plain, delta: delta)
  }

  private static func plain(_ file: File) -> Int {
    guard isText(file.path), file.bytes.count >= 512 else { return file.bytes.count }
    return min(
      Gzip.encode([file.bytes]).count, Zstd.encode([file.bytes], level: 9).count, file.bytes.count)
  }

  private static func report(_ results: [Result], seconds: Double) {
    for result in results.sorted(by: { $0.file.path < $1.file.path }) {
      let kept = result.delta.map { "\($0.coded.count)" } ?? "-"
      print("\(result.file.bytes.count)\t\(result.plain)\t\(kept)\t\(result.file.path)")
    }
    func sum(_ count: (Result) -> Int) -> Int { results.reduce(0) { $0 + count($1) } }
    var usage = rusage()
    getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
    print("new files        \(results.count)")
    print("raw              \(sum { $0.file.bytes.count })")
    print("gzip -9          \(sum { Gzip.encode([$0.file.bytes], level: 9).count })")
    print("plain            \(sum(\.plain))")
    print("deltas           \(results.count { $0.delta != nil })")
    print("delta bytes      \(sum { $0.delta?.coded.count ?? 0 })")
    print("update bytes     \(sum { $0.delta?.coded.count ?? $0.plain })")
    print("seconds          \((seconds * 100).rounded() / 100)")
    print("peak MB          \(usage.ru_maxrss / 1000)")
  }

  /// "Each new file for which trying all older files at level 3 gives under 60 % has a delta."
  private static func exhaust(_ results: [Result], _ old: [File]) {
    var lost = 0
    for result in results where result.delta == nil {
      let best = old.compactMap {
        Dcz.encode(result.file.bytes, base: $0.bytes, baseSHA256: $0.sha256, level: Dcz.fastLevel)?.count
      }.min()
      if let best, best <= DeltaTrial.limit(plain: result.plain) {
        lost += 1
        print("no delta, but \(best) of \(result.plain) bytes at level 3: \(result.file.path)")
      }
    }
    print("relatives lost   \(lost)")
    Environment.exit(lost == 0 ? 0 : 1)
  }

  private static func files(_ folder: String) -> [File] {
    var files: [File] = []
    var waiting = [folder]
    while let path = waiting.popLast() {
      guard let names = try? Folder.textNames(path) else { stop("\(path) can't be read") }
      for name in names.sorted() {
        let full = "\(path)/\(name)"
        guard let status = try? Kernel.status(full) else { continue }
        if status.kind == .folder {
          waiting.append(full)
        } else if let bytes = try? DurableFile.read(full) {
          let path = String(full.dropFirst(folder.count))
          let entry = BaseFinder.File(
            name: StableName(path: path), size: bytes.count,
            sketch: Sketch(bytes, isText(path) ? .tokens : .chunks))
          files.append(File(path: path, bytes: bytes, sha256: SHA256.of(bytes), entry: entry))
        }
      }
    }
    return files
  }

  private static func isText(_ path: String) -> Bool {
    [".js", ".css", ".html", ".json", ".svg", ".mjs", ".txt", ".ttf"].contains { path.hasSuffix($0) }
  }

  private static func stop(_ words: String) -> Never {
    print(words)
    Environment.exit(2)
  }
}
