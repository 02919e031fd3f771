import Foundation
import Testing
import XCacheRuntime

@testable import XCacheWebKit

/// A small tmpfs that tests fill.
private final class Disk {
  let folder: URL
  private var ballast: URL { folder.appendingPathComponent("ballast") }

  static let canMount: Bool = {
    guard let disk = try? Disk("1m") else { return false }
    return (try? disk.setWritable(true)) != nil
  }()

  /// - Parameter size: in the format of tmpfs's `size` option.
  init(_ size: String) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "webkit-disk-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Self.run("mount", "-t", "tmpfs", "-o", "size=\(size)", "tmpfs", folder.path)
    try FileManager.default.createDirectory(
      atPath: folder.path + "/device", withIntermediateDirectories: false)
  }

  deinit {
    try? setWritable(true)
    try? Self.run("umount", "-l", folder.path)
    try? FileManager.default.removeItem(at: folder)
  }

  private static func run(_ words: String...) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    try process.run()
    process.waitUntilExit()
    if process.terminationStatus != 0 { throw Sites.Failed(what: words.joined(separator: " ")) }
  }

  func remount(_ options: String) throws { try Self.run("mount", "-o", "remount,\(options)", folder.path) }

  /// Fills all free space.
  func fill() throws {
    guard FileManager.default.createFile(atPath: ballast.path, contents: nil) else { return }
    let file = try FileHandle(forWritingTo: ballast)
    defer { try? file.close() }
    for size in [1 << 16, 1 << 12] { while (try? file.write(contentsOf: Data(count: size))) != nil {} }
  }

  /// Makes the device's folder immutable, for root as well, or writable again.
  func setWritable(_ isWritable: Bool) throws {
    try Self.run("chattr", "-R", isWritable ? "-i" : "+i", folder.path + "/device")
  }

  func free() throws { try FileManager.default.removeItem(at: ballast) }
}

extension WebKitTests {
  /// Full and read-only disks: pages still open, and updates continue once there is space.
  @Suite(.serialized, .enabled(if: Disk.canMount, "needs permission to mount"))
  @WebActor
  struct DiskTests {
    private func title(_ page: WebPage) async throws -> String? {
      try await page.evaluate("return document.title")
    }

    /// Polls until the condition holds; devices poll at most every 30 seconds.
    private func polls(_ app: App, until isDone: () -> Bool) async throws -> Bool {
      for _ in 0..<140 {
        if isDone() { return true }
        await app.runtime.handle(.push)
        try await Task.sleep(for: .milliseconds(500))
      }
      return isDone()
    }

    /// The page comes from the network, and from the device once there is space.
    @Test(arguments: ["64k", "2m"]) func firstStartOnAFullDiskUsesTheNetwork(_ size: String) async throws {
      let sites = try Sites()
      let disk = try Disk(size)
      defer { withExtendedLifetime(disk) {} }
      // The small disk is full from the start, the other one runs full during the download.
      if size == "64k" { try disk.fill() }
      let app = try await App(sites, isFirstStart: true, in: disk.folder)
      try app.trustSites()
      #expect(app.runtime.fault == nil)
      await app.runtime.handle(.launch)
      #expect(app.runtime.version == "0")
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      #expect(try await title(page) == "\"second\"")
      #expect(try sites.log().contains("GET m.example.com/second.html"))
      try disk.remount("size=64m")
      #expect(try await polls(app) { app.runtime.version != "0" })
      try sites.tell("stop")
      let other = try WebPage(app.host)
      try await other.load(sites.url("/second.html"))
      #expect(try await title(other) == "\"second\"")
      await app.runtime.close()
    }

    /// The disk is full while pages are shown, and when the app restarts.
    @Test func storedPagesOpenOnAFullDisk() async throws {
      let sites = try Sites()
      let disk = try Disk("64m")
      defer { withExtendedLifetime(disk) {} }
      var app = try await App(sites, in: disk.folder)
      let (runtime, held) = (app.runtime, app.runtime.version)
      let page = try WebPage(app.host)
      try await page.load(sites.url("/index.html"))
      try disk.fill()
      try sites.tell("edit m.example.com/second.html <!doctype html><title>new</title>")
      let events = runtime.events
      let failing = Task { () -> Bool in
        for await event in events { if case .failed = event { return true } }
        return false
      }
      let polling = Task {
        while !Task.isCancelled {
          await runtime.handle(.push)
          try await Task.sleep(for: .milliseconds(500))
        }
      }
      #expect(await failing.value)
      polling.cancel()
      #expect(runtime.version == held)
      _ = try sites.log()
      try sites.tell("stop")
      for path in ["/second.html", "/frame.html"] {
        try await page.load(sites.url(path))
        #expect(try await page.evaluate("return (await (await fetch('/digits.txt')).text()).length") == "100")
      }
      await runtime.close()
      app = try await App(sites, isFirstStart: true, in: disk.folder)
      #expect(app.runtime.fault == nil && app.runtime.version == held)
      let again = try WebPage(app.host)
      try await again.load(sites.url("/second.html"))
      #expect(try await title(again) == "\"second\"")
      try sites.tell("start")
      try disk.free()
      #expect(try await polls(app) { app.runtime.version != held })
      try await again.load(sites.url("/second.html"))
      #expect(try await title(again) == "\"new\"")
      #expect(try sites.log() == [])
      await app.runtime.close()
    }

    /// As with a failing disk, or a folder that belongs to another user.
    @Test func pagesOpenFromAReadOnlyFolder() async throws {
      let sites = try Sites()
      let disk = try Disk("64m")
      defer { withExtendedLifetime(disk) {} }
      var app = try await App(sites, in: disk.folder)
      try app.trustSites()
      try disk.setWritable(false)
      let page = try WebPage(app.host)
      for path in ["/index.html", "/second.html"] {
        try await page.load(sites.url(path))
        #expect(try await page.evaluate("return (await (await fetch('/digits.txt')).text()).length") == "100")
      }
      #expect(try sites.log() == [])
      try sites.tell("run policy kill -m test")
      try await app.takePolicy()
      try await page.load(sites.url("/second.html"))
      #expect(try sites.log() == ["GET m.example.com/second.html"])
      await app.runtime.close()
      // The folder can't be locked: pages come from the network.
      app = try await App(sites, in: disk.folder)
      try app.trustSites()
      #expect(app.runtime.fault != nil)
      let other = try WebPage(app.host)
      try await other.load(sites.url("/second.html"))
      #expect(try await title(other) == "\"second\"")
      #expect(try sites.log().contains("GET m.example.com/second.html"))
      await app.runtime.close()
    }
  }
}
