import BuildCheck
import Manifests
import System
import Values

/// Which source maps of a folder belong to which scripts and styles of a build.
package struct SourceMapPairing: Hashable, Sendable {
  /// A map that belongs to nothing, and why.
  package struct Unpaired: Hashable, Sendable {
    /// The path below the folder.
    package let path: String
    /// Nil: no file of the build names it, or is named like it.
    package let reason: String?
  }

  /// How many maps the folder has.
  package private(set) var found = 0
  /// The paths of the scripts and styles, as `SourceFile.location`, and the maps that belong to them.
  package private(set) var pairs: [String: SourceFile] = [:]
  /// The maps that belong to none, by path.
  package private(set) var unpaired: [Unpaired] = []

  /// How many maps belong to something.
  package var paired: Int { found - unpaired.count }

  /// Pairs every `*.map` below `folder` with files of a build: by the `sourceMappingURL` in a file's last lines, else by the name
  /// without `.map`, else by the map's member `file`. Of maps with the same name, the one whose folders are the most alike counts.
  /// - Parameters:
  ///   - folder: the maps' folder, which may be the build's own.
  ///   - files: the build's files.
  ///   - kept: bytes of files that were read before.
  /// - Throws: `noSourceMaps` if there is none, or none belongs to the build; `PublishError` of the scan.
  init(_ folder: String, _ files: [SourceFile], keeping kept: RetainedBytes = RetainedBytes())
    throws(PublishError)
  {
    let maps = try Self.maps(in: folder)
    found = maps.count
    let scripts = files.filter { Self.hasMap($0.path) }
    let names = PathIndex(maps.map(\.path))
    var taken: Set<Int> = []
    var without: [SourceFile] = []
    for script in scripts {
      let tail = try Self.tail(of: script, kept)
      let wanted = [Self.reference(in: tail, of: script.path), script.path + ".map"].compactMap(\.self)
      guard let index = wanted.lazy.compactMap({ names.nearest(to: $0) }).first else {
        without.append(script)
        continue
      }
      taken.insert(index)
      pairs[script.location] = maps[index]
    }
    try addNamed(maps, taken, without)
    guard !pairs.isEmpty else { throw .noSourceMaps(folder, found: found) }
  }

  /// Reads the maps: one that isn't a map belongs to nothing, and one whose member `file` names a file without a map belongs to that.
  private mutating func addNamed(_ maps: [SourceFile], _ taken: Set<Int>, _ without: [SourceFile])
    throws(PublishError)
  {
    let names = PathIndex(without.map(\.path))
    for (index, map) in maps.enumerated() {
      let read: SourceMap
      do {
        read = try SourceMap(try Self.bytes(of: map))
      } catch let error as SourceMapError {
        pairs = pairs.filter { $0.value != map }
        unpaired.append(Unpaired(path: map.path, reason: error.message))
        continue
      } catch let error as PublishError {
        throw error
      } catch {
        continue
      }
      if taken.contains(index) { continue }
      if let script = read.file.flatMap(names.nearest(to:)), pairs[without[script].location] == nil {
        pairs[without[script].location] = map
      } else {
        unpaired.append(Unpaired(path: map.path, reason: nil))
      }
    }
  }

  private static func maps(in folder: String) throws(PublishError) -> [SourceFile] {
    guard let pattern = Glob("*.map") else { return [] }
    do {
      return try Scan.files(in: folder, FileFilter(include: [pattern]))
    } catch .nothingToPublish {
      throw .noSourceMaps(folder, found: 0)
    }
  }

  /// Whether a file is a script or a style.
  private static func hasMap(_ path: String) -> Bool {
    [".js", ".mjs", ".cjs", ".css"].contains { path.hasSuffix($0) }
  }

  /// The bytes at the end of a file in which its last lines are.
  private static let tailSize: Int64 = 4096

  private static func tail(of file: SourceFile, _ kept: RetainedBytes) throws(PublishError) -> [UInt8] {
    if let bytes = kept.bytes(of: file.location) { return Array(bytes.suffix(Int(tailSize))) }
    let size = min(file.status.size, tailSize)
    return try read(file, from: file.status.size - size, count: Int(size))
  }

  private static func bytes(of map: SourceFile) throws(PublishError) -> [UInt8] {
    // A larger one isn't read: `SourceMap` refuses it by its size.
    let limit = Int64(SourceMap.sizeLimit) + 1
    return try read(map, from: 0, count: Int(min(map.status.size, limit)))
  }

  private static func read(_ file: SourceFile, from start: Int64, count: Int) throws(PublishError) -> [UInt8]
  {
    let reader = try FileReader(file)
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let result = bytes.withUnsafeMutableBytes { buffer in
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
        return Result { () throws(PublishError) in try reader.read(at: start + Int64(filled), into: rest) }
      }
      let more = try result.get()
      if more == 0 { throw .changedWhileRead(file.location) }
      filled += more
    }
    return bytes
  }

  /// Returns the path of the map that a file's last lines name, below the published folder: `//# sourceMappingURL=a.js.map`; nil if they
  /// name none, or have it in themselves.
  static func reference(in tail: [UInt8], of path: String) -> String? {
    let text = String(decoding: tail, as: UTF8.self)
    guard
      let mark = ["# sourceMappingURL=", "@ sourceMappingURL="].compactMap({ text.lastRange(of: $0) })
        .max(by: { $0.lowerBound < $1.lowerBound })
    else { return nil }
    let url = text[mark.upperBound...].prefix { !$0.isWhitespace && !"'\"*?#".contains($0) }
    guard !url.isEmpty, !url.hasPrefix("data:") else { return nil }
    var parts = path.split(separator: "/").dropLast().map(String.init)
    var rest = Substring(url)
    if let scheme = rest.firstRange(of: "://") {
      // Of another host's URL, the path is compared.
      rest = rest[scheme.upperBound...].drop { $0 != "/" }
      parts = []
    } else if rest.hasPrefix("/") {
      parts = []
    }
    let decoded = String(decoding: PercentEncoding.decodeLeniently(rest.utf8), as: UTF8.self)
    for part in decoded.split(separator: "/") where part != "." {
      if part == ".." { _ = parts.popLast() } else { parts.append(String(part)) }
    }
    return parts.isEmpty ? nil : parts.joined(separator: "/")
  }
}

/// Finds paths by their last names.
private struct PathIndex {
  private let paths: [[Substring]]
  private let indices: [Substring: [Int]]

  init(_ paths: [String]) {
    let parts = paths.map { $0.split(separator: "/") }
    self.paths = parts
    indices = Dictionary(grouping: parts.indices) { parts[$0].last ?? "" }
  }

  /// Returns the path with the same name that has the most folders in common with `path`, from the name upwards; nil if there is none,
  /// or more than one.
  func nearest(to path: String) -> Int? {
    let wanted = path.split(separator: "/")
    guard let name = wanted.last, let found = indices[name] else { return nil }
    let scored = found.map {
      (index: $0, score: zip(paths[$0].reversed(), wanted.reversed()).prefix(while: ==).count)
    }
    guard let best = scored.map(\.score).max() else { return nil }
    let nearest = scored.filter { $0.score == best }
    // One that is at the very path is meant, whatever else ends like it.
    if nearest.count > 1 {
      return nearest.first { paths[$0.index].count == wanted.count && best == wanted.count }?.index
    }
    return nearest.first?.index
  }
}

extension StringProtocol {
  fileprivate func firstRange(of text: String) -> Range<Index>? { ranges(of: text).first }
  fileprivate func lastRange(of text: String) -> Range<Index>? { ranges(of: text).last }
}
