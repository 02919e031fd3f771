import Manifests
import Values

// What is said of scheduled acts that can't be made, and of releases that can't be signed.
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
}
