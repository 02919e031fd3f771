import Compression
import HTTP
import OriginAPI

/// The content coding of a request's body (RFC 9110 §8.4).
enum RequestCoding: Sendable {
  case none
  case coded(StreamDecoder.Coding)
  /// Another coding, or several.
  case unknown

  /// What the API accepts, advertised to clients in the Accept-Encoding of its answers (RFC 9110 §12.5.3).
  static let accepted = "zstd, gzip"

  init(_ request: borrowing Request) {
    guard let field = request.field(.contentEncoding) else {
      self = .none
      return
    }
    self =
      switch field.text.lowercased() {
      case _ where request.head.isRepeated(.contentEncoding): .unknown
      case "", "identity": .none
      case "zstd": .coded(.zstd)
      // "A recipient SHOULD consider "x-gzip" to be equivalent to "gzip"" (RFC 9110 §8.4.1.3).
      case "gzip", "x-gzip": .coded(.gzip)
      default: .unknown
      }
  }

  /// The decoder; nil if the body isn't coded.
  var decoder: StreamDecoder? { if case .coded(let coding) = self { StreamDecoder(coding) } else { nil } }

  var isKnown: Bool { if case .unknown = self { false } else { true } }
}

/// Removes the content coding of a body on its way to its receiver.
struct BodyBytes {
  private let decoder: StreamDecoder?
  /// The bytes received, and the bytes decoded from them.
  private var (coded, decoded) = (0, 0)

  /// How many bytes a coded body may have beyond its decoded size. Without this, members without content, or anything else
  /// that decodes to nothing, could go on forever: limits apply to the decoded bytes.
  private static let slack = 1 << 20
  /// How many bytes one byte of a document may decode to, beyond `slack`, so that a document's cost is bounded by what was
  /// sent. A release of 100,000 URLs that all have the same content reaches 220.
  static let maxDocumentRatio = 500
  /// Nil where the decoded bytes go to disk, whose limits apply.
  private let maxRatio: Int?

  /// Creates a decoder; `maxRatio` is how many bytes one byte may decode to.
  init(_ coding: RequestCoding, maxRatio: Int? = nil) {
    decoder = coding.decoder
    self.maxRatio = maxRatio
  }

  /// Decodes `bytes` and passes the result to `body` in bounded pieces; an error that it throws ends the decoding.
  mutating func decode(_ bytes: RawSpan, _ body: (RawSpan) throws -> Void) throws {
    guard let decoder else { return try body(bytes) }
    coded += bytes.byteCount
    var more = 0
    let limit = maxRatio.map { BodyBytes.slack.addingClamped(coded * $0) - decoded } ?? .max
    try BodyBytes.problem {
      try decoder.decode(bytes) { piece in
        more += piece.byteCount
        guard more <= limit else { throw Problem.expandsTooMuch }
        try body(piece)
      }
    }
    decoded += more
    guard coded - decoded <= Self.slack else {
      throw Problem.badRequest("the encoded body is far larger than its content; send it uncompressed")
    }
  }

  func finish() throws { try BodyBytes.problem { try decoder?.finish() } }

  private static func problem(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch CodingError.windowTooLarge(let limit) {
      throw Problem(
        .unsupportedMediaType, "content-coding",
        "the body's zstd frame has a window of more than the \(limit >> 20) MiB that a content coding may have (RFC 9659); "
          + "compress it without --long and --ultra, or send it as gzip or as it is")
    } catch is CodingError {
      throw Problem.badRequest("the body is incomplete, or doesn't match its Content-Encoding")
    }
  }
}

extension Problem {
  fileprivate static var expandsTooMuch: Problem {
    Problem(
      .contentTooLarge, "content-coding",
      "the compressed body expands more than \(BodyBytes.maxDocumentRatio) times; send it uncompressed"
    )
  }
}
