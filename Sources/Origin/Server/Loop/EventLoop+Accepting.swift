import HTTP
import Linux
import System
import Values

extension EventLoop {
  /// How long accepting pauses, in nanoseconds, when no descriptor is left.
  private static let pause: UInt64 = 100_000_000

  /// Accepts one waiting connection; others that are waiting wake this loop or another one again.
  func accept() {
    repeat {
      switch Kernel.accept(context.listener.raw) {
      case .connection(let descriptor, let address): assign(descriptor, address)
      case .lost: break
      case .none: return
      case .exhausted: return handleDescriptorExhaustion()
      }
    } while isDraining
  }

  /// Gives the connection to this loop, or to another that has clearly fewer.
  private func assign(_ descriptor: consuming Descriptor, _ address: SocketAddress) {
    if !isDraining, let other = context.lessBusy(than: index) {
      context.mailboxes[other].post(.adopt(descriptor: descriptor.release(), address))
    } else {
      open(descriptor, address)
    }
  }

  /// Starts serving a connection, or refuses it.
  func open(_ descriptor: consuming Descriptor, _ address: SocketAddress) {
    metrics.accepted.add(1)
    let peer = address.ip
    guard case .admitted(let counted) = context.admission.enter(peer) else {
      return refuse(descriptor, peer)
    }
    let session = tls?.session(on: descriptor.raw)
    // This client can't be served without memory for a session.
    if tls != nil, session == nil { return context.admission.leave(peer, counted: counted) }
    let token = claimToken()
    let connection = Connection(
      descriptor, token: token, peer: peer, counted: counted, tls: session,
      http: HTTPConnection(rules, now, handshakes: session != nil))
    if isDraining { connection.http.drain() }
    register(connection)
    // Often the first request has already arrived, and its answer is the last: then epoll isn't needed.
    drive(connection)
    watch(connection)
  }

  /// Registers the connection with epoll, which reports pending events at once.
  private func watch(_ connection: Connection) {
    guard !connection.isClosed else { return }
    do throws(SystemError) {
      let events: EpollEvents = [.readable, .writable, .peerDone, .edge]
      try Kernel.watch(connection.descriptor.raw, events, token: connection.token, in: epoll)
    } catch {
      // ENOMEM or the limit of watches: this client can't be served.
      close(connection)
    }
  }

  /// Answers a connection over a limit with 503, without disturbing others. Under TLS it is closed: a handshake for each
  /// would cost the others more than these clients do.
  private func refuse(_ descriptor: consuming Descriptor, _ peer: IPAddress) {
    metrics.refused.add(1)
    if tls != nil { return }
    let token = claimToken()
    let connection = Connection(
      descriptor, token: token, peer: peer, refused: true, http: HTTPConnection(rules, now))
    connection.start = now
    refusedCount += 1
    register(connection)
    respond(overload(), to: connection, closing: true)
    guard refusedCount <= context.configuration.limits.refused / context.mailboxes.count else {
      _ = flush(connection)
      return close(connection)
    }
    drive(connection)
    watch(connection)
  }

  /// Uses the spare descriptor to tell one client that there are no more, then pauses: the listener stays ready, and
  /// polling it again at once would spin.
  private func handleDescriptorExhaustion() {
    metrics.refused.add(1)
    if spare != nil {
      spare = nil
      if case .connection(let descriptor, _) = Kernel.accept(context.listener.raw) {
        metrics.accepted.add(1)
        if tls == nil { sendOverload(to: descriptor) }
      }
      spare = Kernel.spare()
    }
    guard isAccepting else { return }
    stopAccepting()
    deadlines.insert(DeadlineHeap.Entry(time: now &+ EventLoop.pause, token: Token.accept))
  }

  private func sendOverload(to descriptor: borrowing Descriptor) {
    var buffer = SendBuffer(capacity: 512)
    let response = overload()
    writer.write(response.head, .close, to: &buffer)
    if case .bytes(let body) = response.body { buffer.append(body) }
    _ = Kernel.send(descriptor.raw, buffer.address)
    Kernel.shutdownSending(descriptor.raw)
  }

  func stopAccepting() {
    isAccepting = false
    do throws(SystemError) {
      try Kernel.unwatch(context.listener.raw, in: epoll)
    } catch {
      // This fails only if the listener isn't watched, and then there is nothing to do.
    }
  }

  func resumeAccepting() {
    guard !isAccepting, !isDraining else { return }
    if spare == nil { spare = Kernel.spare() }
    do throws(SystemError) {
      try mailbox.watch(listener: context.listener.raw)
      isAccepting = true
    } catch {
      deadlines.insert(DeadlineHeap.Entry(time: now &+ EventLoop.pause, token: Token.accept))
    }
  }
}
