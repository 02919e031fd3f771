import Manifests
import System
import Values

// What is said of scheduled acts that can't be made, of releases that can't be signed, and of freezes, which refuse both.
extension StoreError {
  static func authorEndedMessage(_ act: ScheduledAct) -> String {
    """
    release \(act.id) can't be carried out: the token "\(act.author)" with which it was published was revoked or expires before; \
    publish it again with another one, and take this one back with `xcache schedule cancel\(options(act.app, act.channel)) \(act.id)`
    """
  }

  static func scheduleDamagedMessage(_ act: ScheduledAct) -> String {
    """
    what is to be signed of release \(act.id) can't be read from the database; \
    take it back with `xcache schedule cancel\(options(act.app, act.channel)) \(act.id)`, and publish it again
    """
  }

  static func notAwaitedMessage(_ app: AppName, _ channel: ChannelName, _ id: Int64, _ bundle: BundleName)
    -> String
  {
    """
    the scheduled act \(id) waits for no signature of this statement of bundle \(bundle); \
    `xcache schedule show\(options(app, channel)) \(id)` says for which
    """
  }

  static func tooManySchedulesMessage(_ app: AppName, _ channel: ChannelName) -> String {
    """
    channel "\(channel)" of app "\(app)" has \(ScheduleLimits.waiting) scheduled acts, the most that may wait; \
    `xcache schedule cancel\(options(app, channel)) ID` takes one back
    """
  }

  static func scheduleOverMessage(_ act: ScheduledAct) -> String {
    if act.state == .waiting {
      return "the scheduled act \(act.id) has waited for approvals for too long, and ends as missed"
    }
    let since = Timestamp.words(act.end?.at ?? act.due)
    return "the scheduled act \(act.id) doesn't wait any more: it is \(act.state.rawValue) since \(since)"
  }

  static func frozenMessage(_ app: AppName, _ channel: ChannelName, _ freeze: ChannelFreeze) -> String {
    if let planned = freeze.calendar, planned.from.milliseconds > Clock.unixMilliseconds() {
      return """
        channel "\(channel)" of app "\(app)" is to be frozen, by \(freeze.author), from \(Timestamp.words(planned.from.milliseconds))\(until(freeze)): \
        \(freeze.reason); choose another time, or take the freeze back with `xcache channel thaw\(options(app, channel)) \
        --planned \(planned.id)`; --break-glass "reason" overrides it
        """
    }
    return """
      channel "\(channel)" of app "\(app)" is frozen, by \(freeze.author) since \(Timestamp.words(freeze.since.milliseconds))\(until(freeze)): \
      \(freeze.reason); `xcache channel thaw\(options(app, channel))` lifts the freeze, --break-glass "reason" overrides it
      """
  }

  private static func until(_ freeze: ChannelFreeze) -> String {
    (freeze.calendar?.to).map { " until \(Timestamp.words($0.milliseconds))" } ?? ""
  }
}
