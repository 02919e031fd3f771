import Compression
import XCacheClient

/// Undoes the content codings of an answer (RFC 9110 §8.4), as Chromium does.
///
/// An empty body is empty whatever its coding. Of gzip the first member counts; what follows it is passed over ("this matches the
/// behavior of other browsers", net/filter/gzip_source_stream.h). A body that ends before its coding does is an error, which
/// Chromium lets pass.
package final class ContentDecoder {
  private let host: String
  private let names: [String]
  /// In the order in which they are undone.
  private let decoders: [StreamDecoder]

  /// Codings of one answer at most.
  private static let most = 5

  /// - Parameters:
  ///   - codings: in the order in which they were applied.
  ///   - host: for messages.
  /// Nil where one isn't known: then the body stays as it is.
  fileprivate init?(_ codings: [String], from host: String) {
    let known = codings.reversed().compactMap(Self.coding)
    guard known.count == codings.count, !known.isEmpty, known.count <= Self.most else { return nil }
    self.host = host
    names = codings.reversed()
    decoders = known.map { StreamDecoder($0, takesOne: true) }
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
  /// - Throws: `TransportError`, where they can't be decoded; what `receive` throws.
  package func decode(_ bytes: RawSpan, _ receive: (RawSpan) throws -> Void) throws {
    try decode(bytes, 0, receive)
  }

  private func decode(_ bytes: RawSpan, _ place: Int, _ receive: (RawSpan) throws -> Void) throws {
    guard place < decoders.count else { return try receive(bytes) }
    do {
      try decoders[place].decode(bytes) { try decode($0, place + 1, receive) }
    } catch is CodingError {
      throw TransportError(.broken, "\(host): the \(names[place]) of the answer is damaged")
    }
  }

  /// Notes that the body is over.
  /// - Throws: where the coding isn't.
  package func finish() throws(TransportError) {
    for (name, decoder) in zip(names, decoders) where !decoder.isEmpty {
      do throws(CodingError) {
        try decoder.finish()
      } catch {
        throw TransportError(.broken, "\(host): the \(name) of the answer ends early")
      }
    }
  }
}

extension NetworkHead {
  /// An answer as it came, made ready for a page: its head without what doesn't hold for a body that is decoded, and what decodes
  /// that; nil where there is nothing to undo, or nobody knows how, which its head then says.
  ///
  /// - Parameter method: the request's.
  package static func decoded(
    _ status: Int, _ headers: [(name: String, value: String)], url: String, method: String, host: String
  ) -> (head: NetworkHead, decoder: ContentDecoder?) {
    let codings = headers.filter { $0.name.lowercased() == "content-encoding" }
      .flatMap { $0.value.split(separator: ",") }
      .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
      .filter { !$0.isEmpty && $0 != "identity" }
    let decoder = ContentDecoder(codings, from: host)
    let gone: Set<String> = decoder == nil ? [] : ["content-encoding", "content-length"]
    let head = NetworkHead(
      status: status, headers: handedOn(headers.filter { !gone.contains($0.name.lowercased()) }), url: url)
    let hasBody = method != "HEAD" && ![204, 304].contains(status)
    return (head, hasBody ? decoder : nil)
  }
}
