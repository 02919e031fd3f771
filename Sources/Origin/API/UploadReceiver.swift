import HTTP
import Manifests
import Store
import System

/// Takes files to the store as they arrive: one file, or a pack of small ones.
final class UploadReceiver: BodyReceiver {
  private let api: APIEndpoint
  private var sink: Sink

  private enum Sink {
    case blob(BlobSink)
    case pack(PackSink)
    case refused(Response)
  }

  private init(_ api: APIEndpoint, _ sink: () throws(Problem) -> Sink) {
    self.api = api
    do {
      self.sink = try sink()
    } catch {
      self.sink = .refused(error.response)
    }
  }

  /// `PUT /blobs/{sha256}`.
  static func blob(_ call: APIRequest, _ api: APIEndpoint, _ takes: Requirement) -> UploadReceiver {
    UploadReceiver(api) { () throws(Problem) in
      _ = try api.admitted(call, takes)
      guard let sha256 = SHA256(hex: call.path[1]) else {
        throw .badRequest("the path ends in no sha256 of 64 lower-case hexadecimal digits: \(call.path[1])")
      }
      let claim = BlobClaim(sha256: sha256, md5: try call.md5(), size: call.length)
      return .blob(try BlobSink(claim, api.store))
    }
  }

  /// `POST /blobs`.
  static func pack(_ call: APIRequest, _ api: APIEndpoint, _ takes: Requirement) -> UploadReceiver {
    UploadReceiver(api) { () throws(Problem) in
      _ = try api.admitted(call, takes)
      guard call.contentType == PackSink.contentType else {
        throw Problem(
          .unsupportedMediaType, "media-type", "files are sent together as \(PackSink.contentType)")
      }
      return .pack(PackSink(api.store))
    }
  }

  func receive(_ bytes: RawSpan) -> Bool {
    do {
      switch sink {
      case .blob(let blob): try blob.append(bytes)
      case .pack(let pack): try pack.append(bytes)
      case .refused: return false
      }
      return true
    } catch {
      sink = .refused(api.respond { () throws(Problem) in throw error })
      return false
    }
  }

  func finish() -> Response {
    api.respond { () throws(Problem) in
      switch sink {
      case .blob(let blob): try blob.finish()
      case .pack(let pack): try pack.finish()
      case .refused(let response): response
      }
    }
  }

  // Letting go of a sink drops what was half received.
  func abort() { sink = .refused(Problem.badRequest("the upload ended early").response) }
}
