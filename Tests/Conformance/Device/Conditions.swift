import Values
import XCacheDevice
import XCacheRuntime

/// What a case says of the network and the phone.
extension Conditions {
  init(_ command: JSONValue) {
    self.init()
    network = command["network"]?.string.flatMap(Network.init(rawValue:)) ?? .unmetered
    savesData = command["dataSaver"]?.bool ?? false
  }
}
