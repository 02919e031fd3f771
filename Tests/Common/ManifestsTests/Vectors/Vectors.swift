import System
import TestSupport

@testable import Manifests
@testable import Values

/// The files of docs/vectors.
enum Vectors {
  private static let folder = Repository.root + "/docs/vectors"

  /// Whether to write the generated vectors again: `XCACHE_RECORD=1`.
  static var areRecorded: Bool { Environment.variables["XCACHE_RECORD"] == "1" }

  static func bytes(_ name: String) throws -> [UInt8] {
    guard let bytes = try DurableFile.read("\(folder)/\(name)") else { throw JSONError.member(name) }
    return bytes
  }

  static func json(_ name: String) throws -> JSONValue { try JSONValue.parse(bytes(name)) }

  static func cases(_ name: String) throws -> [JSONValue] { try json(name).array ?? [] }

  static func write(_ bytes: [UInt8], _ name: String) throws {
    try Kernel.makeFolder(DurableFile.parent(of: "\(folder)/\(name)"))
    try DurableFile.write(bytes, to: "\(folder)/\(name)")
  }

  /// One case per line, for readable diffs.
  static func lines(_ cases: [JSONValue]) -> String {
    "[\n" + cases.map { String(decoding: $0.canonical, as: UTF8.self) }.joined(separator: ",\n") + "\n]"
  }

  /// The bytes after the edits of a case.
  static func edited(_ bytes: [UInt8], _ edits: [JSONValue]) -> [UInt8] {
    var bytes = bytes
    for edit in edits {
      if let at = edit["at"]?.integer, let xor = edit["xor"]?.integer {
        bytes[Int(at)] ^= UInt8(xor)
      } else if let cut = edit["cut"]?.integer {
        bytes = Array(bytes.prefix(Int(cut)))
      } else {
        bytes += hex(edit["append"]?.string ?? "")
      }
    }
    return bytes
  }

  static func hex(_ text: String) -> [UInt8] {
    let digits = text.utf8.compactMap { ASCII.hexValue($0) }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}

extension JSONValue {
  /// A resourcemap as a manifest.
  func manifest(_ version: Int64) throws -> Manifest {
    let items = try (object ?? JSONObject()).members.map {
      ManifestItem(url: try ResourceURL($0.key), entry: try Entry(json: $0.value))
    }
    return Manifest(version: ManifestVersion(version), items: items)
  }

  func text(_ key: String) throws -> String { try string(key) }

  func count(_ key: String) throws -> Int64 { try size(key) }
}
