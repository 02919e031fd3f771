import Manifests
import OriginAPI
import Store
import Trust
import Values

/// What tells whether channels with a root stay fresh, and whether a lost key can be replaced.
enum TrustMetrics {
  /// The metrics in the Prometheus text format; empty if no app has a root.
  static func text(_ store: Store) -> String {
    guard let channels = try? store.channels() else { return "" }
    var ages = ""
    var spares = ""
    for (app, own) in Dictionary(grouping: channels, by: \.app).sorted(by: { $0.key.text < $1.key.text }) {
      guard let root = try? store.trust(of: app)?.inForce else { continue }
      let group = root.roots
      spares += "xcache_root_spare_keys{app=\"\(app)\"} \(group.keys.count - group.threshold)\n"
      for channel in own {
        guard let head = TrustedChannel.head(of: channel, store) else { continue }
        let age = max(0, store.now - head.document.at.milliseconds)
        ages += "xcache_head_age_seconds{app=\"\(app)\",channel=\"\(channel.name)\"} \(age / 1000)\n"
      }
    }
    guard !spares.isEmpty else { return "" }
    return """
      # HELP xcache_head_age_seconds Seconds since the newest head of a channel with a root was signed.
      # TYPE xcache_head_age_seconds gauge
      \(ages)# HELP xcache_root_spare_keys Keys of the root in force that may be lost before no root can follow it.
      # TYPE xcache_root_spare_keys gauge
      \(spares)
      """
  }
}
