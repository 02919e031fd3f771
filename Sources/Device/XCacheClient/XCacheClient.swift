// The names that XCacheDevice's types had while its module was called XCacheClient, up to 0.2.0. They go with version 0.4.0.
import XCacheDevice

/// `XCacheDevice.TreeReport`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias TreeReport = XCacheDevice.TreeReport
/// `XCacheDevice.RuntimePolicy`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias RuntimePolicy = XCacheDevice.RuntimePolicy
/// `XCacheDevice.PrefetchPlan`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias PrefetchPlan = XCacheDevice.PrefetchPlan
/// `XCacheDevice.PrefetchRequest`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias PrefetchRequest = XCacheDevice.PrefetchRequest
/// `XCacheDevice.DeviceError`.
@available(*, deprecated, message: "import XCacheDevice, where it is DeviceError")
public typealias ClientError = XCacheDevice.DeviceError
/// `XCacheDevice.Device`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias Device = XCacheDevice.Device
/// `XCacheDevice.UpdateReport`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias UpdateReport = XCacheDevice.UpdateReport
/// `XCacheDevice.PackReport`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias PackReport = XCacheDevice.PackReport
/// `XCacheDevice.Progress`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias Progress = XCacheDevice.Progress
/// `XCacheDevice.CompletionReport`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias CompletionReport = XCacheDevice.CompletionReport
/// `XCacheDevice.DocumentReport`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias DocumentReport = XCacheDevice.DocumentReport
/// `XCacheDevice.PresetReport`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias PresetReport = XCacheDevice.PresetReport
/// `XCacheDevice.DeviceSettings`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias DeviceSettings = XCacheDevice.DeviceSettings
/// `XCacheDevice.LocalResource`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias LocalResource = XCacheDevice.LocalResource
/// `XCacheDevice.Conditions`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias Conditions = XCacheDevice.Conditions
/// `XCacheDevice.Transport`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias Transport = XCacheDevice.Transport
/// `XCacheDevice.TransportRequest`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias TransportRequest = XCacheDevice.TransportRequest
/// `XCacheDevice.TransportHead`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias TransportHead = XCacheDevice.TransportHead
/// `XCacheDevice.TransportReply`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias TransportReply = XCacheDevice.TransportReply
/// `XCacheDevice.TransportError`.
@available(*, deprecated, message: "import XCacheDevice")
public typealias TransportError = XCacheDevice.TransportError
