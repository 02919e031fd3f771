import HTTP
import Platform
import System

/// What all loops of a server share; nothing in it changes.
final class ServerContext: Sendable {
  let configuration: ServerConfiguration
  let listener: Descriptor
  let admission: Admission
  let pool: WorkerPool
  /// For requests that the handler has them reserved for.
  let reservedPool: WorkerPool
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
      pool = try WorkerPool(threads: configuration.workers, limit: configuration.workerQueue)
      reservedPool = try WorkerPool(
        threads: configuration.reservedWorkers, limit: configuration.workerQueue, name: "reserved")
    } catch {
      throw .resources(error)
    }
  }

  /// The loop with the fewest connections, where `index` has clearly more than that one.
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
