import Manifests
import XCacheRuntime

/// What a case says of the network and the phone.
enum Conditions {
  static func set(_ command: JSONValue, _ runtime: Runtime) -> JSONValue {
    runtime.isOffline = command["network"]?.string == "offline"
    return [:]
  }
}
