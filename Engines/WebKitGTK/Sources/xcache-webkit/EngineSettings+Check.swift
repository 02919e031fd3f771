import PreviewProtocol

extension EngineSettings {
  /// - Throws: `Refusal` if a value is invalid.
  func check() throws {
    func within(_ value: Double?, _ range: ClosedRange<Double>, _ name: String) throws {
      if let value, !range.contains(value) {
        throw Refusal(
          "\(name) is \(value), but must be from \(Int(range.lowerBound)) to \(Int(range.upperBound))")
      }
    }
    try within(width.map(Double.init), 100...8_192, "width")
    try within(height.map(Double.init), 100...8_192, "height")
    try within(parallel.map(Double.init), 1...16, "parallel")
    try within(memory.map(Double.init), 128...65_536, "memory")
    try within(network?.delay, 0...60_000, "network.delay")
    try within(network?.kilobitsPerSecond, 1...100_000_000, "network.kilobitsPerSecond")
  }
}

/// The reason why the helper can't do something.
struct Refusal: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
