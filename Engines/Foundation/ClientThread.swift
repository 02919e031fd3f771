import Foundation

#if canImport(Darwin)
  /// Where a protocol's client wants to be told: the thread on which the system started the protocol.
  struct ClientThread: @unchecked Sendable {  // its functions may be called from any thread (CFRunLoop)
    private let loop: CFRunLoop

    /// The one that runs now.
    init() { loop = CFRunLoopGetCurrent() }

    func run(_ work: @escaping @Sendable () -> Void) {
      CFRunLoopPerformBlock(loop, CFRunLoopMode.defaultMode.rawValue, work)
      CFRunLoopWakeUp(loop)
    }
  }
#else
  /// Where a protocol's client wants to be told: the queue of its task, on which the system starts and stops it.
  struct ClientThread: Sendable {
    private let queue: DispatchQueue

    init(_ queue: DispatchQueue?) { self.queue = queue ?? DispatchQueue(label: "xcache url protocol") }

    func run(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }
  }
#endif
