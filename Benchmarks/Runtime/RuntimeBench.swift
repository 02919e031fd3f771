import Manifests
import System
import XCacheDevice
import XCacheRuntime

/// What a page's request costs: `runtime-bench prepare DIR`, then `runtime-bench run DIR` in a process of its own, so that
/// its memory is that of an app which was just started.
@main enum RuntimeBench {
  static let urls = 20_000
  static let requests = 10_000

  static func main() async throws {
    let words = CommandLine.arguments
    guard words.count == 3 else {
      print("usage: runtime-bench prepare|run DIR")
      return
    }
    if words[1] == "prepare" { return try await prepare(words[2]) }
    if try await run(words[2]) { return }
    Environment.exit(1)
  }

  static func settings(_ folder: String, memory: Int) -> RuntimeSettings {
    var device = DeviceSettings(folder: folder, server: "https://origin.test", app: "shop", hosts: ["m.test"])
    device.diskLimit = 1 << 30
    var settings = RuntimeSettings(device)
    settings.memoryLimit = memory
    return settings
  }

  /// A device that holds `urls` files.
  private static func prepare(_ folder: String) async throws {
    let runtime = try await Runtime(settings(folder, memory: 0), transport: Network(count: urls))
    let report = await runtime.handle(.launch)
    print("\(report?.fetched ?? 0) files, \((report?.bytesTotal ?? 0) >> 10) KB")
  }

  /// - Returns: whether every bar is met.
  private static func run(_ folder: String) async throws -> Bool {
    let empty = Memory.now
    let network = Network(count: 0)
    var isMet = true
    do {
      let runtime = try await Runtime(settings(folder, memory: 10 << 20), transport: network)
      print("memory after the start: \(Memory.now - empty) above the empty process")
      let first = try await ask(runtime, 0..<requests)
      let again = try await ask(runtime, (requests - 2_000)..<requests, rounds: 5)
      let above = Memory.now - empty
      isMet = bar("from memory, p50", again, 50, 30_000) && isMet
      _ = bar("from memory, p99", again, 99, nil)
      _ = bar("from the disk for the first time (read, hashed, kept), p50", first, 50, nil)
      print(
        """
        memory: \(runtime.counts.memoryBytes >> 10) KB of files are kept; \(above) above the empty process (bar 30720), \
        \(ProcessMemory.heapInUse >> 10) KB of them in use on the heap
        """)
      isMet = above.total <= 30 << 10 && isMet
      try await monitoring(runtime, times: again)
    }
    let runtime = try await Runtime(settings(folder, memory: 0), transport: network)
    _ = try await ask(runtime, 0..<requests)
    let disk = try await ask(runtime, 0..<requests)
    isMet = bar("from the disk, p50", disk, 50, 150_000) && isMet
    _ = bar("from the disk, p99", disk, 99, nil)
    print("over the network: \(network.asked) requests")
    return isMet && network.asked == 0
  }

  /// What it costs to count a request for the origin and the app, which every request pays.
  private static func monitoring(_ runtime: Runtime, times: [UInt64]) async throws {
    let page = runtime.open("https://m.test/index.html")
    let request = PageRequest("https://m.test/assets/chunk-1.js", destination: .script, page: page)
    let answer = await runtime.answer(request)
    let count = 1_000_000
    let begin = Clock.monotonicNanoseconds()
    for _ in 0..<count { runtime.count(answer, request, from: "1") }
    let counted = Clock.monotonicNanoseconds()
    for _ in 0..<count { runtime.passed(request, status: 200) }
    let passed = Clock.monotonicNanoseconds()
    let each = (counted - begin) / UInt64(count)
    print(
      """
      monitoring: \(each) ns a request (\(each * 1000 / max(1, times[times.count / 2])) ‰ of one from memory); \
      \((passed - counted) / UInt64(count)) ns more where it was passed on
      """)
    runtime.close(page)
  }

  /// Nanoseconds that each request took.
  private static func ask(_ runtime: Runtime, _ range: Range<Int>, rounds: Int = 1) async throws -> [UInt64] {
    var times: [UInt64] = []
    let page = runtime.open("https://m.test/index.html")
    runtime.pageCameUp(page)
    for _ in 0..<rounds {
      for number in range {
        let request = PageRequest(
          "https://m.test/assets/chunk-\(number).js", destination: .script, page: page)
        let begin = Clock.monotonicNanoseconds()
        let answer = await runtime.answer(request)
        guard case .local(let local) = answer, try local.body.collect().count == Network.size(number) else {
          fatalError("\(request.url): \(answer)")
        }
        times.append(Clock.monotonicNanoseconds() - begin)
      }
    }
    runtime.close(page)
    return times.sorted()
  }

  private static func bar(_ name: String, _ times: [UInt64], _ share: Int, _ limit: UInt64?) -> Bool {
    let value = times[times.count * share / 100]
    let tenths = value / 100
    print("\(name): \(tenths / 10).\(tenths % 10) µs\(limit.map { " (bar \($0 / 1000))" } ?? "")")
    return limit.map { value < $0 } ?? true
  }
}

/// Memory of this process, in KB.
private struct Memory: CustomStringConvertible {
  let total: Int
  /// Files', which the system shares with its cache and takes back at will.
  let files: Int

  static var now: Memory {
    Memory(total: (ProcessMemory.resident ?? 0) >> 10, files: (ProcessMemory.fileBacked ?? 0) >> 10)
  }

  static func - (a: Memory, b: Memory) -> Memory {
    Memory(total: a.total - b.total, files: a.files - b.files)
  }

  var description: String { "\(total) KB (\(total - files) anonymous, \(files) of files)" }
}
