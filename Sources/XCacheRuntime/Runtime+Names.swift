import System
import XCacheClient

extension Runtime {
  /// Has the resolver do what the policy says, and look up the hosts of what is held.
  func prepareNames() {
    guard let names = settings.names, let device else { return }
    names.isOff = !device.runtimePolicy.usesHTTPDNS
    guard !names.isOff, !conditions.isOffline else { return }
    // A walk over the manifest, which nobody waits for.
    notes.add { names.prepare(device.hosts) }
  }
}
