// swift-tools-version: 6.0
import PackageDescription

// The floors (ARCHITECTURE.md): a target imports only from floors below its own.
// `swift build --explicit-target-dependency-import-check error` enforces the arrows written here.

// No unsafe flags here: they would keep other packages from using XCacheDevice. `make build` gives the optimiser's.
let swift: [SwiftSetting] = [.enableExperimentalFeature("Lifetimes")]

// Every target has one, for maintainers; SwiftPM warns of files that it doesn't know.
let readme = ["README.md"]

/// A target is called as its folder is, below one of the rooms of `Sources` and `Tests`.
func name(_ folder: String) -> String { folder.split(separator: "/").last.map(String.init) ?? folder }

func door(_ folder: String, _ pkgConfig: String, apt package: String) -> Target {
  .systemLibrary(
    name: name(folder), path: "Sources/\(folder)", pkgConfig: pkgConfig, providers: [.apt([package])])
}

func library(_ folder: String, _ dependencies: [Target.Dependency], embeds: [Resource] = []) -> Target {
  .target(
    name: name(folder), dependencies: dependencies, path: "Sources/\(folder)", exclude: readme,
    resources: embeds, swiftSettings: swift)
}

func tests(_ folder: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .testTarget(
    name: name(folder), dependencies: dependencies, path: "Tests/\(folder)", exclude: exclude,
    swiftSettings: swift)
}

/// What test targets share.
func support(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Tests/Support/\(name)", exclude: exclude,
    swiftSettings: swift)
}

