import Compression
import HTTP
import OriginAPI

/// What a request's body is coded by (RFC 9110 §8.4).
enum RequestCoding: Sendable {
  case none
  case coded(StreamDecoder.Coding)
  /// By something else, or by several codings.
  case unknown

  /// What the API takes, as Accept-Encoding of its answers says (RFC 9110 §12.5.3): there clients learn it.
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

  /// What undoes it; nil: nothing is to be undone.
  var decoder: StreamDecoder? { if case .coded(let coding) = self { StreamDecoder(coding) } else { nil } }

  var isKnown: Bool { if case .unknown = self { false } else { true } }
}

/// A body on its way to whoever takes it, without its content coding.
struct BodyBytes {
  private let decoder: StreamDecoder?
  /// Bytes that came, and those that they stand for.
  private var (coded, decoded) = (0, 0)

  /// What a coding may take beyond what it stands for. Members without content, or whatever else stands for nothing, would
  /// go on for ever otherwise: limits are those of what comes out.
  private static let room = 1 << 20
  /// How many bytes one byte of a document may stand for, beyond `room`: what a document costs follows from what was sent.
  /// A release of 100,000 URLs that all have the same content comes to 220.
  static let mostOfDocument = 500
  /// nil: what comes out goes to the disk, whose limits hold.
  private let most: Int?

  /// - Parameter most: bytes that one byte may stand for.
  init(_ coding: RequestCoding, most: Int? = nil) {
    decoder = coding.decoder
    self.most = most
  }

  /// - Parameter body: takes the decoded bytes, in bounded pieces; what it throws ends the decoding.
  mutating func take(_ bytes: RawSpan, _ body: (RawSpan) throws -> Void) throws {
    guard let decoder else { return try body(bytes) }
    coded += bytes.byteCount
    var more = 0
    let limit = most.map { BodyBytes.room.addingClamped(coded * $0) - decoded } ?? .max
    try BodyBytes.problem {
      try decoder.decode(bytes) { piece in
        more += piece.byteCount
        guard more <= limit else { throw Problem.standsForTooMuch }
        try body(piece)
      }
    }
    decoded += more
    guard coded - decoded <= Self.room else {
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
  fileprivate static var standsForTooMuch: Problem {
    Problem(
      .contentTooLarge, "content-coding",
      "the compressed body expands more than \(BodyBytes.mostOfDocument) times; send it uncompressed"
    )
  }
}
