import Manifests
import System
import Trust
import Values

/// The check of the documents besides the manifest.
extension Device {
  /// Checks what can be told of a document before it is here. A policy is checked by itself: without the root and the head of the
  /// answer, so that a kill switch arrives while these can't be had (T-10).
  func checkBeforeFetching(
    _ kind: DeviceDocuments.Kind, _ named: Int64, root: Int64?, _ url: String
  ) throws(DeviceError) {
    guard let trust else { return }
    let offer =
      kind == .policy
      ? TrustOffer(policy: named) : TrustOffer(rootNumber: root.flatMap { RootNumber($0) })
    let verdict = trust.preview(offer, holding: HeldManifest(index), at: trustTime)
    try require(verdict, url, named)
  }

  /// Checks a prefetch config that has arrived, and stores the floor that it leaves.
  func checkPrefetch(_ bytes: [UInt8], _ named: Int64, from url: String) throws(DeviceError) {
    guard let trust, let data = (try? JSONValue.parse(bytes))?["data"], let config = data["config"] else {
      return
    }
    let offer = TrustOffer(
      prefetch: TrustOffer.Prefetch(
        version: named, digest: SHA256.of(config.canonical),
        statement: data["trust"].map { Received(parsing: $0.canonical) }))
    try require(try check(offer, by: trust), url, named)
  }

  private func require(_ verdict: TrustVerdict, _ url: String, _ version: Int64) throws(DeviceError) {
    guard let failure = verdict.failure else { return }
    // What is wrong with a root is reported once, after the poll.
    if failure.step != .root { report(failure, of: index.version) }
    throw untrusted(url, ManifestVersion(version), failure)
  }
}
