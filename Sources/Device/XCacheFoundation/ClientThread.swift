import Foundation

#if canImport(Darwin)
  /// The thread on which the system started the protocol, and on which the client has to be called.
  struct ClientThread: @unchecked Sendable {  // its functions may be called from any thread (CFRunLoop)
    private let loop: CFRunLoop

    /// Captures the current thread.
    init() { loop = CFRunLoopGetCurrent() }

    func run(_ work: @escaping @Sendable () -> Void) {
      CFRunLoopPerformBlock(loop, CFRunLoopMode.defaultMode.rawValue, work)
      CFRunLoopWakeUp(loop)
    }
  }
#else
  /// The queue of the client's task, on which the system starts and stops the protocol, and on which the client has to be
  /// called.
  struct ClientThread: Sendable {
    private let queue: DispatchQueue

    init(_ queue: DispatchQueue?) { self.queue = queue ?? DispatchQueue(label: "xcache url protocol") }

    func run(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }
  }
#endif
