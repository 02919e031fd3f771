import HTTP
import Platform
import System

/// An HTTP/1.1 server: event loops on threads of their own, each with a handler of its own.
package final class Server: Sendable {
  private enum Stage {
    case ready
    case running([OSThread])
    case stopped
  }

  private let context: ServerContext
  private let stage = Locked<Stage>(.ready)
  /// Where it listens, with the port that the kernel chose for port 0.
  package let address: SocketAddress

  /// Listens, but answers nothing before `start`.
  ///
  /// - Throws: `listen` where the address is taken, `resources` where the kernel has none left.
  package init(configuration: ServerConfiguration) throws(ServerError) {
    Signals.ignorePipe()
    context = try ServerContext(configuration)
    do throws(SystemError) {
      address = try Kernel.localAddress(context.listener.raw)
    } catch {
      throw .resources(error)
    }
  }

  /// The counters of all loops, now.
  package var metrics: ServerMetrics { ServerMetrics(context.metrics, context.configuration.accessLog) }

  /// Starts the loops.
  ///
  /// - Parameter makeHandler: called once on each loop's thread, with the loop's index.
  /// - Throws: `resources` where the kernel gives no thread or epoll.
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

  /// Stops: no new connections, answers in flight get `graceSeconds` to finish. Returns when all is over.
  package func stop(graceSeconds: Int = 10) {
    let threads: [OSThread]? = stage.withLock { stage in
      defer { stage = .stopped }
      return switch stage {
      case .ready: []
      case .running(let threads): threads
      case .stopped: nil
      }
    }
    guard let threads else { return }
    let grace = UInt64(max(graceSeconds, 0)) &* Timeouts.second
    for mailbox in context.mailboxes {
      mailbox.post(.stop(deadline: Clock.monotonicNanoseconds() &+ grace))
    }
    for thread in threads { thread.join() }
    context.pool.stop()
    context.reservedPool.stop()
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
