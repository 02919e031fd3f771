import Glibc
import System
import Testing
import TLS
import TLSPeer

/// The server's side of a session, with libssl's client.
@Suite struct SessionTests {
  let acceptor: TLSAcceptor
  let files: Certificates.Pair
  private let certificates: Certificates

  init() throws {
    certificates = try Certificates()
    files = try certificates.make("own", hosts: ["shop.test"])
    acceptor = try TLSAcceptor(certificate: files.certificate, key: files.key)
  }

  @Test("TLS 1.2 and 1.3 are accepted, older versions refused", arguments: TLSVersion.allCases)
  func versions(_ version: TLSVersion) throws {
    let pair = try Pair(
      acceptor,
      TLSPeer.Options {
        ($0.oldest, $0.newest) = (version, version)
        $0.ciphers = "ALL:@SECLEVEL=0"
      })
    switch version {
    case .tls10, .tls11: #expect(pair.shakeHands() == .failed)
    case .tls12, .tls13:
      #expect(pair.shakeHands() == .done(isResumed: false))
      #expect(pair.client.version == version.rawValue)
    }
  }

  @Test(
    "Only ciphers with forward secrecy are accepted in TLS 1.2",
    arguments: [
      ("ECDHE-ECDSA-AES128-GCM-SHA256", true), ("ECDHE-ECDSA-AES256-GCM-SHA384", true),
      ("ECDHE-ECDSA-CHACHA20-POLY1305", true), ("ECDHE-ECDSA-AES128-SHA", false),
      ("ECDHE-ECDSA-AES128-SHA256", false), ("AES128-GCM-SHA256", false), ("ECDHE-ECDSA-NULL-SHA", false),
    ])
  func ciphers(_ cipher: String, _ isTaken: Bool) throws {
    let pair = try Pair(
      acceptor,
      TLSPeer.Options {
        $0.newest = .tls12
        $0.ciphers = "\(cipher):@SECLEVEL=0"
      })
    #expect(pair.shakeHands() == (isTaken ? .done(isResumed: false) : .failed))
    if isTaken { #expect(pair.client.cipher == cipher) }
  }

  @Test("A client that prefers ChaCha20 gets it; others get AES-128")
  func preference() throws {
    let standard = try Pair(acceptor, TLSPeer.Options { $0.newest = .tls12 })
    #expect(standard.shakeHands() == .done(isResumed: false))
    #expect(standard.client.cipher == "ECDHE-ECDSA-AES128-GCM-SHA256")
    let phone = try Pair(
      acceptor,
      TLSPeer.Options {
        $0.newest = .tls12
        $0.ciphers = "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256"
      })
    #expect(phone.shakeHands() == .done(isResumed: false))
    #expect(phone.client.cipher == "ECDHE-ECDSA-CHACHA20-POLY1305")
  }

  @Test(
    "http/1.1 is selected; a client that offers only other protocols is refused",
    arguments: [
      (["h2", "http/1.1"], "http/1.1"), (["http/1.1"], "http/1.1"), ([], nil), (["h2"], "refused"),
      (["http/1.0"], "refused"),
      (["http/1.11"], "refused"), (["x", "xhttp/1.1", "http/1.1"], "http/1.1"),
    ] as [([String], String?)])
  func protocols(_ offered: [String], _ chosen: String?) throws {
    let pair = try Pair(acceptor, TLSPeer.Options { $0.protocols = offered })
    if chosen == "refused" {
      #expect(pair.shakeHands() == .failed)
      guard case .failed(let reason) = pair.clientStep else {
        Issue.record("the handshake succeeded"); return
      }
      #expect(reason.contains("no application protocol"))
    } else {
      #expect(pair.shakeHands() == .done(isResumed: false))
      #expect(pair.client.chosenProtocol == chosen)
    }
  }

  @Test(
    "Any server name is accepted, and the client checks the certificate",
    arguments: ["shop.test", "other.test"])
  func names(_ host: String) throws {
    let pair = try Pair(
      acceptor,
      TLSPeer.Options {
        $0.host = host
        $0.authority = files.certificate
      })
    let step = pair.shakeHands()
    if host == "shop.test" {
      #expect(step == .done(isResumed: false))
    } else {
      guard case .failed(let reason) = pair.clientStep else {
        Issue.record("the certificate was accepted"); return
      }
      #expect(reason == "certificate verify failed")
    }
  }

  @Test(
    "A session is resumed by its ticket, also after a reload of the certificate",
    arguments: [TLSVersion.tls12, .tls13])
  func resumption(_ version: TLSVersion) throws {
    func connect(_ ticket: TLSSessionTicket?) throws -> (Bool, TLSSessionTicket?) {
      let pair = try Pair(
        acceptor,
        TLSPeer.Options {
          ($0.oldest, $0.newest) = (version, version)
          $0.session = ticket
        })
      let step = pair.shakeHands()
      // In TLS 1.3, the ticket is received with data.
      #expect(pair.serverSends(Array("hello".utf8)) == .bytes(5))
      #expect(pair.clientReads() == Array("hello".utf8))
      return (step == .done(isResumed: true) && pair.client.isResumed, pair.client.ticket)
    }
    let (isFirstResumed, ticket) = try connect(nil)
    #expect(!isFirstResumed)
    #expect(try connect(ticket).0)
    try acceptor.reload()
    let (isResumed, next) = try connect(ticket)
    #expect(isResumed)
    let other = try TLSAcceptor(certificate: files.certificate, key: files.key)
    let pair = try Pair(
      other,
      TLSPeer.Options {
        ($0.oldest, $0.newest) = (version, version)
        $0.session = next
      })
    #expect(pair.shakeHands() == .done(isResumed: false), "another server's keys open no ticket of this one")
  }

  @Test("Renegotiation in TLS 1.2 is refused; key updates in TLS 1.3 work")
  func renegotiation() throws {
    let old = try Pair(acceptor, TLSPeer.Options { $0.newest = .tls12 })
    #expect(old.shakeHands() == .done(isResumed: false))
    _ = old.client.renegotiate()
    #expect(old.serverReceives() == .needsInput)
    guard case .failed(let reason) = old.client.renegotiate() else {
      Issue.record("renegotiation was accepted"); return
    }
    #expect(reason.contains("renegotiation"))

    let new = try Pair(acceptor, TLSPeer.Options { $0.oldest = .tls13 })
    #expect(new.shakeHands() == .done(isResumed: false))
    _ = new.client.updateKeys()
    #expect(new.client.send(Array("hello".utf8)) == .bytes(5))
    #expect(new.serverReads() == "hello")
    #expect(new.serverSends(Array("world".utf8)) == .bytes(5))
    #expect(new.clientReads() == Array("world".utf8))
  }

  @Test("Plain HTTP is distinguished from invalid TLS")
  func notTLS() throws {
    for (bytes, expected) in [
      ("GET / HTTP/1.1\r\n\r\n", TLSSession.Handshake.plainText), ("DELETE / HTTP/1.1\r\n\r\n", .plainText),
      ("\u{0}\u{1}\u{2}\u{3}\u{4}\u{5}", .failed), ("\u{16}\u{3}\u{1}\u{0}\u{5}aaaaaaaa", .failed),
    ] {
      let pair = try Pair(acceptor)
      pair.sendRaw(Array(bytes.utf8))
      #expect(pair.server.handshake() == expected, "\(bytes.debugDescription)")
    }
    // Part of a hello: more is awaited until the client closes.
    let pair = try Pair(acceptor)
    pair.sendRaw([0x16, 3, 1])
    #expect(pair.server.handshake() == .needsInput)
  }

  @Test("A modified record ends the session")
  func damage() throws {
    let pair = try Pair(acceptor)
    #expect(pair.shakeHands() == .done(isResumed: false))
    pair.sendRaw([0x17, 3, 3, 0, 32] + [UInt8](repeating: 7, count: 32))
    #expect(pair.serverReceives() == .broken)
  }

  @Test("The client's end is reported, with its closing alert or without; within a record it is none")
  func silentEnds() throws {
    let silent = try Pair(acceptor)
    #expect(silent.shakeHands() == .done(isResumed: false))
    #expect(shutdown(silent.wire, Int32(SHUT_WR)) == 0)
    #expect(silent.serverReceives() == .end)
    #expect(silent.serverSends(Array("bye".utf8)) == .bytes(3))
    #expect(silent.clientReads() == Array("bye".utf8))

    let cut = try Pair(acceptor)
    #expect(cut.shakeHands() == .done(isResumed: false))
    cut.sendRaw([0x17, 3, 3, 0, 64] + [UInt8](repeating: 1, count: 10))
    #expect(cut.serverReceives() == .needsInput)
    #expect(shutdown(cut.wire, Int32(SHUT_WR)) == 0)
    #expect(cut.serverReceives() == .broken)
  }

  @Test("After the client's closing alert it may still be answered")
  func ends() throws {
    let pair = try Pair(acceptor)
    #expect(pair.shakeHands() == .done(isResumed: false))
    pair.client.sendCloseNotify()
    #expect(pair.serverReceives() == .end)
    // An answer can still be sent.
    #expect(pair.serverSends(Array("bye".utf8)) == .bytes(3))
    #expect(pair.clientReads() == Array("bye".utf8))
    pair.server.sendCloseNotify()
    var buffer = [UInt8](repeating: 0, count: 8)
    #expect(pair.client.receive(into: &buffer) == .end)
  }

  @Test("A flood of key updates doesn't block the reader")
  func flood() throws {
    let pair = try Pair(acceptor, TLSPeer.Options { $0.oldest = .tls13 })
    #expect(pair.shakeHands() == .done(isResumed: false))
    // As many as the socket takes; each is answered, but the answers aren't read.
    var sent = 0
    while sent < 20_000, pair.client.updateKeys() == .done { sent += 1 }
    #expect(sent > 100)
    var turns = 0
    while turns < 1_000 {
      turns += 1
      let transfer = pair.serverReceives()
      if transfer == .budgetSpent { continue }
      #expect([.needsInput, .needsSpace, .broken].contains(transfer))
      break
    }
    #expect(turns < 1_000)
  }

  @Test("Data for a full socket is sent later, each byte once")
  func backPressure() throws {
    let pair = try Pair(acceptor)
    #expect(pair.shakeHands() == .done(isResumed: false))
    let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ ($0 >> 8)) }
    var (sent, received, blocked) = (0, [UInt8](), 0)
    while received.count < bytes.count {
      sending: while sent < bytes.count {
        // From another buffer each time, and with more data following.
        let part = [UInt8](bytes[sent..<min(sent + 20_000, bytes.count)])
        switch pair.serverSends(part, more: true) {
        case .bytes(let count): sent += count
        case .needsSpace:
          blocked += 1
          break sending
        case let other:
          Issue.record("\(other)")
          return
        }
      }
      while let part = pair.clientReads() { received += part }
    }
    #expect(received == bytes)
    #expect(blocked > 0)
  }

  @Test("Buffered data is known without asking the socket")
  func pending() throws {
    let pair = try Pair(acceptor)
    #expect(pair.shakeHands() == .done(isResumed: false))
    _ = pair.client.send(Array("one".utf8))
    _ = pair.client.send(Array("two".utf8))
    #expect(pair.serverReads() == "one")
    #expect(pair.server.mayHaveMore)
    #expect(pair.serverReads() == "two")
    _ = pair.client.send(Array("three".utf8))
    #expect(pair.serverReads() == "three")
    #expect(!pair.server.mayHaveMore)
  }
}
