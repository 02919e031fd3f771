import Compression
import System
import XCacheClient

/// Undoes the content codings of an answer (RFC 9110 §8.4), as Chromium does, and where a body isn't coded at all, as libsoup does.
///
/// An empty body is empty whatever its coding. Of gzip the first member counts; what follows it is passed over ("this matches the
/// behavior of other browsers", net/filter/gzip_source_stream.h), as is what follows the frames of zstd. A body that ends before its
/// coding does is an error, which Chromium lets pass. "Some servers mistakenly claim to be sending encoded data when in fact they
/// aren't" (libsoup, soup-converter-wrapper.c): what doesn't begin as its coding does is handed on as it came.
///
/// A few bytes in two codings may stand for days of work of which nothing comes out: whoever asked is asked meanwhile whether it is
/// to go on.
package final class ContentDecoder {
  private let host: String
  /// In the order in which they are undone.
  private var layers: [Layer]
  private let isCancelled: @Sendable () -> Bool
  /// Bytes that decoders took in and gave since `isCancelled` was asked.
  private var work = 0

  /// Codings of one answer at most: each multiplies what its bytes may stand for by thousands.
  private static let most = 2
  /// Bytes of work, of all decoders together, after which `isCancelled` is asked.
  private static let stretch = 4 << 20

  /// - Parameters:
  ///   - codings: in the order in which they were applied.
  ///   - host: for messages.
  ///   - isCancelled: asked while it works.
  /// Nil where one isn't known, or there are too many: then the body stays as it is.
  init?(_ codings: [String], from host: String, isCancelled: @escaping @Sendable () -> Bool) {
    let known = codings.reversed().compactMap(Self.coding)
    guard known.count == codings.count, !known.isEmpty, known.count <= Self.most else { return nil }
    self.host = host
    self.isCancelled = isCancelled
    layers = zip(codings.reversed(), known).map { Layer($0, $1) }
  }

  private struct Layer {
    let name: String
    let coding: StreamDecoder.Coding
    let decoder: StreamDecoder
    /// All that came, until something came of it; nil from then on.
    var start: [UInt8]? = []
    /// The body doesn't have the coding.
    var isPlain = false

    /// Bytes that may come to nothing before they count as a start.
    static let longestStart = 16 << 10

    init(_ name: String, _ coding: StreamDecoder.Coding) {
      (self.name, self.coding) = (name, coding)
      decoder = StreamDecoder(coding, takesOne: true)
    }

    /// Whether what came begins as the coding does, so that an error is damage.
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

    /// Keeps what comes, for as long as it isn't known whether it is coded.
    mutating func note(_ bytes: RawSpan) {
      guard let start else { return }
      self.start = start.count < Self.longestStart ? bytes.withUnsafeBytes { start + $0 } : nil
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
  /// - Parameter receive: takes what they stand for, piece by piece; what it throws ends the decoding.
  /// - Throws: `TransportError`, where they can't be decoded, or nobody wants them any more; what `receive` throws.
  package func decode(_ bytes: RawSpan, _ receive: (RawSpan) throws -> Void) throws {
    try decode(bytes, 0, receive)
  }

  private func decode(_ bytes: RawSpan, _ place: Int, _ receive: (RawSpan) throws -> Void) throws {
    guard place < layers.count else { return try receive(bytes) }
    if layers[place].isPlain { return try decode(bytes, place + 1, receive) }
    layers[place].note(bytes)
    do {
      try layers[place].decoder.decode(bytes, worked: count) {
        layers[place].start = nil
        try decode($0, place + 1, receive)
      }
    } catch is CodingError {
      guard let start = layers[place].start, !layers[place].hasStarted else {
        throw TransportError(.broken, "\(host): the \(layers[place].name) of the answer is damaged")
      }
      (layers[place].isPlain, layers[place].start) = (true, nil)
      try decode(start.span.bytes, place + 1, receive)
    }
  }

  private func count(_ bytes: Int) throws {
    // A step costs something also where next to nothing moves.
    work += bytes + 64
    guard work >= Self.stretch else { return }
    work = 0
    if isCancelled() { throw TransportError(.stopped, "the caller ended it") }
  }

  /// Notes that the body is over.
  /// - Throws: where the coding isn't.
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
  /// An answer as it came, made ready for a page: its head without what doesn't hold for a body that is decoded, and what decodes
  /// that; nil where there is nothing to undo, or nobody knows how, which its head then says. A redirect that is followed stays as
  /// it is: nobody reads its body.
  package static func decoded(
    _ status: Int, reason: String?, _ headers: [(name: String, value: String)], to request: NetworkRequest,
    host: String
  ) -> (head: NetworkHead, decoder: ContentDecoder?) {
    var raw = NetworkHead(status: status, headers: handedOn(headers), url: request.url)
    raw.reason = reason
    if request.followsRedirects, Redirect(after: raw, to: request) != nil { return (raw, nil) }
    let codings = headers.filter { $0.name.lowercased() == "content-encoding" }
      .flatMap { $0.value.split(separator: ",") }
      .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
      .filter { !$0.isEmpty && $0 != "identity" }
    guard let decoder = ContentDecoder(codings, from: host, isCancelled: request.isCancelled) else {
      return (raw, nil)
    }
    let gone: Set<String> = ["content-encoding", "content-length"]
    var head = NetworkHead(
      status: status, headers: handedOn(headers.filter { !gone.contains($0.name.lowercased()) }),
      url: request.url)
    head.reason = reason
    let hasBody = request.method != "HEAD" && ![204, 304].contains(status)
    return (head, hasBody ? decoder : nil)
  }
}
