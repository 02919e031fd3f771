import OriginAPI
import Values

extension OriginClient {
  /// Says that a problem is known.
  package func acknowledge(_ request: AcknowledgeRequest) throws(OriginError)
    -> OriginAnswer<AcknowledgeAnswer>
  {
    try send(OriginCall("POST", "problems/acknowledge", request))
  }

  /// Takes back that a problem is known.
  /// - Parameter channel: nil for the origin's own.
  package func withdrawAcknowledgement(of code: String, in channel: ChannelAddress?) throws(OriginError)
    -> OriginAnswer<AcknowledgeAnswer>
  {
    let place = channel.map { "&app=\(OriginCall.escaped($0.app.text))&channel=\($0.channel)" } ?? ""
    return try send(OriginCall("DELETE", "problems/acknowledge?code=\(OriginCall.escaped(code))\(place)"))
  }

  /// Returns what has a text in it, of all that the token may read.
  package func search(_ text: String, limit: Int) throws(OriginError) -> OriginAnswer<SearchAnswer> {
    try get("search?q=\(OriginCall.escaped(text))&limit=\(limit)")
  }
}
