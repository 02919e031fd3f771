import Manifests
import System

extension CacheFolder {
  var scripts: String { "\(root)/scripts" }

  func script(_ sha256: SHA256) -> String { "\(scripts)/\(PolicyScriptPath.name(sha256))" }

  /// Removes scripts that the policy no longer names, and what a process was writing when it ended a day ago or more.
  func removeScripts(except named: Set<SHA256>, at now: Int64) {
    for name in (try? Folder.textNames(scripts)) ?? [] {
      let path = "\(scripts)/\(name)"
      let isLeft: Bool
      if let sha256 = PolicyScriptPath.sha256(ofName: name) {
        isLeft = !named.contains(sha256)
      } else {
        isLeft = status(path).map { now - $0.modified > DeviceCache.asideAge } ?? false
      }
      if isLeft { try? remove(path) }
    }
  }
}
