import BuildCheck
import Manifests
import Publishing
import Testing
import TestSupport
import Values
import XCacheDevice

@testable import Preview

/// The device that a smoke test's engine has the build from.
@Suite struct BuildDeviceTests {
  /// The engine, which is another process, couldn't fetch a lazy file.
  @Test func lazyFilesAreThere() throws {
    let folder = try Scratch()
    try folder.write("dist/index.html", "<p>")
    try folder.write("dist/de.json", "{}")
    let glob = try #require(Glob("*.json"))
    let source = BundleSource(
      try BundleName("main"),
      folders: [.init(folder.path + "/dist", baseURL: try BaseURL("https://m.example.com/app"))],
      lazy: [.init(glob, file: "xcache.json", keys: "lazy", excludes: false)])
    let build = try LocalBuild([source])
    #expect(build.files.map(\.content.isLazy) == [true, false])
    let device = folder.path + "/device"
    #expect(try BuildDevice(build: build).make(in: device) { _ in } == ["m.example.com"])
    let settings = DeviceSettings(
      folder: device, server: BuildDevice.server, app: BuildDevice.app, hosts: ["*"])
    let transport = BuildTransport(manifest: [], files: [:], others: nil)
    let held = try Device(settings, transport: transport).heldFiles()
    #expect(held.map(\.url) == ["de.json", "index.html"].map { "https://m.example.com/app/\($0)" })
    #expect(held.allSatisfy { $0.path != nil })
  }
}
