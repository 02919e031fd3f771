import Manifests
import System

/// The scripts that the policy names.
extension Device {
  /// Returns a script that the policy names, fetched if the device doesn't have it; nil if there is none of that
  /// name, or interception is off.
  ///
  /// Its SHA-256 is checked against the policy, and its signature against the key in the settings, or that of the root.
  /// - Throws: `badSetting` without a key; `noAnswer`; `status`; `unreadable` for wrong bytes or a wrong signature.
  public func script(_ name: String) throws(DeviceError) -> [UInt8]? {
    try script(name, until: StopSignal())
  }

  /// The names of the policy's scripts, in its order; empty if interception is off, or the app has no key to verify
  /// them.
  package var scripts: [String] {
    let policy = runtimePolicy
    return scriptKey == nil || policy.isKilled(at: policyTime) ? [] : policy.scripts.map(\.name)
  }

  /// Like `script(_:)`, but `stop(signal)` cancels it.
  package func script(_ name: String, until signal: StopSignal) throws(DeviceError) -> [UInt8]? {
    let policy = runtimePolicy
    guard !policy.isKilled(at: policyTime), let script = policy.scripts.first(where: { $0.name == name })
    else {
      return nil
    }
    guard isAllowed(script.download) else {
      throw .unreadable(url: script.download, reason: "the script's host is not one of the app's hosts")
    }
    guard let key = scriptKey else {
      throw .badSetting(name: "The key that scripts are signed by", value: "")
    }
    guard let sha256 = SHA256(hex: script.sha256) else { return nil }
    let path = folder.script(sha256)
    let held = try? DurableFile.read(path, limit: PolicyScript.limit)
    let bytes =
      if let held {
        held
      } else {
        try fetchScript(script.download, sha256, until: signal)
      }
    guard SHA256.of(bytes) == sha256 else {
      if held != nil { try folder.remove(path) }
      throw .unreadable(url: script.download, reason: "the script's SHA-256 differs from the policy's")
    }
    guard let signature = Base64.decode(script.signature), Ed25519.verifies(signature, of: bytes, by: key)
    else {
      throw .unreadable(url: script.download, reason: "the script isn't signed by this app's key")
    }
    if held == nil {
      try onDisk(path) { () throws(SystemError) in try Kernel.makeFolder(DurableFile.parent(of: path)) }
      try folder.write(bytes, to: path)
    }
    return bytes
  }

  private func fetchScript(
    _ url: String, _ sha256: SHA256, until signal: StopSignal
  ) throws(DeviceError) -> [UInt8] {
    var transport = transport(for: .page)
    transport.signal = signal
    let fetcher = DocumentFetcher(transport: transport, limit: Int64(PolicyScript.limit))
    return try fetcher.get(url) { SHA256.of($0) == sha256 }
  }

  /// Removes scripts that the policy no longer names.
  func tidyScripts() {
    guard cache.withLock({ $0.isOurs }) else { return }
    folder.removeScripts(
      except: Set(runtimePolicy.scripts.compactMap { SHA256(hex: $0.sha256) }), at: now())
  }
}
