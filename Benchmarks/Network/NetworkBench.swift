import System

/// What the runtime's network costs and gives: `network-bench prefetch FOLDER`, and `network-bench names HOST PORT AUTHORITIES`,
/// which `Benchmarks/names.sh` runs against name servers that hang, lie and are down.
@main enum NetworkBench {
  static func main() async throws {
    let words = CommandLine.arguments.dropFirst()
    switch (words.first, words.count) {
    case ("prefetch", 2): try await PrefetchBench.run(in: words.last ?? "")
    case ("names", 4):
      let rest = Array(words.dropFirst())
      NamesBench(host: rest[0], port: rest[1], authorities: rest[2]).run()
    default:
      print("network-bench prefetch FOLDER | names HOST PORT AUTHORITIES")
      Environment.exit(2)
    }
  }

  static func milliseconds(since start: UInt64) -> Int {
    Int((Clock.monotonicNanoseconds() - start) / 1_000_000)
  }
}
