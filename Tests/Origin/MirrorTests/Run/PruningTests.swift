import Glibc
import Manifests
import Store
import System
import Testing

@testable import Mirror

@Suite("Files that a run removes")
struct PruningTests {
  /// Files of two apps, with ids 1 and 2, and whether a run for `shop online` may remove them.
  @Test(arguments: [
    ("xcache/shop/configure/1.json", true), ("xcache/1/3/1/u/name", true),
    ("xcache/mall/configure.json", false),
    ("xcache/2/3/1/u/name", false), ("xcache/9/3/1/u/name", false),
    ("xcache_test/shop/configure.json", false),
    ("xcache_test/1/3/1/u/name", false), ("xcache/delta/a/b.dcz", false), ("xcache/readme.txt", false),
    ("xcache/Not an app/x", false), ("xcache_old-files/1/x", false), ("xcache_Old/1/x", false),
    ("other/1/x", false),
    ("xcache/01/3/1/u/name", false), ("xcache/99999999999999999999/x", false),
  ])
  func ofOneChannel(path: String, may: Bool) throws {
    let apps = [Int64(1): try AppName("shop"), 2: try AppName("mall")]
    let pruning = Pruning(selections: [try ChannelsTests.selection("shop online"), .all], apps: apps)
    #expect(pruning.mayRemove(path) == may)
  }

  @Test("A run for everything removes files of unknown apps, too, but nothing that isn't a mirror's file")
  func ofAll() throws {
    let pruning = Pruning(selections: [.all, .all], apps: [:])
    for path in ["xcache/9/3/1/u/name", "xcache/delta/a/b.dcz", "xcache_test/x/configure.json"] {
      #expect(pruning.mayRemove(path), "\(path)")
    }
    for path in ["xcache/readme.txt", "xcache/Not an app/x", "xcache_Old/1/x"] {
      #expect(!pruning.mayRemove(path), "\(path)")
    }
    let limited = Pruning(selections: [.all, ChannelSelection(apps: [try AppName("shop")])], apps: [:])
    #expect(!limited.mayRemove("xcache/delta/a/b.dcz") && !limited.mayRemove("xcache/9/3/1/u/name"))
  }

  @Test(
    "The grace period begins when a file is first unnamed; a time in the future is taken as now"
  )
  func grace() throws {
    let pruning = Pruning(selections: [.all], apps: [:])
    let paths = ["old", "new", "never", "ahead", "first"].map { "xcache/shop/\($0)" }
    let (gone, leaving) = pruning.split(
      paths, named: [paths[2]],
      leaving: [paths[0]: 1000, paths[1]: 4500, paths[2]: 0, paths[3]: .max, "xcache/shop/away": 0],
      now: 5000,
      grace: 1000)
    #expect(gone == [paths[0]])
    #expect(leaving == [paths[1]: 4500, paths[3]: 5000, paths[4]: 5000])
  }

  @Test("Files of an interrupted run get the grace period from when they are no longer named")
  func graceAfterAnInterruptedRun() throws {
    let bench = try Bench(versions: 1)
    try bench.mirror { $0.keep = 0 }
    try bench.publish(1)
    try DurableFile.write([], to: bench.www + "/" + RunMark.path)
    // By their times, these are old files.
    let report = try bench.mirror { ($0.keep, $0.prunes, $0.grace) = (0, true, 50) }
    #expect(report.removed == 0 && report.leaving > 0)
    Clock.sleep(for: .milliseconds(60))
    #expect(try bench.mirror { ($0.keep, $0.prunes, $0.grace) = (0, true, 50) }.removed == report.leaving)
  }

  @Test("In a folder that isn't a copy yet nothing is removed, and files of others never are")
  func filesOfOthers() throws {
    let bench = try Bench(versions: 1)
    let own = ["xcache/shop/notes/mine.txt", "xcache/readme.txt", "xcache_My/1/a", "index.html"]
    for path in own {
      try makeFolders(DurableFile.parent(of: "\(bench.www)/\(path)"))
      try DurableFile.write([1], to: "\(bench.www)/\(path)")
    }
    let first = try bench.mirror { ($0.prunes, $0.grace) = (true, 0) }
    #expect(first.removed == 0 && first.putsOffPruning)
    #expect(try bench.mirror { ($0.prunes, $0.grace) = (true, 0) }.removed == 1)
    #expect(try own.map { try DurableFile.read("\(bench.www)/\($0)") != nil } == [false, true, true, true])
  }

  private func makeFolders(_ path: String) throws {
    if try Kernel.status(path) != nil { return }
    try makeFolders(DurableFile.parent(of: path))
    try Kernel.makeFolder(path)
  }

  @Test("Symbolic links and their targets are kept")
  func links() throws {
    let bench = try Bench(versions: 1)
    let (disk, secret) = (bench.folder + "/disk", bench.folder + "/secret")
    for folder in [disk, secret, bench.www] { try makeFolders(folder) }
    try DurableFile.write([1], to: secret + "/file")
    #expect(symlink(disk, bench.www + "/xcache") == 0)
    try bench.mirror { $0.keep = 0 }
    #expect(symlink(secret, bench.www + "/xcache_test") == 0)
    #expect(symlink(secret, disk + "/shop/secret") == 0)
    try bench.publish(1)
    for _ in 0..<2 { try bench.mirror { ($0.keep, $0.prunes, $0.grace) = (0, true, 0) } }
    #expect(try Kernel.status(bench.www + "/xcache", followLinks: false)?.kind == .link)
    #expect(try DurableFile.read(secret + "/file") == [1])
    #expect(try Verification(FolderReader(bench.www)).run().divergences.isEmpty)
  }

  @Test("Precompressed files left by an interrupted run are removed")
  func staleSiblings() throws {
    let bench = try Bench(versions: 1)
    try bench.mirror()
    for ending in [".gz", ".zst"] {
      try DurableFile.write([1], to: bench.www + "/xcache/shop/configure.json" + ending)
    }
    try DurableFile.write([], to: bench.www + "/" + RunMark.path)
    try bench.mirror()
    #expect(try DurableFile.read(bench.www + "/xcache/shop/configure.json.gz") == nil)
  }
}
