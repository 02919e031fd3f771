// swift-tools-version: 6.0
import PackageDescription

// The floors of the house (ARCHITECTURE.md): a target imports only from floors below its own.
// `swift build --explicit-target-dependency-import-check error` enforces the arrows written here.

// No unsafe flags here: they would keep other packages from using XCacheClient. `make build` gives the optimiser's.
let swift: [SwiftSetting] = [.enableExperimentalFeature("Lifetimes")]

func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: swift)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: swift)
}

let package = Package(
  name: "xcache",
  products: [
    .executable(name: "xcache", targets: ["xcache"]),
    .library(name: "XCacheClient", targets: ["XCacheClient"]),
  ],
  targets: [
    // Floor 0: the doors to C.
    .target(name: "CLinux"),
    .target(name: "CAssets"),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),

    // Floor 1
    library("Platform", ["CLinux", "CCrypto"]),
    library("HTTP", []),

    // Floor 2
    library("Manifests", ["Platform"]),
    library("Server", ["HTTP", "Platform"]),
    library("Compression", ["CZlib", "CZstd", "Platform"]),
    library("Archive", ["CZlib", "Platform"]),
    library("HTTPClient", ["CCurl", "Platform"]),

    // Floor 3
    library("Store", ["Archive", "CSQLite", "CAssets", "Manifests", "Platform"]),
    library("BuildCheck", ["Manifests", "Platform"]),
    library("OriginAPI", ["HTTPClient", "Manifests", "Platform"]),
    library("XCacheClient", ["Archive", "Compression", "HTTPClient", "Manifests", "Platform"]),

    // Floor 4
    library("Origin", ["CAssets", "Compression", "HTTP", "Manifests", "OriginAPI", "Platform", "Store"]),
    library(
      "Mirror", ["Archive", "Compression", "HTTPClient", "Manifests", "OriginAPI", "Platform", "Store"]),
    library("Publishing", ["Archive", "BuildCheck", "HTTPClient", "Manifests", "OriginAPI", "Platform"]),

    // Floor 5
    .executableTarget(
      name: "xcache",
      dependencies: [
        "BuildCheck", "HTTP", "Manifests", "Mirror", "Origin", "OriginAPI", "Platform", "Publishing",
        "Server", "Store",
        "XCacheClient",
      ],
      swiftSettings: swift),

    // What deltas cost and give, measured on two folders: Benchmarks/deltas.sh.
    .executableTarget(
      name: "delta-bench", dependencies: ["Compression", "Platform"], path: "Benchmarks/Deltas",
      swiftSettings: swift),

    tests("PlatformTests", ["Platform"]),
    tests("HTTPTests", ["HTTP"]),
    tests("ManifestsTests", ["Manifests", "Platform", "TestSupport"]),
    tests("ServerTests", ["Server", "HTTP", "Platform"]),
    tests("CompressionTests", ["Compression", "Platform"]),
    tests("ArchiveTests", ["Archive", "Platform"]),
    // What test targets share: folders that go with their test, files of expected text.
    .target(name: "TestSupport", dependencies: ["Platform"], path: "Tests/TestSupport", swiftSettings: swift),
    // A server of a few lines over real sockets, for the tests of everything that is a client.
    .target(
      name: "SocketServer", dependencies: ["Platform"], path: "Tests/SocketServer", swiftSettings: swift),
    tests("HTTPClientTests", ["HTTPClient", "Platform", "SocketServer"]),
    tests("BuildCheckTests", ["BuildCheck", "Manifests", "Platform"]),
    tests("OriginAPITests", ["OriginAPI", "Manifests", "Platform"]),
    tests("StoreTests", ["Store", "Manifests", "Platform", "CSQLite"]),
    tests(
      "XCacheClientTests",
      ["Archive", "Compression", "XCacheClient", "Manifests", "Platform", "SocketServer"]),
    tests(
      "OriginTests",
      ["Archive", "Compression", "Origin", "OriginAPI", "Store", "Manifests", "HTTP", "Platform"],
      exclude: ["Wire/Goldens"]),
    tests("MirrorTests", ["Mirror", "Store", "HTTPClient", "Manifests", "Platform", "SocketServer"]),
    tests(
      "PublishingTests",
      [
        "Archive", "BuildCheck", "Publishing", "HTTPClient", "Manifests", "OriginAPI", "Platform",
        "SocketServer", "TestSupport",
      ]),
    tests("XCacheTests", ["xcache", "BuildCheck", "Manifests", "Platform", "Publishing", "TestSupport"]),
    // Runs the program itself; what it imports only reads answers.
    .testTarget(
      name: "EndToEnd", dependencies: ["Compression", "Manifests", "Platform", "SocketServer"],
      exclude: ["Goldens", "Help"],
      swiftSettings: swift),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c2x
)
