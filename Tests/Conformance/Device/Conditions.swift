import Values
import XCacheDevice
import XCacheRuntime

/// The conditions of a command.
extension Conditions {
  init(_ command: JSONValue) {
    self.init()
    network = command["network"]?.string.flatMap(Network.init(rawValue:)) ?? .unmetered
    savesData = command["dataSaver"]?.bool ?? false
    isForeground = command["foreground"]?.bool ?? true
  }
}
