import System
import XCacheClient

extension Runtime {
  /// The device has another network, be it as good as the last one: hosts are looked up anew, and requests take new connections.
  /// Called by itself where `conditions.network` changes to one that there is.
  public func networkChanged() {
    settings.names?.networkChanged()
    settings.fetcher?.networkChanged()
    device?.networkChanged()
    for proxy in proxies.withLock({ $0.compactMap(\.proxy) }) { proxy.transport.networkChanged() }
    prepareNames()
  }

  /// Has the resolver do what the policy says, and look up the hosts of what is held.
  func prepareNames() {
    guard let names = settings.names, let device else { return }
    names.isOff = !device.runtimePolicy.usesHTTPDNS
    guard !names.isOff, !conditions.isOffline else { return }
    // A walk over the manifest, which nobody waits for.
    notes.add { names.prepare(device.hosts) }
  }
}
