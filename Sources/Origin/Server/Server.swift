import HTTP
import Linux
import System

/// An HTTP/1.1 server: event loops, each with its own thread and handler.
package final class Server: Sendable {
  private enum Stage {
    case ready
    case running([OSThread])
    case stopped
  }

  private let context: ServerContext
  private let stage = Locked<Stage>(.ready)
  /// The address that it listens on, with the port that the kernel chose for port 0.
  package let address: SocketAddress

  /// Listens, but doesn't accept connections before `start`.
  ///
  /// - Throws: `listen` if the address can't be listened on, `resources` if the kernel is out of resources.
  package init(configuration: ServerConfiguration) throws(ServerError) {
    Signals.ignorePipe()
    context = try ServerContext(configuration)
    do throws(SystemError) {
      address = try Kernel.localAddress(context.listener.raw)
    } catch {
      throw .resources(error)
    }
  }

  /// The current counters of all loops.
  package var metrics: ServerMetrics {
    let configuration = context.configuration
    return ServerMetrics(context.metrics, configuration.accessLog, speaksTLS: configuration.tls != nil)
  }

  /// Starts the loops.
  ///
  /// - Parameter makeHandler: called once on each loop's thread, with the loop's index.
  /// - Throws: `resources` if the kernel gives no thread or epoll.
  package func start(makeHandler: @escaping @Sendable (Int) -> any Handler) throws(ServerError) {
    var threads: [OSThread] = []
    do throws(SystemError) {
      for index in context.mailboxes.indices { threads.append(try startLoop(index, makeHandler)) }
    } catch {
      keep(threads)
      stop(graceSeconds: 0)
      throw .resources(error)
    }
    keep(threads)
  }

  /// Seconds that a loop has to hand over its access lines.
  private static let flushSeconds = 5

  /// Continues the access log in another file, such as a new one after logrotate moved the old one away. Requests answered
  /// before the call are logged in the old one.
  package func reopenAccessLog(in file: consuming Descriptor) {
    guard let log = context.configuration.accessLog else { return }
    let left = Monitor(context.mailboxes.count)
    for mailbox in context.mailboxes {
      mailbox.post(.flushLog { left.signalling { $0 -= 1 } })
    }
    // If a loop is stuck for that long, lines in the wrong file are the smaller problem.
    _ = left.waiting(for: .seconds(Self.flushSeconds)) { $0 == 0 ? true : nil }
    log.reopen(in: file)
  }

  /// How long work that can't be broken off, such as a release that is being committed, may go on after the grace period.
  private static let workSeconds = 3

  /// Stops the server: accepts no new connections and gives answers in flight `graceSeconds` to finish. Then work that
  /// waits for a worker is dropped, reads are broken off, and anything else gets `workSeconds` more.
  ///
  /// - Returns: false if something was still running then.
  @discardableResult
  package func stop(graceSeconds: Int = 10) -> Bool {
    let threads: [OSThread]? = stage.withLock { stage in
      defer { stage = .stopped }
      return switch stage {
      case .ready: []
      case .running(let threads): threads
      case .stopped: nil
      }
    }
    guard let threads else { return true }
    let grace = UInt64(max(graceSeconds, 0)) &* Timeouts.second
    for mailbox in context.mailboxes {
      mailbox.post(.stop(deadline: Clock.monotonicNanoseconds() &+ grace))
    }
    for thread in threads { thread.join() }
    return context.lanes.stop(within: .seconds(Self.workSeconds))
  }

  private func keep(_ threads: [OSThread]) {
    stage.withLock { $0 = .running(threads) }
  }

  private func startLoop(
    _ index: Int, _ makeHandler: @escaping @Sendable (Int) -> any Handler
  ) throws(SystemError) -> OSThread {
    let context = self.context
    return try OSThread(name: "loop-\(index)") {
      EventLoop(index, context, makeHandler(index)).run()
    }
  }
}

/// Why a server can't start.
package enum ServerError: Error, Sendable, Equatable {
  /// Thrown when the address can't be listened on: in use, not this machine's, or not allowed.
  case listen(SocketAddress, SystemError)
  /// Thrown when the kernel gives no epoll, eventfd or thread.
  case resources(SystemError)
}

/// What all loops of a server share; immutable.
final class ServerContext: Sendable {
  let configuration: ServerConfiguration
  let listener: Descriptor
  let admission: Admission
  let lanes: WorkerLanes
  let mailboxes: [Mailbox]
  let metrics: [LoopMetrics]

  init(_ configuration: ServerConfiguration) throws(ServerError) {
    self.configuration = configuration
    do throws(SystemError) {
      listener = try Kernel.listen(configuration.address, backlog: 4096)
    } catch {
      throw .listen(configuration.address, error)
    }
    admission = Admission(configuration.limits, trusted: configuration.trustedProxies)
    do throws(SystemError) {
      var mailboxes: [Mailbox] = []
      for _ in 0..<max(configuration.loops, 1) { mailboxes.append(try Mailbox(listener: listener)) }
      self.mailboxes = mailboxes
      metrics = mailboxes.map { _ in LoopMetrics() }
      lanes = try WorkerLanes(configuration)
    } catch {
      throw .resources(error)
    }
  }

  /// Returns the loop with the fewest connections, if `index` has clearly more.
  func lessBusy(than index: Int) -> Int? {
    guard metrics.count > 1 else { return nil }
    let own = metrics[index].open.value
    var least = index
    var fewest = own
    for other in metrics.indices where metrics[other].open.value < fewest {
      least = other
      fewest = metrics[other].open.value
    }
    return own > fewest &+ 4 &+ fewest / 8 ? least : nil
  }
}
