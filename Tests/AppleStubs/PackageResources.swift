/// What SwiftPM generates for the files that XCacheRuntime embeds.
struct PackageResources {
  static let interceptor_js: [UInt8] = []
  static let cookies_js: [UInt8] = []
}