let package = Package(
  name: "xcache",
  // Clocks and durations are of these systems on; `make check-apple` checks what else is used.
  platforms: [.iOS(.v16), .macOS(.v13)],
  products: [
    .executable(name: "xcache", targets: ["xcache"]),
    .library(name: "XCacheDevice", targets: ["XCacheDevice"]),
    .library(name: "XCacheClient", targets: ["XCacheClient"]),
    .library(name: "XCacheRuntime", targets: ["XCacheRuntime"]),
    .library(name: "HTTPDNS", targets: ["HTTPDNS"]),
    .library(name: "DeviceLinux", targets: ["DeviceLinux"]),
    .library(name: "DeviceApple", targets: ["DeviceApple"]),
    .library(name: "XCacheFoundation", targets: ["XCacheFoundation"]),
    // For xcache-webkit, a package of its own.
    .library(name: "PreviewProtocol", targets: ["PreviewProtocol"]),
  ],
  targets: [
    // Floor 0: the doors to C.
    .target(name: "CLinux", path: "Sources/C/CLinux"),
    .target(name: "CAssets", path: "Sources/C/CAssets"),
    door("C/CSQLite", "sqlite3", apt: "libsqlite3-dev"),
    door("C/CZlib", "zlib", apt: "zlib1g-dev"),
    door("C/CBrotli", "libbrotlidec", apt: "libbrotli-dev"),
    door("C/CZstd", "libzstd", apt: "libzstd-dev"),
    door("C/CCrypto", "libcrypto", apt: "libssl-dev"),
    door("C/CSSL", "libssl", apt: "libssl-dev"),
    door("C/CCurl", "libcurl", apt: "libcurl4-openssl-dev"),

    // What the standard library has on newer systems of Apple alone.
    library("Common/Backports", []),

    // Floor 1
    library(
      "Common/System",
      [
        "Backports", .target(name: "CLinux", condition: .when(platforms: [.linux])),
        .target(name: "CCrypto", condition: .when(platforms: [.linux])),
      ]),
    // JSON, URLs, addresses and text.
    library("Common/Values", ["Backports"]),
    library("Common/HTTP", ["Backports", "Values"]),
    library("Common/Zstd", []),
    library("Tool/PreviewProtocol", []),

    // Floor 2
    library("Origin/Linux", ["CLinux", "System", "Values"]),
    library("Common/Manifests", ["System", "Values"]),
    library(
      "Common/Compression",
      [
        .target(name: "CBrotli", condition: .when(platforms: [.linux])), "CZlib",
        .target(name: "CZstd", condition: .when(platforms: [.linux])), "System", "Zstd",
      ]),
    library("Common/Archive", ["CZlib", "System"]),
    library("Common/HTTPClient", ["CCurl", "HTTP", "System"]),
    library("Common/TLS", ["CSSL", "System"]),
    // What is signed, and what a device makes sure of.
    library("Common/Trust", ["Manifests", "System", "Values"]),

    // Floor 3
    library("Origin/Server", ["HTTP", "Linux", "System", "TLS", "Values"]),
    library(
      "Origin/Store", ["Archive", "CSQLite", "CAssets", "Manifests", "Linux", "System", "Trust", "Values"]),
    library("Tool/BuildCheck", ["Manifests", "System", "Values"]),
    library("Origin/OriginAPI", ["Manifests", "System", "Values"]),
    // Who signs in, and which jobs are let in: ID tokens and who issues them.
    library("Origin/Identity", ["HTTP", "HTTPClient", "Manifests", "System", "Values"]),
    library(
      "Tool/OriginClient",
      ["Compression", "HTTPClient", "Manifests", "OriginAPI", "System", "Values", "HTTP"]),
    library(
      "Device/XCacheDevice", ["Archive", "Compression", "HTTP", "Manifests", "System", "Trust", "Values"]),
    // What XCacheDevice was called up to 0.2.0: its types by their old module, until 0.4.0.
    library("Device/XCacheClient", ["XCacheDevice"]),
    library("Device/HTTPDNS", ["System", "Values"]),

    // Floor 4
    library(
      "Origin/Origin",
      [
        "BuildCheck", "CAssets", "Compression", "HTTP", "HTTPClient", "Identity", "Manifests", "OriginAPI",
        "System", "Store", "Trust", "Values",
      ]),
    library(
      "Origin/Mirror",
      [
        "Compression", "HTTPClient", "Manifests", "OriginAPI", "OriginClient", "Linux", "System", "Store",
        "Trust", "Values", "HTTP",
      ]),
    library(
      "Tool/Publishing",
      [
        "Archive", "BuildCheck", "HTTPClient", "Linux", "Manifests", "OriginAPI", "OriginClient", "System",
        "Trust", "Values",
      ]),

    library(
      "Device/XCacheRuntime",
      ["Compression", "HTTP", "HTTPDNS", "Manifests", "System", "XCacheDevice", "Values"],
      // Links to public/runtime.
      embeds: [.embedInCode("Scheme/interceptor.js"), .embedInCode("Scheme/cookies.js")]),

    // Floor 5
    library(
      "Device/DeviceLinux",
      ["HTTP", "HTTPClient", "HTTPDNS", "Linux", "System", "TLS", "XCacheDevice", "XCacheRuntime"]),
    library("Device/DeviceApple", ["HTTPDNS", "System", "XCacheDevice", "XCacheRuntime"]),

    library("Device/XCacheFoundation", ["System", "XCacheDevice", "XCacheRuntime"]),

    library(
      "Tool/Preview",
      [
        "BuildCheck", "HTTPClient", "Linux", "Manifests", "OriginAPI", "OriginClient", "PreviewProtocol",
        "Publishing", "System", "Values", "XCacheDevice",
      ]),

    // Floor 6
    .executableTarget(
      name: "xcache",
      dependencies: [
        "BuildCheck", "CAssets", "DeviceLinux", "HTTP", "HTTPClient", "HTTPDNS", "Identity", "Manifests",
        "Mirror", "Origin", "OriginAPI", "OriginClient", "Linux", "Preview", "PreviewProtocol", "Publishing",
        "Server",
        "Store", "System", "TLS", "Trust", "XCacheDevice", "XCacheRuntime", "Values",
      ],
      path: "Sources/Tool/xcache", exclude: readme, swiftSettings: swift),

    // What deltas cost and give, measured on two folders: Benchmarks/deltas.sh.
    .executableTarget(
      name: "delta-bench", dependencies: ["Compression", "System"], path: "Benchmarks/Deltas",
      swiftSettings: swift),

    // What the parts of a pack cost: make bench-packs.
    .executableTarget(
      name: "pack-bench", dependencies: ["Compression", "Manifests", "System", "Values"],
      path: "Benchmarks/Packs",
      swiftSettings: swift),

    // What a page's request costs: make bench-runtime.
    .executableTarget(
      name: "runtime-bench",
      dependencies: ["Manifests", "System", "XCacheDevice", "XCacheRuntime", "Values"],
      path: "Benchmarks/Runtime", swiftSettings: swift),

    // Our implementation of a device, driven by Tests/Conformance/run.py: make conformance.
    .executableTarget(
      name: "conformance-device",
      dependencies: ["DeviceLinux", "Manifests", "System", "XCacheDevice", "XCacheRuntime", "Values"],
      path: "Tests/Conformance/Device", swiftSettings: swift),

    // What the runtime's network gives: make bench-prefetch, make bench-names.
    .executableTarget(
      name: "network-bench",
      dependencies: [
        "DeviceLinux", "HTTPDNS", "SocketServer", "System", "XCacheDevice", "XCacheRuntime", "Values",
      ],
      path: "Benchmarks/Network", swiftSettings: swift),

    // The zstd decoder in Swift against libzstd: make bench-zstd.
    .executableTarget(
      name: "zstd-bench", dependencies: ["Compression", "System"], path: "Benchmarks/Zstd",
      swiftSettings: swift),

    // A simulated fleet, on the code by which devices and origins decide about rollouts: make bench-fleet.
    .executableTarget(
      name: "xcache-fleet",
      dependencies: [
        "HTTP", "HTTPClient", "Manifests", "Origin", "OriginAPI", "OriginClient", "Store", "System",
        "XCacheDevice", "Values",
      ],
      path: "Benchmarks/Fleet", exclude: ["ramps.sh"], swiftSettings: swift),

    support("TestSupport", ["System"]),
    support("SocketServer", ["System"]),
    support("TLSPeer", ["CSSL", "System"]),
    support(
      "DeviceTestSupport",
      [
        "Compression", "HTTP", "HTTPDNS", "Manifests", "SocketServer", "System", "TestSupport",
        "XCacheDevice",
        "XCacheRuntime", "Values",
      ],
      exclude: ["tls_server.py"]),

    tests("Common/SystemTests", ["System", "TestSupport"]),
    tests("Origin/LinuxTests", ["Linux", "System"]),
    tests("Common/HTTPTests", ["HTTP", "Linux", "TestSupport", "Values"]),
    tests("Common/ValuesTests", ["TestSupport", "Values"]),
    tests("Common/ManifestsTests", ["Compression", "Manifests", "System", "TestSupport", "Values"]),
    tests("Common/TrustTests", ["Manifests", "System", "TestSupport", "Trust", "Values"]),
    tests("Common/TLSTests", ["System", "TLS", "TLSPeer"]),
    tests("Origin/ServerTests", ["Server", "HTTP", "Linux", "System", "TLS", "TLSPeer", "Values"]),
    // Beside libzstd, with which everything is compared.
    tests("Common/ZstdTests", ["CZstd", "System", "TestSupport", "Zstd"]),
    tests("Common/CompressionTests", ["Compression", "System"]),
    tests("Common/ArchiveTests", ["Archive", "System", "TestSupport"]),
    tests("Common/HTTPClientTests", ["CCrypto", "HTTPClient", "System", "SocketServer", "HTTP"]),
    tests(
      "Device/HTTPDNSTests",
      ["DeviceLinux", "DeviceTestSupport", "HTTPDNS", "SocketServer", "System", "TestSupport"]),
    tests("Tool/BuildCheckTests", ["BuildCheck", "Manifests", "System", "TestSupport", "Values"]),
    tests("Origin/OriginAPITests", ["OriginAPI", "Manifests", "System", "Values"]),
    tests(
      "Origin/IdentityTests",
      [
        "CCrypto", "HTTP", "HTTPClient", "Identity", "Manifests", "SocketServer", "System", "TestSupport",
        "Values",
      ]),
    tests(
      "Tool/OriginClientTests",
      ["HTTPClient", "OriginAPI", "OriginClient", "Manifests", "SocketServer", "System", "Values"]),
    tests(
      "Origin/StoreTests",
      ["Archive", "Store", "Manifests", "System", "CSQLite", "TestSupport", "Trust", "Values"]),
    tests(
      "Device/XCacheDeviceTests",
      [
        "Archive", "Compression", "DeviceApple", "DeviceLinux", "DeviceTestSupport", "Manifests",
        "SocketServer",
        "System", "TestSupport", "Trust", "XCacheDevice", "Values",
      ]),
    tests(
      "Device/XCacheRuntimeTests",
      [
        "Archive", "Compression", "DeviceApple", "DeviceLinux", "DeviceTestSupport", "HTTPDNS", "Manifests",
        "SocketServer", "System", "TestSupport", "Trust", "XCacheDevice", "XCacheRuntime", "Values",
      ]),
    tests(
      "Device/DeviceLinuxTests",
      [
        "Compression", "DeviceLinux", "DeviceTestSupport", "HTTP", "HTTPClient", "HTTPDNS", "Linux",
        "Manifests",
        "SocketServer", "System", "TestSupport", "TLSPeer", "XCacheDevice", "XCacheRuntime",
      ]),
    tests(
      "Device/DeviceAppleTests",
      [
        "DeviceApple", "DeviceTestSupport", "Manifests", "SocketServer", "System", "TestSupport", "TLSPeer",
        "XCacheDevice",
      ]),
    tests(
      "Device/XCacheFoundationTests",
      [
        "DeviceTestSupport", "SocketServer", "System", "TestSupport", "XCacheDevice", "XCacheFoundation",
        "XCacheRuntime",
      ]),
    tests(
      "Origin/OriginTests",
      [
        "Archive", "Compression", "Identity", "Origin", "OriginAPI", "Store", "Manifests", "HTTP",
        "HTTPClient", "Linux", "SocketServer", "System", "TestSupport", "Trust", "Values",
      ],
      exclude: ["Wire/Goldens"]),
    tests(
      "Origin/MirrorTests",
      [
        "Compression", "Mirror", "Store", "Manifests", "System", "SocketServer", "TestSupport", "Trust",
        "Values",
      ]),
    tests(
      "Tool/PublishingTests",
      [
        "Archive", "BuildCheck", "Publishing", "HTTPClient", "Manifests", "OriginAPI", "OriginClient",
        "System",
        "SocketServer", "TestSupport", "Trust", "Values",
      ]),
    // The coder of xcache-webkit is Foundation's.
    tests("Tool/PreviewProtocolTests", ["OriginAPI", "PreviewProtocol", "Values"]),
    tests(
      "Tool/PreviewTests",
      [
        "Manifests", "OriginAPI", "Preview", "PreviewProtocol", "Publishing", "System", "TestSupport",
        "Values",
        "XCacheDevice",
      ]),
    tests(
      "Tool/XCacheTests",
      [
        "xcache", "BuildCheck", "HTTPClient", "Identity", "Manifests", "Mirror", "Origin", "OriginAPI",
        "OriginClient", "Publishing", "Store", "System",
        "TestSupport", "XCacheDevice", "Values", "HTTP",
      ]),
    // Runs the program itself; what it imports only reads answers.
    .testTarget(
      name: "EndToEnd",
      dependencies: [
        "Compression", "Manifests", "System", "SocketServer", "TLSPeer", "TestSupport", "Trust",
        "XCacheDevice",
        "Values",
      ],
      exclude: ["Engine", "Goldens", "Help"],
      swiftSettings: swift),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c2x
)
