import OriginAPI
import Values

extension OriginClient {
  /// Says how many others have to approve what is done to a channel.
  package func protect(_ channel: ChannelAddress, _ request: ProtectRequest) throws(OriginError)
    -> OriginAnswer<ChannelProtection>
  {
    try send(OriginCall("POST", "\(channel.path)/protect", request))
  }

  /// Returns the acts of all readable channels that wait for approvals or signatures, the oldest first.
  package func waitingActs() throws(OriginError) -> OriginAnswer<WaitingList> { try get("waiting") }

  /// Approves an act that waits.
  package func approve(_ id: Int64, _ request: ApproveRequest, in channel: ChannelAddress)
    throws(OriginError) -> OriginAnswer<ScheduledInfo>
  {
    try send(OriginCall("POST", "\(channel.path)/schedules/\(id)/approve", request))
  }

  /// Rejects an act that waits, which ends it.
  package func reject(_ id: Int64, _ request: RejectRequest, in channel: ChannelAddress)
    throws(OriginError) -> OriginAnswer<ScheduledInfo>
  {
    try send(OriginCall("POST", "\(channel.path)/schedules/\(id)/reject", request))
  }

  /// Returns what an act that waits would do now.
  /// - Throws: `refused` with what would refuse it.
  package func preview(_ id: Int64, in channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<SchedulePreview>
  {
    var call = OriginCall("GET", "\(channel.path)/schedules/\(id)/preview")
    call.timeouts.stallSeconds = OriginCall.releaseTimeout
    return try send(call)
  }

  /// Ends a session of the caller's own.
  package func endSession(_ id: String) throws(OriginError) {
    _ = try send(OriginCall("DELETE", "sessions/\(OriginCall.escaped(id))"))
  }
}
