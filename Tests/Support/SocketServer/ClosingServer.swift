import Foundation
import System

/// A server of HTTP/2 in Node.js whose first connection ends in place of an answer to /gone; other answers are the number of their
/// connection, that to /trailers with headers behind its body.
package final class ClosingServer: Sendable {
  /// How the connection ends.
  package enum Ending: String, Sendable, CaseIterable {
    /// With a GOAWAY frame that says that the request wasn't looked at (RFC 9113 §6.8).
    case goAway
    /// With a GOAWAY frame of an error.
    case failure
    /// Without a word.
    case close
  }

  package static var isPossible: Bool {
    ["/usr/bin/node", "/usr/bin/openssl"].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
  }

  package struct NotStarted: Error {}

  package let url: String
  /// To be trusted, PEM.
  package let certificate: String
  private let scratch: ScratchFolder
  private let process: SpawnedProcess

  package init(_ ending: Ending) throws {
    scratch = try CertificateFolder.make("xcache-http2")
    let folder = scratch.path
    certificate = folder + "/certificate.pem"
    try Data(Self.script.utf8).write(to: URL(fileURLWithPath: folder + "/server.js"))
    process = try SpawnedProcess("/usr/bin/node", [folder + "/server.js", folder, ending.rawValue])
    let path = folder + "/port"
    while process.isRunning, !FileManager.default.fileExists(atPath: path) {
      Clock.sleep(for: .milliseconds(10))
    }
    guard process.isRunning else { throw NotStarted() }
    url = try "https://127.0.0.1:\(String(contentsOfFile: path, encoding: .utf8))"
  }

  private static let script = """
    const fs = require("fs"), http2 = require("http2");
    const [folder, ending] = process.argv.slice(2);
    const read = (name) => fs.readFileSync(`${folder}/${name}`);
    const server = http2.createSecureServer({ key: read("key.pem"), cert: read("certificate.pem") });
    let sessions = 0, socket;
    server.on("connection", (raw) => { socket ??= raw; });
    server.on("session", (session) => { session.number = sessions++; session.on("error", () => {}); });
    server.on("stream", (stream, head) => {
      const session = stream.session;
      stream.on("error", () => {});
      if (session.number > 0 || head[":path"] !== "/gone") {
        const hasTrailers = head[":path"] === "/trailers";
        stream.respond({ ":status": 200 }, { waitForTrailers: hasTrailers });
        stream.on("wantTrailers", () => stream.sendTrailers({ "set-cookie": "late=1", "x-late": "HTTP/1.1 500 No" }));
        return stream.end(String(session.number));
      }
      if (ending === "goAway") session.goaway(0, 1);
      if (ending === "failure") return session.destroy(undefined, http2.constants.NGHTTP2_INTERNAL_ERROR);
      setTimeout(() => socket.destroy(), ending === "goAway" ? 50 : 0);
    });
    server.listen(0, "127.0.0.1", () => {
      fs.writeFileSync(`${folder}/port.new`, String(server.address().port));
      fs.renameSync(`${folder}/port.new`, `${folder}/port`);
    });
    """

  deinit {
    kill(process.id, SIGKILL)
    process.waitUntilExit()
  }
}
