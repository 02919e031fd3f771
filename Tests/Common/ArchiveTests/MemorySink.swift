import TestSupport

@testable import Archive

/// An archive that is written to memory.
final class MemorySink: ArchiveSink {
  private(set) var bytes: [UInt8] = []

  func write(_ bytes: RawSpan) throws(ArchiveError) {
    bytes.withUnsafeBytes { self.bytes.append(contentsOf: $0) }
  }
}

func written(_ inputs: [ArchiveInput], threads: Int = 1) throws -> [UInt8] {
  let sink = MemorySink()
  try Archive.write(inputs, threads: threads, to: sink)
  return sink.bytes
}

/// The contents of an archive by name; a folder's name ends with a slash.
func contents(_ bytes: [UInt8], limits: ArchiveLimits = .standard) throws -> [String: [UInt8]] {
  let archive = try Archive(ArchiveBytes(bytes), limits: limits)
  var contents: [String: [UInt8]] = [:]
  for entry in archive.entries {
    contents[entry.isFolder ? entry.name + "/" : entry.name] = try archive.bytes(of: entry, limit: 1 << 30)
  }
  return contents
}

/// Why an archive is refused, as `ArchiveError.kind`; nil if it is read.
func refusal(_ bytes: [UInt8], limits: ArchiveLimits = .standard) -> String? {
  do {
    _ = try contents(bytes, limits: limits)
    return nil
  } catch let error as ArchiveError {
    return error.kind
  } catch {
    return "\(error)"
  }
}

extension ArchiveError {
  /// The name of the case, without its associated values.
  var kind: String {
    switch self {
    case .notAnArchive: "notAnArchive"
    case .damaged(let part, _): "damaged \(part)"
    case .severalDisks: "severalDisks"
    case .wrongChecksum: "wrongChecksum"
    case .wrongSize: "wrongSize"
    case .overlap: "overlap"
    case .sameName: "sameName"
    case .encrypted: "encrypted"
    case .unknownMethod: "unknownMethod"
    case .link: "link"
    case .notAFile: "notAFile"
    case .unsafeName(_, let problem): "name \(problem)"
    case .tooMany: "tooMany"
    case .tooLarge: "tooLarge"
    case .ratioTooHigh: "ratioTooHigh"
    case .system: "system"
    case .input: "input"
    }
  }
}

enum Sample {
  /// Text, which deflate compresses.
  static func text(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    var line = 0
    while bytes.count < count {
      bytes += Array("line \(line &* 7919) of a page that has many lines\n".utf8)
      line += 1
    }
    return Array(bytes.prefix(count))
  }

  /// Random bytes, which can't be compressed.
  static func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var generator = SplitMix(seed: seed)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
  }
}
