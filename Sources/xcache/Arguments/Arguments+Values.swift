import Manifests
import Platform

extension Arguments {
  /// A file's bytes.
  static func file(_ path: String, limit: Int = 16 << 20) throws -> [UInt8] {
    guard let bytes = try DurableFile.read(path, limit: limit) else {
      throw Failure("there is no file \(path)")
    }
    return bytes
  }

  /// A version, as a decimal number.
  func version(_ name: String) throws(UsageError) -> ManifestVersion? {
    guard let text = try value(name) else { return nil }
    guard let version = ManifestVersion(text: text) else {
      throw UsageError("--\(name) \(text) is no version: a whole number from 0 on is needed")
    }
    return version
  }

  /// The moment that lies `90s`, `30m`, `6h` or `2d` ahead.
  func moment(ahead name: String) throws(UsageError) -> Instant? {
    guard let text = try value(name) else { return nil }
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()),
      (1...100_000).contains(count)
    else { throw UsageError("--\(name) \(text) is no span of time; write it like 30m, 6h or 2d") }
    return Instant(seconds: Clock.unixMilliseconds() / 1000 + count * unit)
  }
}
