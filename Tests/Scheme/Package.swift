// swift-tools-version: 6.2
import PackageDescription

// A package of its own, as Engines/WebKitGTK is: WebKit's libraries take 340 MB.
let package = Package(
  name: "xcache-scheme",
  dependencies: [.package(name: "xcache", path: "../..")],
  targets: [
    .systemLibrary(
      name: "CWebKit", pkgConfig: "webkit2gtk-4.1", providers: [.apt(["libwebkit2gtk-4.1-dev"])]),
    .executableTarget(
      name: "scheme-proof",
      dependencies: [
        "CWebKit", .product(name: "XCacheDevice", package: "xcache"),
        .product(name: "XCacheRuntime", package: "xcache"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
