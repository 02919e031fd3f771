import BuildCheck
import Manifests
import OriginAPI
import Store
import System
import Values

/// Finds out where the frames of stacks are in the source text, by the source maps that releases were published with.
struct StackReader: Sendable {
  /// A line and column of a script or style, both from 1.
  struct Frame: Hashable, Sendable {
    let url: String
    let line: Int
    let column: Int
  }

  private typealias Found = (place: SourceMap.Place, excerpt: SourceMap.Excerpt?)

  private let store: Store
  private let cache: SourceMapCache
  /// Nanoseconds after which no further place is looked up: each one may be behind all of a map's source text.
  private let time: UInt64
  /// Nanoseconds after which no further map is read, and those in memory are enough: reading one may take a second.
  private let reading: UInt64

  /// Creates a reader, with a memory for the maps that it reads.
  init(store: Store, time: UInt64 = 1_000_000_000, reading: UInt64 = 1_000_000_000) {
    self.store = store
    self.time = time
    self.reading = reading
    cache = SourceMapCache(store: store)
  }

  /// Returns the source positions of the frames of stacks; nil where there is no map, the map doesn't tell, or the time is over.
  ///
  /// A map that isn't in memory is read and parsed, which may take a second: call it on a worker, never on a loop. Of many large maps
  /// only some are read, and nothing more once the caller's client has gone.
  /// - Parameters:
  ///   - stacks: the frames of each, the innermost call first. Those of the first stacks are looked up first.
  ///   - version: the version whose files the stacks are of.
  ///   - channel: the channel.
  /// - Returns: as many positions as there are frames, in their order.
  func positions(of stacks: [[Frame]], version: ManifestVersion, channel: ChannelInfo)
    -> [[SourcePosition?]]
  {
    let places = places(of: stacks, version, channel)
    return stacks.map { stack in
      stack.indices.map { index in
        places[stack[index]].map { found in
          // What is at a call is the name of the function called, which the frame before is in.
          let caller = index + 1 < stack.count ? places[stack[index + 1]] : nil
          return SourcePosition(
            file: found.place.file, line: found.place.line, column: found.place.column,
            function: caller?.place.name, excerpt: found.excerpt?.lines, excerptLine: found.excerpt?.firstLine
          )
        }
      }
    }
  }

  /// Looks up each frame once: many stacks have frames in common.
  private func places(of stacks: [[Frame]], _ version: ManifestVersion, _ channel: ChannelInfo)
    -> [Frame: Found]
  {
    var known: Set<Frame> = []
    let frames = stacks.joined().filter { !$0.url.isEmpty && $0.line > 0 && known.insert($0).inserted }
    let files = files(of: Set(frames.map(\.url)), version, channel)
    guard !files.isEmpty, let maps = try? store.sourceMaps(of: Set(files.values), in: channel),
      !maps.isEmpty
    else { return [:] }
    var places: [Frame: Found] = [:]
    var (spent, names): (UInt64, Set<SHA256>) = (0, [])
    let start = Clock.monotonicNanoseconds()
    // One map after the other: all of them together may be more than is kept.
    for frame in frames {
      guard let name = files[frame.url].flatMap({ maps[$0] }), names.insert(name).inserted else { continue }
      if Cancellation.current?.isCancelled == true { return places }
      // Others may be reading meanwhile: the time that one waits for them counts, too.
      let isLate = Clock.monotonicNanoseconds() &- start >= reading
      guard let map = isLate ? cache.kept(name) : cache.map(name) else { continue }
      let began = Clock.monotonicNanoseconds()
      for frame in frames where files[frame.url].flatMap({ maps[$0] }) == name {
        places[frame] = map.place(line: frame.line, column: frame.column).map { ($0, map.excerpt(at: $0)) }
        if spent &+ (Clock.monotonicNanoseconds() &- began) >= time { return places }
      }
      spent &+= Clock.monotonicNanoseconds() &- began
    }
    return places
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
