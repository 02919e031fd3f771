import Glibc
import System
import Testing

@testable import XCacheDevice

/// A folder of its own for a test, removed with it.
final class Scratch: Sendable {
  let path: String

  init() throws {
    path = "\(Scratch.root)/xcache-client-\(Hex.encode(Secrets.random(8).span.bytes))"
    try Kernel.makeFolder(path)
  }

  deinit { Scratch.removeAll(path) }

  private static let root: String = {
    guard let folder = getenv("TMPDIR") else { return "/tmp" }
    return String(cString: folder)
  }()

  static func removeAll(_ path: String) {
    for name in (try? Folder.textNames(path)) ?? [] {
      let child = "\(path)/\(name)"
      if (try? Kernel.status(child, followLinks: false))??.kind == .folder {
        removeAll(child)
      } else {
        try? Kernel.remove(child)
      }
    }
    try? Kernel.removeFolder(path)
  }

  /// Each file below `folder` with its bytes, by relative path.
  static func contents(_ folder: String) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try Folder.textNames(folder) {
      let path = "\(folder)/\(name)"
      if try Kernel.status(path, followLinks: false)?.kind == .folder {
        for (child, bytes) in try contents(path) { files["\(name)/\(child)"] = bytes }
      } else {
        files[name] = try DurableFile.read(path)
      }
    }
    return files
  }

  static func write(_ text: String, to path: String) throws {
    try Kernel.makeFolder(DurableFile.parent(of: path))
    try DurableFile.write(Array(text.utf8), to: path)
  }
}

/// A clock that a test sets.
final class TestClock: Sendable {
  private let time = Locked<Int64>(1_800_000_000_000)
  var now: Int64 { time.withLock { $0 } }
  func advance(seconds: Int64) { time.withLock { $0 += seconds * 1000 } }
}

/// One device over a fake origin, in a scratch folder.
struct Bench {
  let scratch: Scratch
  let origin: FakeOrigin
  let clock = TestClock()

  init(origin: FakeOrigin = FakeOrigin()) throws {
    scratch = try Scratch()
    self.origin = origin
  }

  func settings(_ name: String = "device") -> DeviceSettings {
    var settings = DeviceSettings(
      folder: "\(scratch.path)/\(name)", server: FakeOrigin.server, app: "shop", hosts: ["*"])
    settings.retryPauses = [0, 0]
    settings.connections = 3
    return settings
  }

  func device(
    _ name: String = "device", willChange: (@Sendable () throws(DeviceError) -> Void)? = nil,
    change: (inout DeviceSettings) -> Void = { _ in }
  ) throws -> Device {
    var settings = settings(name)
    change(&settings)
    let clock = clock
    return try Device(
      settings, transport: origin, folder: CacheFolder(settings.folder, willChange: willChange),
      now: { clock.now })
  }

  /// `files/` and `index.json` of a device.
  func state(_ name: String = "device") throws -> [String: [UInt8]] {
    var state = try Scratch.contents("\(scratch.path)/\(name)/files")
    state["index.json"] = try DurableFile.read("\(scratch.path)/\(name)/index.json")
    return state
  }

  /// What a device that starts from nothing comes to.
  func fresh() throws -> [String: [UInt8]] {
    let name = "fresh-\(Hex.encode(Secrets.random(4).span.bytes))"
    let update = try device(name).update()
    #expect(update.kind == .whole)
    return try state(name)
  }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
