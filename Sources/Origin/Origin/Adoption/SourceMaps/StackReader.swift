import BuildCheck
import Manifests
import OriginAPI
import Store
import System
import Values

/// Finds out where the frames of stacks are in the source text, by the source maps that releases were published with.
struct StackReader: Sendable {
  private let store: Store
  private let cache: SourceMapCache

  /// Creates a reader, with a memory for the maps that it reads.
  init(store: Store) {
    self.store = store
    cache = SourceMapCache(store: store)
  }

  /// Returns the source positions of frames; nil where there is no map, or the map doesn't tell.
  ///
  /// A map that isn't in memory is read and parsed, which may take a second: call it on a worker, never on a loop.
  /// - Parameters:
  ///   - frames: the URL of a script or style, and a line and a column in it, both from 1; the innermost call comes first.
  ///   - version: the version whose files the stack is of.
  ///   - channel: the channel.
  /// - Returns: as many positions as there are frames, in their order.
  func positions(
    of frames: [(url: String, line: Int, column: Int)], version: ManifestVersion, channel: ChannelInfo
  ) -> [SourcePosition?] {
    let none = [SourcePosition?](repeating: nil, count: frames.count)
    let files = files(of: Set(frames.map(\.url)), version, channel)
    guard !files.isEmpty, let maps = try? store.sourceMaps(of: Set(files.values), in: channel),
      !maps.isEmpty
    else { return none }
    var places: [(place: SourceMap.Place, excerpt: SourceMap.Excerpt?)?] = frames.map { _ in nil }
    // One map after the other: all of them together may be more than is kept.
    for name in Set(maps.values) {
      guard let map = cache.map(name) else { continue }
      for (index, frame) in frames.enumerated() where files[frame.url].flatMap({ maps[$0] }) == name {
        places[index] = map.place(line: frame.line, column: frame.column).map { ($0, map.excerpt(at: $0)) }
      }
    }
    return places.indices.map { index in
      places[index].map { found in
        // What is at a call is the name of the function called, which the frame before is in.
        let caller = index + 1 < places.count ? places[index + 1] : nil
        return SourcePosition(
          file: found.place.file, line: found.place.line, column: found.place.column,
          function: caller?.place.name, excerpt: found.excerpt?.lines, excerptLine: found.excerpt?.firstLine)
      }
    }
  }

  /// Drops the maps that no stack was read with for some minutes.
  func dropOld() { cache.dropOld() }

  /// Returns the digests of the files that a version has under URLs; what it doesn't have isn't in it.
  private func files(of urls: Set<String>, _ version: ManifestVersion, _ channel: ChannelInfo)
    -> [String: SHA256]
  {
    var files: [String: SHA256] = [:]
    for url in urls {
      // A script may be requested with a query that its entry doesn't have.
      let plain = String(url.prefix { $0 != "?" && $0 != "#" })
      for text in plain == url ? [url] : [url, plain] where files[url] == nil {
        guard let known = try? ResourceURL(text) else { continue }
        files[url] = (try? store.entry(known, of: channel, at: version))?.sha256
      }
    }
    return files
  }
}
