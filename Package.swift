// swift-tools-version: 6.0
import PackageDescription

// The floors (ARCHITECTURE.md): a target imports only from floors below its own.
// `swift build --explicit-target-dependency-import-check error` enforces the arrows written here.

// No unsafe flags here: they would keep other packages from using XCacheClient. `make build` gives the optimiser's.
let swift: [SwiftSetting] = [.enableExperimentalFeature("Lifetimes")]

// Every target has one, for maintainers; SwiftPM warns of files that it doesn't know.
let readme = ["README.md"]

func library(_ name: String, _ dependencies: [Target.Dependency], embeds: [Resource] = []) -> Target {
  .target(name: name, dependencies: dependencies, exclude: readme, resources: embeds, swiftSettings: swift)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: swift)
}

let package = Package(
  name: "xcache",
  // Clocks and durations are of these systems on; `make check-apple` checks what else is used.
  platforms: [.iOS(.v16), .macOS(.v13)],
  products: [
    .executable(name: "xcache", targets: ["xcache"]),
    .library(name: "XCacheClient", targets: ["XCacheClient"]),
    .library(name: "XCacheRuntime", targets: ["XCacheRuntime"]),
    .library(name: "HTTPDNS", targets: ["HTTPDNS"]),
    .library(name: "DeviceLinux", targets: ["DeviceLinux"]),
    .library(name: "DeviceApple", targets: ["DeviceApple"]),
    .library(name: "XCacheFoundation", targets: ["XCacheFoundation"]),
  ],
  targets: [
    // Floor 0: the doors to C.
    .target(name: "CLinux"),
    .target(name: "CAssets"),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CBrotli", pkgConfig: "libbrotlidec", providers: [.apt(["libbrotli-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CSSL", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CDeviceTLS", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),

    library("Libc", []),
    // What the standard library has on newer systems of Apple alone.
    library("Backports", []),

    // Floor 1
    library(
      "System",
      [
        "Backports", "Libc", .target(name: "CLinux", condition: .when(platforms: [.linux])),
        .target(name: "CCrypto", condition: .when(platforms: [.linux])),
      ]),
    library("HTTP", ["Backports"]),
    library("Zstd", []),

    // Floor 2
    library("Platform", ["CLinux", "System"]),
    library("Manifests", ["System"]),
    library(
      "Compression",
      [
        .target(name: "CBrotli", condition: .when(platforms: [.linux])), "CZlib",
        .target(name: "CZstd", condition: .when(platforms: [.linux])), "System", "Zstd",
      ]),
    library("Archive", ["CZlib", "System"]),
    library("HTTPClient", ["CCurl", "System"]),
    library("TLS", ["CSSL", "System"]),

    // Floor 3
    library("Server", ["HTTP", "Platform", "System", "TLS"]),
    library("Store", ["Archive", "CSQLite", "CAssets", "Manifests", "Platform", "System"]),
    library("BuildCheck", ["Manifests", "System"]),
    library("OriginAPI", ["Compression", "HTTPClient", "Manifests", "System"]),
    library("XCacheClient", ["Archive", "Compression", "HTTP", "Manifests", "System"]),
    library("HTTPDNS", ["Manifests", "System"]),

    // Floor 4
    library(
      "Origin",
      [
        "BuildCheck", "CAssets", "Compression", "HTTP", "HTTPClient", "Manifests", "OriginAPI", "System",
        "Store",
      ]),
    library(
      "Mirror",
      ["Archive", "Compression", "HTTPClient", "Manifests", "OriginAPI", "Platform", "System", "Store"]),
    library("Publishing", ["Archive", "BuildCheck", "HTTPClient", "Manifests", "OriginAPI", "System"]),

    library(
      "XCacheRuntime", ["Compression", "HTTP", "HTTPDNS", "Manifests", "System", "XCacheClient"],
      // Links to public/runtime.
      embeds: [.embedInCode("Scheme/interceptor.js"), .embedInCode("Scheme/cookies.js")]),

    // Floor 5
    library(
      "DeviceLinux",
      ["CDeviceTLS", "HTTPClient", "HTTPDNS", "Platform", "System", "XCacheClient", "XCacheRuntime"]),
    .target(
      name: "DeviceApple", dependencies: ["HTTPDNS", "System", "XCacheClient", "XCacheRuntime"],
      path: "Engines/Apple", exclude: readme, swiftSettings: swift),

    .target(
      name: "XCacheFoundation", dependencies: ["System", "XCacheClient", "XCacheRuntime"],
      path: "Engines/Foundation", exclude: readme, swiftSettings: swift),

    // Floor 6
    .executableTarget(
      name: "xcache",
      dependencies: [
        "BuildCheck", "CAssets", "DeviceLinux", "HTTP", "HTTPClient", "HTTPDNS", "Manifests", "Mirror",
        "Origin", "OriginAPI", "Platform", "Publishing", "Server", "Store", "System", "TLS",
        "XCacheClient", "XCacheRuntime",
      ],
      exclude: readme, swiftSettings: swift),

    // What deltas cost and give, measured on two folders: Benchmarks/deltas.sh.
    .executableTarget(
      name: "delta-bench", dependencies: ["Compression", "System"], path: "Benchmarks/Deltas",
      swiftSettings: swift),

    // What the parts of a pack cost: make bench-packs.
    .executableTarget(
      name: "pack-bench", dependencies: ["Compression", "Manifests", "System"], path: "Benchmarks/Packs",
      swiftSettings: swift),

    // What a page's request costs: make bench-runtime.
    .executableTarget(
      name: "runtime-bench", dependencies: ["Manifests", "System", "XCacheClient", "XCacheRuntime"],
      path: "Benchmarks/Runtime", swiftSettings: swift),

    // Our implementation of a device, driven by Tests/Conformance/run.py: make conformance.
    .executableTarget(
      name: "conformance-device",
      dependencies: ["DeviceLinux", "Manifests", "System", "XCacheClient", "XCacheRuntime"],
      path: "Tests/Conformance/Device", swiftSettings: swift),

    // What the runtime's network gives: make bench-prefetch, make bench-names.
    .executableTarget(
      name: "network-bench",
      dependencies: [
        "DeviceLinux", "HTTPDNS", "Manifests", "SocketServer", "System", "XCacheClient", "XCacheRuntime",
      ],
      path: "Benchmarks/Network", swiftSettings: swift),

    // The zstd decoder in Swift against libzstd: make bench-zstd.
    .executableTarget(
      name: "zstd-bench", dependencies: ["Compression", "System"], path: "Benchmarks/Zstd",
      swiftSettings: swift),

    tests("SystemTests", ["System"]),
    tests("PlatformTests", ["Platform", "System"]),
    tests("HTTPTests", ["HTTP", "Platform"]),
    tests("ManifestsTests", ["Compression", "Manifests", "System", "TestSupport"]),
    tests("TLSTests", ["Platform", "System", "TLS", "TLSPeer"]),
    // A TLS client over libssl, and certificates made by openssl, for the tests of who serves TLS.
    .target(
      name: "TLSPeer", dependencies: ["CSSL", "System"], path: "Tests/TLSPeer", swiftSettings: swift),
    tests("ServerTests", ["Server", "HTTP", "Platform", "System", "TLS", "TLSPeer"]),
    // Beside libzstd, with which everything is compared.
    tests("ZstdTests", ["CZstd", "System", "Zstd"]),
    tests("CompressionTests", ["Compression", "System"]),
    tests("ArchiveTests", ["Archive", "System"]),
    // What test targets share: folders that go with their test, files of expected text.
    .target(name: "TestSupport", dependencies: ["System"], path: "Tests/TestSupport", swiftSettings: swift),
    // A server of a few lines over real sockets, for the tests of everything that is a client.
    .target(
      name: "SocketServer", dependencies: ["System"], path: "Tests/SocketServer", swiftSettings: swift),
    tests("HTTPClientTests", ["HTTPClient", "System", "SocketServer"]),
    tests(
      "HTTPDNSTests",
      [
        "DeviceLinux", "HTTPClient", "HTTPDNS", "SocketServer", "System", "TestSupport", "XCacheClient",
        "XCacheRuntime",
      ],
      exclude: ["Support/tls_server.py"]),
    tests("BuildCheckTests", ["BuildCheck", "Manifests", "System"]),
    tests("OriginAPITests", ["HTTPClient", "OriginAPI", "Manifests", "SocketServer", "System"]),
    tests("StoreTests", ["Store", "Manifests", "System", "CSQLite"]),
    tests(
      "XCacheClientTests",
      [
        "Archive", "Compression", "DeviceApple", "DeviceLinux", "XCacheClient", "Manifests", "System",
        "SocketServer",
      ]),
    // Support is a link to that of XCacheClientTests: the same origin in memory.
    tests(
      "XCacheRuntimeTests",
      [
        "Archive", "Compression", "DeviceApple", "DeviceLinux", "HTTPDNS", "Manifests", "Platform",
        "SocketServer", "System", "TestSupport", "TLSPeer", "XCacheClient", "XCacheRuntime",
      ]),
    // Support is that of XCacheClientTests here, too.
    tests(
      "XCacheFoundationTests",
      [
        "Archive", "Compression", "Manifests", "SocketServer", "System", "XCacheClient", "XCacheFoundation",
        "XCacheRuntime",
      ]),
    tests(
      "OriginTests",
      ["Archive", "Compression", "Origin", "OriginAPI", "Store", "Manifests", "HTTP", "Platform", "System"],
      exclude: ["Wire/Goldens"]),
    tests(
      "MirrorTests", ["Compression", "Mirror", "Store", "HTTPClient", "Manifests", "System", "SocketServer"]),
    tests(
      "PublishingTests",
      [
        "Archive", "BuildCheck", "Publishing", "HTTPClient", "Manifests", "OriginAPI", "System",
        "SocketServer", "TestSupport",
      ]),
    tests(
      "XCacheTests",
      [
        "xcache", "BuildCheck", "HTTPClient", "Manifests", "Mirror", "OriginAPI", "Publishing", "Store",
        "System",
        "TestSupport", "XCacheClient",
      ]),
    // Runs the program itself; what it imports only reads answers.
    .testTarget(
      name: "EndToEnd",
      dependencies: [
        "Compression", "Manifests", "System", "SocketServer", "TLSPeer", "TestSupport", "XCacheClient",
      ],
      exclude: ["Engine", "Goldens", "Help"],
      swiftSettings: swift),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c2x
)
