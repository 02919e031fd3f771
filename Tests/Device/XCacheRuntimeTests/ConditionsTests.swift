import DeviceTestSupport
import Manifests
import System
import Testing

@testable import XCacheDevice
@testable import XCacheRuntime

/// What updates and pages fetch, depending on network and battery.
@Suite struct ConditionsTests {
  let bench: RuntimeBench
  var origin: FakeOrigin { bench.origin }

  init() throws { bench = try RuntimeBench() }

  private func metered() async throws -> Runtime {
    let runtime = try await bench.runtime { $0.device.meteredLimit = 3 }
    runtime.conditions.network = .metered
    await runtime.handle(.launch)
    return runtime
  }

  @Test func meteredPagesFetchFilesOneByOne() async throws {
    let runtime = try await metered()
    #expect(runtime.version == "1" && bench.fetches() == 0)
    #expect(try await bench.ask(runtime, RuntimeBench.script) == "200 let one")
    #expect(bench.fetches() == 1)
    #expect(runtime.counts.misses == 1 && runtime.counts.disk == 1)
  }

  @Test func backlogIsFetchedWhenTheNetworkIsUnmetered() async throws {
    let runtime = try await metered()
    runtime.conditions.network = .unmetered
    await runtime.close(waitingForBacklog: true)
    #expect(bench.fetches() == 2)
    #expect(try Folder.textNames("\(bench.folder)/files").count == 2)
  }

  /// The backlog waits for an update that is about to run.
  @Test func updatesGoBeforeTheBacklog() async throws {
    let runtime = try await metered()
    let barrier = Barrier()
    runtime.updateThread.add { barrier.wait() }
    let update = Task { await runtime.update(force: true) }
    while runtime.state.withLock({ $0.updates }) == 0 { try await Task.sleep(for: .milliseconds(1)) }
    runtime.conditions.network = .unmetered
    #expect(runtime.state.withLock { $0.backlog == nil })
    _ = origin.takeLog()
    barrier.open()
    #expect(await update.value != nil)
    await runtime.close(waitingForBacklog: true)
    let log = origin.takeLog()
    #expect(log.first?.contains("/configure.json") == true && log.count == 3)
  }

  @Test func concurrentChangesOfConditionsAreKept() async throws {
    let runtime = try await bench.runtime()
    await withTaskGroup { group in
      for _ in 0..<4 {
        group.addTask { for _ in 0..<1001 { runtime.changeConditions { $0.savesData.toggle() } } }
        group.addTask { for _ in 0..<1001 { runtime.changeConditions { $0.isLowPower.toggle() } } }
      }
    }
    // Each is toggled an even number of times.
    #expect(runtime.conditions == Conditions() && runtime.device?.conditions == Conditions())
    runtime.device?.conditions.network = .metered
    #expect(runtime.conditions.network == .metered)
  }

  /// Also after a restart.
  @Test func backlogIsFetchedWithTheNextTrigger() async throws {
    let first = try await metered()
    await first.close()
    let next = try await bench.runtime()
    await next.handle(.launch)
    await next.close(waitingForBacklog: true)
    #expect(bench.fetches() == 2)
  }

  @Test func onlyLaunchAndPushPollInTheBackground() async throws {
    let runtime = try await bench.runtime()
    runtime.conditions.isForeground = false
    _ = origin.takeLog()
    for trigger in [Trigger.foreground, .pageClosed, .pageOpened(runtime.open(RuntimeBench.page))] {
      #expect(await runtime.handle(trigger) == nil)
    }
    #expect(origin.takeLog() == [])
    #expect(await runtime.handle(.push)?.to == "1")
  }

  /// The app may be killed in the background, so uses are saved before.
  @Test func usesAreSavedWhenTheAppLeavesTheForeground() async throws {
    let runtime = try await bench.runtime()
    await runtime.handle(.launch)
    let note = { try DurableFile.read("\(bench.folder)/uses.json") }
    let before = try note()
    // The first reads the file, the second finds it in memory.
    for url in [RuntimeBench.script, RuntimeBench.page, RuntimeBench.script, RuntimeBench.page] {
      _ = try await bench.ask(runtime, url, destination: .document)
    }
    _ = try await bench.ask(runtime, RuntimeBench.script)
    #expect(try note() == before)
    runtime.conditions.isForeground = false
    await runtime.notes.run {}
    let text = String(decoding: try #require(try note()), as: UTF8.self)
    #expect(text == #"{"used":["https%3A%2F%2Fm.test%2Findex.html","https%3A%2F%2Fm.test%2Fapp.js"]}"#)
  }

  @Test func diskLimitHasADefault() throws {
    let device = bench.bench.settings()
    #expect(RuntimeSettings(device).device.diskLimit == 100 << 20)
    var limited = device
    limited.diskLimit = 5
    #expect(RuntimeSettings(limited).device.diskLimit == 5)
  }

  /// Updates wait for a page from its opening until it has come up, failed or closed.
  @Test func loadingPagesAreCounted() async throws {
    let runtime = try await bench.runtime { $0.pageDeadline = 600_000 }
    let gate = try #require(runtime.device).gate
    let ends: [(OpenPage) -> Void] = [runtime.pageCameUp, runtime.scriptFailed, runtime.close]
    for end in ends {
      let page = runtime.open(RuntimeBench.page)
      #expect(gate.loadingPages == 1)
      end(page)
      #expect(gate.loadingPages == 0)
    }
  }
}

extension Runtime {
  /// Closes once the backlog's job has ended by itself.
  func close(waitingForBacklog: Bool) async {
    await updateThread.run {}
    await close()
  }
}
