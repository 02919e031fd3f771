import Manifests
import System

extension Device {
  /// A script that the policy names, fetched where the device hasn't got it; nil where it names none so, or has
  /// interception off.
  ///
  /// Its bytes have the policy's sha256 and a signature by the key of the settings, whatever served them.
  /// - Throws: `badSetting` without a key, `noAnswer`, `status`, `unreadable` for other bytes or another's signature.
  public func script(_ name: String) throws(ClientError) -> [UInt8]? {
    let policy = runtimePolicy
    guard !policy.isKilled(at: now()), let script = policy.scripts.first(where: { $0.name == name }) else {
      return nil
    }
    guard let key = settings.scriptKey else {
      throw .badSetting(name: "The key that scripts are signed by", value: "")
    }
    guard let sha256 = SHA256(hex: script.sha256) else { return nil }
    let path = folder.script(sha256)
    let held = try? DurableFile.read(path, limit: PolicyScript.limit)
    let bytes =
      if let held { held } else { try fetchDocument(script.download, limit: Int64(PolicyScript.limit)) }
    guard SHA256.of(bytes) == sha256 else {
      if held != nil { try folder.remove(path) }
      throw .unreadable(url: script.download, reason: "the script has another sha256 than the policy says")
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
}
