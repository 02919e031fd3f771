import System

/// Threads for work that would block a loop; jobs run in the order in which they were submitted.
package final class WorkerPool: Sendable {
  private struct State {
    var jobs: [(@Sendable () -> Void)?] = []
    var first = 0
    var stopped = false

    var count: Int { jobs.count - first }

    mutating func pop() -> (@Sendable () -> Void)? {
      guard first < jobs.count else { return nil }
      let job = jobs[first]
      jobs[first] = nil
      first += 1
      // Emptied slots are removed in bulk, so that the cost of a pop doesn't depend on the queue's length.
      if first >= 64, first * 2 >= jobs.count {
        jobs.removeFirst(first)
        first = 0
      } else if first == jobs.count {
        jobs.removeAll(keepingCapacity: true)
        first = 0
      }
      return job
    }
  }

  private let state: Monitor<State>
  private let limit: Int
  private let threads: [OSThread]

  /// Starts `count` threads; up to `limit` jobs may wait.
  package init(threads count: Int, limit: Int, name: String = "worker") throws(SystemError) {
    let state = Monitor(State())
    self.state = state
    self.limit = limit
    var threads: [OSThread] = []
    do throws(SystemError) {
      for index in 0..<max(count, 1) {
        threads.append(try OSThread(name: "\(name)-\(index)") { WorkerPool.work(state) })
      }
    } catch {
      state.broadcasting { $0.stopped = true }
      throw error
    }
    self.threads = threads
  }

  /// Queues a job; false if the queue is full. `always` takes a job that continues earlier work even then.
  package func submit(always: Bool = false, _ job: @escaping @Sendable () -> Void) -> Bool {
    state.signalling { state in
      guard !state.stopped, always || state.count < limit else { return false }
      state.jobs.append(job)
      return true
    }
  }

  /// Runs the remaining jobs, then ends the threads. Later calls do nothing.
  package func stop() {
    let isFirst = state.broadcasting { state in
      defer { state.stopped = true }
      return !state.stopped
    }
    guard isFirst else { return }
    for thread in threads { thread.join() }
  }

  private static func work(_ state: Monitor<State>) {
    enum Next {
      case job(@Sendable () -> Void)
      case end
    }
    while true {
      let next: Next = state.waiting { state in
        if let job = state.pop() { return .job(job) }
        return state.stopped ? .end : nil
      }
      guard case .job(let job) = next else { return }
      job()
    }
  }
}
