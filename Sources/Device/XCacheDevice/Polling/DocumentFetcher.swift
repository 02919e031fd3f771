import System
import Values

/// A document as a server sent it.
struct DocumentReply: Sendable {
  let body: [UInt8]
  /// The entity tag that it came with.
  var tag: String?
  /// The server's time when all of it had come, in milliseconds since 1970; nil if that isn't known.
  var serverTime: Int64?
  /// Whether the device had kept it, so that it wasn't sent again.
  var isKept = false
}

/// Fetches documents.
struct DocumentFetcher: Sendable {
  let transport: any Transport
  /// The most bytes of a document, decoded.
  let limit: Int64
  /// When a document is looked into while it comes, and given up.
  var pace = DocumentPace()

  private struct Failure: Error {
    let error: DeviceError
    /// What came of the document before it broke off.
    var body: [UInt8] = []

    var mayBeCoding: Bool {
      guard case .noAnswer(_, let error) = error else { return false }
      return error.kind == .other || error.kind == .broken && !body.isEmpty
    }
  }

  /// Returns a document; one that isn't right is requested once more without a coding: an origin or a cache stores a coded
  /// answer separately, so it may be damaged while the plain one is intact.
  func get(_ url: String, isValid: ([UInt8]) -> Bool) throws(DeviceError) -> [UInt8] {
    let bytes = try get(url).body
    return isValid(bytes) ? bytes : try getUncoded(url).body
  }

  /// Returns a document; if it is cut short, or can't be decoded, it is requested once more without a coding.
  /// - Parameters:
  ///   - url: the document's URL.
  ///   - kept: what the device has of it already.
  ///   - partial: called with what has come of a document that takes seconds, again and again, and of one that has no end or
  ///     is too long.
  func get(
    _ url: String, holding kept: KeptAnswer? = nil, partial: ([UInt8]) -> Void = { _ in }
  ) throws(DeviceError) -> DocumentReply {
    do throws(Failure) {
      return try attempt(url, holding: kept, partial: partial)
    } catch {
      partial(error.body)
      guard error.mayBeCoding else { throw error.error }
    }
    return try getUncoded(url, partial: partial)
  }

  /// Returns a document, requested without a coding.
  func getUncoded(
    _ url: String, partial: ([UInt8]) -> Void = { _ in }
  ) throws(DeviceError) -> DocumentReply {
    do throws(Failure) {
      return try attempt(url, isUncoded: true, partial: partial)
    } catch {
      partial(error.body)
      throw error.error
    }
  }

  private func attempt(
    _ url: String, holding kept: KeptAnswer? = nil, isUncoded: Bool = false, partial: ([UInt8]) -> Void
  ) throws(Failure) -> DocumentReply {
    var request = TransportRequest(url, limit: limit, isUncoded: isUncoded)
    request.knownTag = kept?.tag
    var body: [UInt8] = []
    var tag: String?
    var (sent, arrived): (Int64?, UInt64) = (nil, 0)
    var watch = DocumentWatch(pace, from: Clock.monotonicNanoseconds())
    let reply: TransportReply
    do throws(TransportError) {
      reply = try transport.get(request) { head in
        tag = head.entityTag
        (sent, arrived) = (head.serverTime, Clock.monotonicNanoseconds())
        return true
      } receive: { bytes in
        bytes.withUnsafeBytes { body.append(contentsOf: $0) }
        let now = Clock.monotonicNanoseconds()
        switch watch.next(body.count, at: now) {
        case .proceed: break
        case .inspect:
          partial(body)
          watch.excludeInspection(Clock.monotonicNanoseconds() - now)
        case .abort: return false
        }
        return true
      }
    } catch {
      if watch.hasAborted {
        let error = TransportError(.timedOut, "it comes too slowly: \(body.count) bytes so far")
        throw Failure(error: .noAnswer(url: url, error), body: body)
      }
      throw Failure(error: .noAnswer(url: url, error), body: body)
    }
    if reply.status == 304, let kept { return DocumentReply(body: kept.body, tag: kept.tag, isKept: true) }
    guard reply.status == 200 else {
      let message = (try? JSONValue.parse(reply.failure))?["message"]?.string
      throw Failure(error: .status(url: url, code: reply.status, message: message))
    }
    let serverTime = sent.map { $0 + Int64((Clock.monotonicNanoseconds() - arrived) / 1_000_000) }
    return DocumentReply(body: body, tag: tag, serverTime: serverTime)
  }
}
