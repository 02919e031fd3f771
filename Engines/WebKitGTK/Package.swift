// swift-tools-version: 6.2
import PackageDescription

// A separate package: WebKitGTK's libraries take 340 MB, which nothing else here needs.
let package = Package(
  name: "xcache-webkit",
  products: [
    .library(name: "XCacheWebKit", targets: ["XCacheWebKit"]),
    // GTK, for windows of an app's own.
    .library(name: "CWebKitGTK", targets: ["CWebKitGTK"]),
    .executable(name: "xcache-webkit", targets: ["xcache-webkit"]),
  ],
  dependencies: [.package(name: "xcache", path: "../..")],
  targets: [
    .systemLibrary(
      name: "CWebKitGTK", pkgConfig: "webkit2gtk-4.1", providers: [.apt(["libwebkit2gtk-4.1-dev"])]),
    .target(
      name: "XCacheWebKit",
      dependencies: [
        "CWebKitGTK", .product(name: "DeviceLinux", package: "xcache"),
        .product(name: "XCacheDevice", package: "xcache"), .product(name: "XCacheRuntime", package: "xcache"),
      ]),
    // The helper with which `xcache preview` and `xcache smoke` visit pages.
    .target(name: "CHelper"),
    .executableTarget(
      name: "xcache-webkit",
      dependencies: [
        "CHelper", "XCacheWebKit", .product(name: "DeviceLinux", package: "xcache"),
        .product(name: "HTTPDNS", package: "xcache"), .product(name: "PreviewProtocol", package: "xcache"),
        .product(name: "XCacheDevice", package: "xcache"), .product(name: "XCacheRuntime", package: "xcache"),
      ]),
    // Shared by tests and benchmarks.
    .target(
      name: "WebKitTestSupport", dependencies: [.product(name: "HTTPDNS", package: "xcache")],
      path: "Tests/Support"),
    .executableTarget(
      name: "open-bench",
      dependencies: [
        "WebKitTestSupport", "XCacheWebKit", .product(name: "DeviceLinux", package: "xcache"),
        .product(name: "XCacheDevice", package: "xcache"), .product(name: "XCacheRuntime", package: "xcache"),
      ],
      path: "Benchmarks/Open"),
    .executableTarget(
      name: "healing-app",
      dependencies: [
        "WebKitTestSupport", "XCacheWebKit", .product(name: "DeviceLinux", package: "xcache"),
        .product(name: "XCacheDevice", package: "xcache"), .product(name: "XCacheRuntime", package: "xcache"),
      ],
      path: "Tests/Healing/App"),
    .testTarget(
      name: "XCacheWebKitTests",
      dependencies: [
        "CWebKitGTK", "WebKitTestSupport", "XCacheWebKit", .product(name: "DeviceLinux", package: "xcache"),
        .product(name: "XCacheDevice", package: "xcache"),
        .product(name: "XCacheRuntime", package: "xcache"),
      ],
      exclude: ["Site"]),
  ],
  swiftLanguageModes: [.v6]
)
