import Glibc
import System
import Testing
import TLS
import TLSPeer

/// Which files can be used by a server, and the messages about others.
@Suite struct CredentialsTests {
  private let certificates: Certificates
  private let good: Certificates.Pair

  init() throws {
    certificates = try Certificates()
    good = try certificates.make("good", hosts: ["shop.test", "*.shop.test"], days: 30)
  }

  private func file(_ name: String, _ text: String) throws -> String {
    let path = "\(certificates.folder)/\(name)"
    let file = try Kernel.open(path, [.write, .create, .truncate])
    try Kernel.write(Array(text.utf8).span.bytes, to: file)
    return path
  }

  private func text(_ path: String) -> String {
    String(decoding: (try? DurableFile.read(path)) ?? [], as: UTF8.self)
  }

  private func words(_ certificate: String, _ key: String) -> String {
    do {
      _ = try TLSAcceptor(certificate: certificate, key: key)
      return "taken"
    } catch {
      return "\(error)"
    }
  }

  @Test("The description of a certificate")
  func description() throws {
    let credentials = try TLSCredentials(certificate: good.certificate, key: good.key)
    #expect(credentials.hosts == ["shop.test", "*.shop.test"])
    #expect(credentials.name == "shop.test")
    #expect(credentials.covers(host: "a.shop.test") && credentials.covers(host: "127.0.0.1"))
    #expect(!credentials.covers(host: "other.test") && !credentials.covers(host: "10.0.0.1"))
    let end = Clock.unixMilliseconds() / 1000 + 30 * 86_400
    #expect(abs(credentials.expires - end) < 600)
    #expect(chmod(good.key, 0o640) == 0)
    #expect(try !TLSCredentials(certificate: good.certificate, key: good.key).isKeyOpenToAll)
    #expect(chmod(good.key, 0o604) == 0)
    #expect(try TLSCredentials(certificate: good.certificate, key: good.key).isKeyOpenToAll)
  }

  @Test("A certificate without host names is described by its subject")
  func subject() throws {
    let pair = try certificates.make("Läden", hosts: [])
    let credentials = try TLSCredentials(certificate: pair.certificate, key: pair.key)
    #expect(credentials.hosts.isEmpty && credentials.name == "CN=Läden")
  }

  @Test("Certificate and key may be in one file, RSA and elliptic curves are accepted, and the chain is sent")
  func forms() throws {
    let rsa = try certificates.make("rsa", algorithm: ["rsa:2048"])
    #expect(words(rsa.certificate, rsa.key) == "taken")
    let both = try file("both.pem", text(good.key) + text(good.certificate) + text(rsa.certificate))
    #expect(words(both, both) == "taken")
    let acceptor = try TLSAcceptor(certificate: both, key: both)
    let pair = try Pair(acceptor)
    #expect(pair.shakeHands() == .done(isResumed: false))
    #expect(pair.client.subject == "/CN=good")
  }

  @Test("Unusable files are named with a remedy")
  func refusals() throws {
    let folder = certificates.folder
    #expect(words("\(folder)/none.pem", good.key).hasPrefix("\(folder)/none.pem: No such file or directory"))
    #expect(words(good.certificate, "\(folder)/none.key").hasPrefix("\(folder)/none.key: No such file"))
    #expect(words(good.key, good.key).contains("good.key contains no PEM certificate"))
    #expect(words(good.certificate, good.certificate).contains("good.pem contains no PEM private key"))
    #expect(words(try file("empty", ""), good.key).contains("contains no PEM certificate"))
    #expect(words(folder, good.key).hasPrefix("\(folder) is a pipe, a folder or a device"))
    #expect(words(good.certificate, "/dev/null").hasPrefix("/dev/null is a pipe, a folder or a device"))
    // The signal thread reads it on SIGHUP, and must not block on a FIFO.
    let pipe = "\(folder)/pipe.pem"
    #expect(mkfifo(pipe, 0o600) == 0)
    #expect(words(pipe, good.key).hasPrefix("\(pipe) is a pipe, a folder or a device"))

    let other = try certificates.make("other")
    let mismatch = words(good.certificate, other.key)
    #expect(
      mismatch.contains(
        "the key in \(other.key) doesn't match the certificate in \(good.certificate) (shop.test)"))

    let damaged = try file(
      "damaged.pem", text(good.certificate) + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    )
    #expect(words(damaged, good.key).contains("certificate 2 in \(damaged) is damaged"))

    let sealed = "\(folder)/sealed.key"
    try Certificates.openssl(["pkey", "-in", good.key, "-aes128", "-passout", "pass:secret", "-out", sealed])
    #expect(words(good.certificate, sealed).contains("is encrypted with a passphrase"))

    let small = try certificates.make("small", algorithm: ["rsa:1024"])
    #expect(words(small.certificate, small.key).contains("is too weak; get one"))

    let large = try file("large.pem", String(repeating: "x", count: (1 << 20) + 1))
    #expect(words(large, good.key).contains("is larger than 1 MB"))
  }

  @Test("New connections get a reloaded certificate; an invalid one changes nothing")
  func reload() throws {
    let acceptor = try TLSAcceptor(certificate: good.certificate, key: good.key)
    func shown() throws -> String {
      let pair = try Pair(acceptor)
      #expect(pair.shakeHands() == .done(isResumed: false))
      return pair.client.subject
    }
    let early = try Pair(acceptor)
    #expect(try shown() == "/CN=good")
    let next = try certificates.make("next", hosts: ["next.test"])
    #expect(rename(next.certificate, good.certificate) == 0)
    #expect(throws: TLSError.self) { try acceptor.reload() }
    #expect(try shown() == "/CN=good")
    #expect(rename(next.key, good.key) == 0)
    try acceptor.reload()
    #expect(try shown() == "/CN=next")
    #expect(acceptor.credentials.name == "next.test")
    // An existing connection continues.
    #expect(early.shakeHands() == .done(isResumed: false))
    #expect(early.client.subject == "/CN=good")
  }
}
