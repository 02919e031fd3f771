import Archive
import DeviceTestSupport
import Manifests
import System
import Testing
import Values

@testable import XCacheDevice
@testable import XCacheRuntime

/// Presets that an app ships with, and folders of other formats.
@Suite struct PresetStartTests {
  let bench: RuntimeBench
  var origin: FakeOrigin { bench.origin }

  init() throws { bench = try RuntimeBench() }

  /// Publishes the next version, and writes the zip of it that an app would ship.
  private func ship(_ name: String, _ files: [String: [UInt8]]) throws -> String {
    try origin.publish(files)
    var body: [UInt8] = []
    let url = "\(FakeOrigin.server)/configure.json?app=shop&channel=online"
    _ = try origin.get(TransportRequest(url, limit: 1 << 20)) {
      $0.withUnsafeBytes { body.append(contentsOf: $0) }
      return true
    }
    var inputs = try files.map {
      ArchiveInput(BundleZip.path(ofFile: ResourceFileName(try ResourceURL($0.key)).text), bytes: $0.value)
    }
    inputs.append(ArchiveInput(BundleZip.manifestName, bytes: body))
    let path = "\(bench.bench.scratch.path)/\(name)"
    let sink = ArchiveFileSink(try Kernel.open(path, [.write, .create, .truncate]), path: path)
    try Archive.write(inputs, threads: 1, to: sink)
    _ = try sink.finish()
    _ = origin.takeLog()
    return path
  }

  private func start(_ preset: String, build: String) async throws -> Runtime {
    try await bench.runtime {
      $0.preset = preset
      $0.build = build
    }
  }

  @Test func firstLaunchOpensThePageOffline() async throws {
    let preset = try ship("1.zip", [RuntimeBench.page: bytes("<p>shipped"), RuntimeBench.script: bytes("x")])
    origin.fail { _ in .error(TransportError(.unreachable, "no network")) }
    let runtime = try await start(preset, build: "1")
    runtime.conditions.network = .offline
    #expect(await runtime.handle(.launch) == nil)
    let open = runtime.open(RuntimeBench.page)
    #expect(
      try await bench.ask(runtime, RuntimeBench.page, destination: .document, page: open) == "200 <p>shipped")
    #expect(try await bench.ask(runtime, RuntimeBench.script, page: open) == "200 x")
    #expect(origin.takeLog() == [])
    #expect(runtime.counts.misses == 0)
  }

  @Test func newerPresetsAreTakenAfterAnUpgrade() async throws {
    let old = try ship("2.zip", [RuntimeBench.page: bytes("<p>2")])
    let new = try ship("3.zip", [RuntimeBench.page: bytes("<p>3")])
    for (preset, build, version) in [(old, "1", "2"), (new, "2", "3"), (old, "3", "3")] {
      let runtime = try await start(preset, build: build)
      #expect(runtime.version == version, "build \(build)")
      await runtime.close()
    }
    try origin.publish([RuntimeBench.page: bytes("<p>4")])
    let runtime = try await start(new, build: "4")
    await runtime.update(force: true)
    #expect(runtime.version == "4")
    await runtime.close()
    let next = try await start(new, build: "5")
    #expect(next.version == "4")
    #expect(try await bench.ask(next, RuntimeBench.page) == "200 <p>4")
  }

  /// If the origin went back to an older version, the app's preset isn't taken again.
  @Test func presetsAreTakenOncePerBuild() async throws {
    let preset = try ship("2.zip", [RuntimeBench.page: bytes("<p>2")])
    let first = try await start(preset, build: "1")
    origin.restore(to: 1)
    await first.update(force: true)
    #expect(first.version == "1")
    await first.close()
    let next = try await start(preset, build: "1")
    #expect(next.version == "1")
  }

  @Test func damagedPresetsAreReported() async throws {
    let preset = try ship("2.zip", [RuntimeBench.page: bytes("<p>2")])
    try DurableFile.write(bytes("PK"), to: preset)
    let runtime = try await start(preset, build: "1")
    #expect(runtime.fault == nil && runtime.version == "0")
    guard case .preset(preset, _)? = runtime.presetFault else {
      Issue.record("\(String(describing: runtime.presetFault))")
      return
    }
    #expect(await runtime.update(force: true)?.to == "2")
  }

  @Test func missingPresetsAreReported() async throws {
    let runtime = try await start("/nowhere/1.zip", build: "1")
    #expect(runtime.fault == nil && runtime.version == "0")
    #expect(
      runtime.presetFault == .preset(path: "/nowhere/1.zip", reason: "no such file"))
    #expect(try await start(try ship("2.zip", [RuntimeBench.page: bytes("2")]), build: "1").fault != nil)
  }

  @Test func presetsOfOtherAppsAreReported() async throws {
    let preset = try ship("2.zip", ["https://bank.example/": bytes("<p>bank")])
    let runtime = try await start(preset, build: "1")
    #expect(runtime.fault == nil && runtime.version == "0")
    guard case .preset(_, let reason)? = runtime.presetFault else {
      Issue.record("\(String(describing: runtime.presetFault))")
      return
    }
    #expect(reason.contains("bank.example"))
  }

  /// A new file under the same name, in the same build.
  @Test func changedPresetsAreTaken() async throws {
    let preset = try ship("app.zip", [RuntimeBench.page: bytes("<p>2")])
    let first = try await start(preset, build: "1")
    #expect(first.version == "2" && first.presetFault == nil)
    await first.close()
    #expect(try ship("app.zip", [RuntimeBench.page: bytes("<p>3")]) == preset)
    let next = try await start(preset, build: "1")
    #expect(next.version == "3" && next.presetFault == nil)
    #expect(try await bench.ask(next, RuntimeBench.page) == "200 <p>3")
  }

  /// Some systems install an app at a different path each time.
  @Test func movedPresetsAreNotTakenAgain() async throws {
    let files = [RuntimeBench.page: bytes("<p>2")]
    let preset = try ship("a.zip", files)
    let first = try await start(preset, build: "1")
    origin.restore(to: 1)
    await first.update(force: true)
    #expect(first.version == "1")
    await first.close()
    let moved = "\(bench.bench.scratch.path)/b.zip"
    try DurableFile.write(try #require(try DurableFile.read(preset)), to: moved)
    #expect(try await start(moved, build: "1").version == "1")
  }

  /// After a downgrade, an app finds a folder of a newer format.
  @Test func foldersOfNewerFormatsStartEmpty() async throws {
    let first = try await bench.runtime()
    await first.handle(.launch)
    await first.close()
    let index = "\(bench.folder)/index.json"
    let text = String(decoding: try #require(try DurableFile.read(index)), as: UTF8.self)
    #expect(text.contains(#","format":1,"#))
    try DurableFile.write(
      bytes(text.replacing(#","format":1,"#, with: #","format":2,"#)), to: index)
    for note in [
      "uses.json", "backlog.json", "poll.json", "pages.json", "policy.json", "prefetchConfig.json",
      "rollout.json",
    ] {
      try DurableFile.write(
        bytes(#"{"format":2,"used":{},"files":[],"pages":7}"#), to: "\(bench.folder)/\(note)")
    }
    let runtime = try await bench.runtime()
    #expect(runtime.fault == nil && runtime.version == "0")
    #expect(try await bench.ask(runtime, RuntimeBench.script) == "notListed")
    _ = origin.takeLog()
    #expect(await runtime.handle(.launch)?.to == "1")
    #expect(try await bench.ask(runtime, RuntimeBench.script) == "200 let one")
  }
}
