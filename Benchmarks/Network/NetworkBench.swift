import System

/// What the runtime's network costs and gives: `network-bench prefetch FOLDER`, and `network-bench names HOST PORT AUTHORITIES`,
/// which `Benchmarks/names.sh` runs against name servers that hang, lie and are down. `Tests/Exchanges/run.py` drives the rest.
@main enum NetworkBench {
  static func main() async throws {
    let words = CommandLine.arguments.dropFirst()
    switch (words.first, words.count) {
    case ("prefetch", 2): try await PrefetchBench.run(in: words.last ?? "")
    case ("names", 4):
      let rest = Array(words.dropFirst())
      NamesBench(host: rest[0], port: rest[1], authorities: rest[2]).run()
    case ("exchanges", 1): try await ExchangeProbe.run()
    case ("upload", 3):
      let rest = Array(words.dropFirst())
      try await ExchangeProbe.upload(rest[0], bytes: Int64(rest[1]) ?? 0)
    default:
      print("network-bench prefetch FOLDER | names HOST PORT AUTHORITIES | exchanges | upload URL BYTES")
      Environment.exit(2)
    }
  }

  static func milliseconds(since start: UInt64) -> Int {
    Int((Clock.monotonicNanoseconds() - start) / 1_000_000)
  }
}
