import Compression
import Manifests
import System
import Testing

extension FakeOrigin {
  /// Serves a first pack of these files, in their order, and names it in every answer; `change` may spoil it.
  /// - Parameters:
  ///   - files: the bytes of each file.
  ///   - listed: what the list says of them; nil for the truth.
  ///   - size: the size that the answers name; nil for the truth.
  @discardableResult
  package func offerFirst(
    _ files: [[UInt8]], listed: [FirstPackItem]? = nil, size: Int64? = nil,
    _ change: (inout [UInt8]) -> Void = { _ in }
  ) throws -> (url: String, bytes: [UInt8]) {
    let items = files.map { FirstPackItem(SHA256.of($0), size: Int64($0.count)) }
    let head = try FirstPackHead(version: ManifestVersion(1), items: listed ?? items)
    var bytes = head.bytes + (try #require(PackFrame.encode(Array(files.joined()), level: 3)))
    change(&bytes)
    let url = "https://cdn.test/x/xcache/shop/pack/0-1-\(SHA256.of(bytes).hex.prefix(16)).xpk"
    serve(bytes, at: url)
    say(#","first":{"download":"\#(url)","size":\#(size ?? Int64(bytes.count))}"#)
    return (url, bytes)
  }
}
