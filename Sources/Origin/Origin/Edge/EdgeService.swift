import Manifests
import OriginAPI
import System

/// What the origin does and tells about the shared caches between devices and it.
struct EdgeService: Sendable {
  let policy: EdgePolicy
  /// Tells caches what to drop; nil if none is to be told.
  private let purger: EdgePurger?

  /// Nil if no cache takes polls.
  init?(_ options: Origin.Options) {
    guard let policy = options.edge else { return nil }
    self.policy = policy
    purger = options.purges.isEmpty ? nil : EdgePurger(options.purges, log: options.log)
  }

  func start(_ catalog: Published<Catalog>) throws(SystemError) { try purger?.start(catalog) }

  /// Sends what waits, within a second. Called once no more acts are carried out.
  func finish() { purger?.finish() }

  /// The seconds within which a cache that is told has dropped what changed, unless `status` says that it is late: 5 until that is said, 2
  /// until the purge is repeated, and the time that a request takes.
  private static let purged = 10

  /// How old the answers of caches may be.
  var bound: EdgeBound {
    EdgeBound(
      ttl: policy.ttl, purged: purger == nil ? nil : min(Self.purged, policy.oldest),
      // With `s-maxage` nothing tells the cache how long it may answer after that.
      oldest: policy.header == .sMaxAge ? nil : policy.oldest)
  }

  /// The caches that are told, and how that goes.
  var states: [EdgeState] { purger?.states ?? [] }

  /// What these know of one channel; nil if none is told.
  /// - Parameter showsFaults: whether to say why attempts failed.
  func states(of app: AppName, _ channel: ChannelName, showsFaults: Bool) -> [ChannelEdge]? {
    purger?.states(of: EdgePurge(app, channel)).map { edge in
      var edge = edge
      if !showsFaults { edge.fault = nil }
      return edge
    }
  }

  /// In Prometheus's text exposition format.
  var prometheusText: String { purger?.prometheusText ?? "" }
}
