// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "kiosk",
  dependencies: [
    .package(name: "xcache", path: "../.."), .package(name: "xcache-webkit", path: "../../Engines/WebKitGTK"),
  ],
  targets: [
    .executableTarget(
      name: "kiosk",
      dependencies: [
        .product(name: "DeviceLinux", package: "xcache"), .product(name: "XCacheDevice", package: "xcache"),
        .product(name: "XCacheRuntime", package: "xcache"),
        .product(name: "XCacheWebKit", package: "xcache-webkit"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
