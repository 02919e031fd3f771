import System

/// `xcache-fleet`: a simulated fleet, on the code by which devices and origins decide about rollouts.
enum FleetTool {
  static func main() {
    let words = Array(CommandLine.arguments.dropFirst())
    if words.contains("--help") || words.contains("-h") { return print(FleetOptions.usage, terminator: "") }
    if words.first == "ramps" { return ramps(Array(words.dropFirst())) }
    if words.first == "counts" { return counts(Array(words.dropFirst())) }
    do {
      let options = try FleetOptions(words, environment: Environment.variables)
      if options.origin != nil { Environment.exit(try FleetSample(options).run() ? 0 : 1) }
      try run(options)
    } catch let error as UsageError {
      fail(error.text, status: 2)
    } catch {
      fail("\(error)", status: 1)
    }
  }

  private static func ramps(_ words: [String]) {
    for (place, word) in words.enumerated() where place != 2 && (Int(word) ?? 0) < 1 {
      fail("\"\(word)\" isn't a number; see xcache-fleet --help", status: 2)
    }
    Ramps.run(words)
  }

  private static func counts(_ words: [String]) {
    guard words.count <= 4, let devices = Int(words.first ?? "1000000"), (1...10_000_000).contains(devices),
      let reports = Double(words.dropFirst().first ?? "1"), (0.01...100).contains(reports),
      let days = Int(words.dropFirst(2).first ?? "40"), (1...365).contains(days),
      let seed = UInt64(words.dropFirst(3).first ?? "1")
    else { fail("counts takes numbers; see xcache-fleet --help", status: 2) }
    do {
      var run = try CountedRun(
        devices: devices, reports: Int((reports * 100).rounded()), days: days, seed: seed)
      print(CountedRun.head)
      try run.run { print($0) }
      print(run.summary)
      Environment.exit(run.isRight ? 0 : 1)
    } catch {
      fail("\(error)", status: 1)
    }
  }

  private static func run(_ options: FleetOptions) throws {
    let began = Clock.monotonicNanoseconds()
    var run = try FleetRun(options)
    if !options.isJSON { print(FleetTable.head) }
    try run.run { if !options.isJSON { print(FleetTable.line($0)) } }
    let milliseconds = (Clock.monotonicNanoseconds() - began) / 1_000_000
    if options.isJSON {
      print(String(decoding: FleetTable.document(run).canonical, as: UTF8.self))
    } else {
      print(FleetTable.summary(run, milliseconds: milliseconds))
    }
  }

  static func fail(_ text: String, status: Int32) -> Never {
    try? StandardStream.error.write(Array("xcache-fleet: \(text)\n".utf8))
    Environment.exit(status)
  }
}
