import Compression
import HTTP
import System
import XCacheDevice

/// Decodes the content codings of an answer (RFC 9110 §8.4), as Chromium does; a body that isn't coded at all, as libsoup does.
///
/// An empty body stays empty whatever its coding. Only the first member of gzip data counts; anything after it is ignored
/// ("this matches the behavior of other browsers", net/filter/gzip_source_stream.h), as is anything after the zstd frames.
/// A body that ends before its coding does is an error, which Chromium tolerates. "Some servers mistakenly claim to be sending
/// encoded data when in fact they aren't" (libsoup, soup-converter-wrapper.c): a body that doesn't begin as its coding does is
/// handed on unchanged.
///
/// A few bytes in two codings can take days to decode without producing output, so the caller is regularly asked whether to
/// go on.
package final class ContentDecoder {
  private let host: String
  /// In the order in which they are applied.
  private var layers: [Layer]
  private let isCancelled: @Sendable () -> Bool
  /// Bytes consumed and produced by the decoders since `isCancelled` was last called.
  private var work = 0

  /// The most codings of one answer: each can expand its input thousands of times.
  private static let maxCodings = 2
  /// Bytes of work, over all decoders, after which `isCancelled` is called.
  private static let checkInterval = 4 << 20

  /// Nil if a coding isn't known, or if there are too many; the body then stays as it is.
  ///
  /// - Parameters:
  ///   - codings: the codings in the order in which they were applied.
  ///   - host: the host to name in error messages.
  ///   - isCancelled: called regularly during decoding.
  init?(_ codings: [String], from host: String, isCancelled: @escaping @Sendable () -> Bool) {
    let known = codings.reversed().compactMap(Self.coding)
    guard known.count == codings.count, !known.isEmpty, known.count <= Self.maxCodings else { return nil }
    self.host = host
    self.isCancelled = isCancelled
    layers = zip(codings.reversed(), known).map { Layer($0, $1) }
  }

  private struct Layer {
    let name: String
    let coding: StreamDecoder.Coding
    let decoder: StreamDecoder
    /// All input until the first output; nil from then on.
    var start: [UInt8]? = []
    /// The body doesn't have the coding.
    var isPlain = false

    /// The most bytes of input without output to keep.
    static let maxStart = 16 << 10

    init(_ name: String, _ coding: StreamDecoder.Coding) {
      (self.name, self.coding) = (name, coding)
      decoder = StreamDecoder(coding, takesOne: true)
    }

    /// Whether the input begins as the coding does, so that an error means damage.
    var hasStarted: Bool {
      guard let start else { return true }
      return switch coding {
      case .gzip: start.starts(with: [0x1F, 0x8B])
      case .deflate: StreamDecoder.hasZlibHead(start)
      #if canImport(CBrotli)
        case .brotli: false
      #endif
      #if canImport(CZstd)
        // libsoup doesn't know it.
        case .zstd: true
      #endif
      }
    }

    /// Keeps the input as long as it isn't clear whether it is coded.
    mutating func keepStart(_ bytes: RawSpan) {
      guard let start else { return }
      self.start = start.count < Self.maxStart ? bytes.withUnsafeBytes { start + $0 } : nil
    }
  }

  private static func coding(_ name: String) -> StreamDecoder.Coding? {
    switch name {
    case "gzip", "x-gzip": return .gzip
    case "deflate": return .deflate
    #if canImport(CBrotli)
      case "br": return .brotli
    #endif
    #if canImport(CZstd)
      case "zstd": return .zstd
    #endif
    default: return nil
    }
  }

  /// Decodes the next bytes.
  /// - Parameters:
  ///   - bytes: the next bytes of the body.
  ///   - receive: takes the decoded bytes, piece by piece; an error that it throws ends the decoding.
  /// - Throws: `TransportError` if the bytes can't be decoded or nobody wants them any more, and whatever `receive` throws.
  package func decode(_ bytes: RawSpan, _ receive: (RawSpan) throws -> Void) throws {
    try decode(bytes, 0, receive)
  }

  private func decode(_ bytes: RawSpan, _ layer: Int, _ receive: (RawSpan) throws -> Void) throws {
    guard layer < layers.count else { return try receive(bytes) }
    if layers[layer].isPlain { return try decode(bytes, layer + 1, receive) }
    layers[layer].keepStart(bytes)
    do {
      try layers[layer].decoder.decode(bytes, worked: countWork) {
        layers[layer].start = nil
        try decode($0, layer + 1, receive)
      }
    } catch is CodingError {
      guard let start = layers[layer].start, !layers[layer].hasStarted else {
        throw TransportError(.broken, "\(host): the \(layers[layer].name) of the answer is damaged")
      }
      (layers[layer].isPlain, layers[layer].start) = (true, nil)
      try decode(start.span.bytes, layer + 1, receive)
    }
  }

  private func countWork(_ bytes: Int) throws {
    // Every step has a cost, even if hardly any bytes move.
    work += bytes + 64
    guard work >= Self.checkInterval else { return }
    work = 0
    if isCancelled() { throw TransportError(.stopped, "the caller ended it") }
  }

  /// Ends the decoding after the last bytes of the body.
  /// - Throws: `TransportError` if the coded data isn't complete.
  package func finish() throws(TransportError) {
    for layer in layers where !layer.isPlain && !layer.decoder.isEmpty {
      do throws(CodingError) {
        try layer.decoder.finish()
      } catch {
        throw TransportError(.broken, "\(host): the \(layer.name) of the answer ends early")
      }
    }
  }
}

extension NetworkHead {
  /// Prepares an answer for a page: returns its head, without the headers that don't hold for a decoded body, and the
  /// decoder. The decoder is nil if there is nothing to decode, or if a coding isn't known, in which case the head keeps
  /// those headers. A redirect that is followed is returned unchanged, since nobody reads its body.
  package static func decoded(
    _ received: HTTPHead, to request: NetworkRequest, host: String
  ) -> (head: NetworkHead, decoder: ContentDecoder?) {
    var raw = NetworkHead(received, url: request.url)
    raw.head.fields = forwardable(received.fields)
    if request.followsRedirects, Redirect(after: raw, to: request) != nil { return (raw, nil) }
    let codings = received.fields.members("content-encoding").filter { $0 != "identity" }
    guard let decoder = ContentDecoder(codings, from: host, isCancelled: request.isCancelled) else {
      return (raw, nil)
    }
    var head = raw
    head.head.fields = raw.headers.without(["content-encoding", "content-length"])
    let hasBody = request.method != "HEAD" && ![204, 304].contains(received.status)
    return (head, hasBody ? decoder : nil)
  }
}
