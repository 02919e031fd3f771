import System
import XCacheDevice

extension Runtime {
  /// Tells the runtime that the device changed networks, even to an equivalent one: hosts are looked up again, and requests
  /// use new connections. Called automatically when `conditions.network` changes, unless the device is offline.
  public func networkChanged() {
    settings.names?.networkChanged()
    settings.fetcher?.networkChanged()
    device?.networkChanged()
    for proxy in proxies.withLock({ $0.compactMap(\.proxy) }) { proxy.transport.networkChanged() }
    prepareNames()
  }

  /// Applies the policy to the resolver, and has it look up the hosts of the manifest held.
  func prepareNames() {
    guard let names = settings.names, let device else { return }
    names.isOff = !device.runtimePolicy.usesHTTPDNS
    guard !names.isOff, !conditions.isOffline else { return }
    // This walks the whole manifest, and nobody waits for it.
    notes.add { names.prepare(device.hosts) }
  }
}
