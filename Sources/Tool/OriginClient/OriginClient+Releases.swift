import HTTPClient
import OriginAPI
import System
import Values

extension OriginClient {
  /// Returns the digests that the origin lacks.
  /// - Parameter check: whether the origin is to read what it has first.
  package func missing(of digests: [SHA256], check: Bool = false) throws(OriginError) -> Set<SHA256> {
    var missing: Set<SHA256> = []
    var rest = digests[...]
    while !rest.isEmpty {
      let part = rest.prefix(check ? MissingBlobsRequest.checkLimit : MissingBlobsRequest.limit)
      rest = rest.dropFirst(part.count)
      let request = MissingBlobsRequest(
        answer: MissingBlobsRequest.present, sha256: Array(part), check: check ? true : nil)
      var call = OriginCall("POST", "blobs/missing")
      call.body = .bytes(request.json)
      call.fields = [("Content-Type", "application/json")]
      call.isRepeatable = true
      let answer = try send(call, as: MissingBlobsAnswer.self).value
      if let list = answer.missing {
        missing.formUnion(list)
      } else {
        missing.formUnion(Set(part).subtracting(answer.present ?? []))
      }
    }
    return missing
  }

  /// Promotes to `channel`, which gets the release.
  package func promote(_ request: PromotionRequest, to channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<PromotionAnswer>
  {
    var call = OriginCall("POST", "\(channel.path)/promote", request)
    call.timeouts.stallSeconds = OriginCall.releaseTimeout
    return try send(call)
  }

  /// Makes a release; the answer comes when it is visible.
  ///
  /// `plan` is that of a preparation's answer: the document isn't sent again unless the origin has dropped it.
  package func release(_ request: ReleaseRequest, plan: SHA256? = nil, in channel: ChannelAddress)
    throws(OriginError) -> OriginAnswer<ReleaseAnswer>
  {
    var call = OriginCall("POST", "\(channel.path)/releases")
    call.fields = [("Content-Type", "application/json")]
    call.timeouts.stallSeconds = OriginCall.releaseTimeout
    if let plan {
      var document = JSONValue(encoding: request.options).object ?? JSONObject()
      document["plan"] = .string(plan.hex)
      call.body = .bytes(JSONValue.object(document).canonical)
      do {
        return try send(call)
      } catch .refused(let problem) where problem.code == "unknown-plan" {}
    }
    call.body = .bytes(request.json)
    return try send(call)
  }

  /// Begins to make the deltas of a release, whose request is given as JSON. As in later answers, the document lacks
  /// `plan`; only the value has it.
  package func prepare(_ request: [UInt8], in channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<PreparationAnswer>
  {
    var call = OriginCall("POST", "\(channel.path)/preparations")
    call.body = .bytes(request)
    call.fields = [("Content-Type", "application/json")]
    call.isRepeatable = true
    let answer = try send(call, as: PreparationAnswer.self)
    var document = answer.document.object ?? JSONObject()
    document["plan"] = nil
    return OriginAnswer(value: answer.value, document: .object(document))
  }

  /// Returns the progress of a preparation.
  package func preparation(_ id: String, in channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<PreparationAnswer>
  {
    var call = OriginCall("POST", "\(channel.path)/preparations", PreparationRequest(id: id))
    call.isRepeatable = true
    return try send(call)
  }

  /// Has source maps stored, whose bytes and those of their files were sent.
  package func keepSourceMaps(_ request: SourceMapRequest, in channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<SourceMapAnswer>
  {
    try send(OriginCall("POST", "\(channel.path)/source-maps", request))
  }

  package func rollback(_ request: RollbackRequest, in channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<RollbackAnswer>
  {
    var call = OriginCall("POST", "\(channel.path)/rollback", request)
    call.timeouts.stallSeconds = OriginCall.releaseTimeout
    return try send(call)
  }
}

extension OriginCall {
  /// The seconds without a byte that a client waits for the answer to a release, which may wait for deltas.
  package static let releaseTimeout = 900
}
