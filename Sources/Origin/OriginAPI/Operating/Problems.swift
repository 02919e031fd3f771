import Manifests
import System

/// `POST /problems/acknowledge`: says that a problem of the overview is known.
package struct AcknowledgeRequest: Codable, Sendable {
  /// The channel concerned; nil, both: the origin's own problem.
  package var app: String?
  package var channel: String?
  /// As in the overview, such as `lagging`. Of several problems of one code in one place, all are meant.
  package var code: String?
  /// Why it needs no more attention for now, 1 to 500 bytes in one line.
  package var reason: String?
  /// When it ends by itself: in the future, in 30 days at most.
  package var until: Moment?

  package init(app: AppName? = nil, channel: ChannelName? = nil, code: String, reason: String, until: Moment)
  {
    self.app = app?.text
    self.channel = channel?.text
    self.code = code
    self.reason = reason
    self.until = until
  }
}

/// What was acknowledged, or by `DELETE /problems/acknowledge?code=…&app=…&channel=…` isn't any more.
package struct AcknowledgeAnswer: Codable, Hashable, Sendable {
  @OrNull package var app: AppName?
  @OrNull package var channel: ChannelName?
  package let code: String
  /// Nil if it isn't acknowledged, or not any more.
  @OrNull package var acknowledged: FleetOverview.Acknowledgement?

  package init(
    app: AppName?, channel: ChannelName?, code: String, acknowledged: FleetOverview.Acknowledgement?
  ) {
    self.code = code
    self.app = app
    self.channel = channel
    self.acknowledged = acknowledged
  }
}
