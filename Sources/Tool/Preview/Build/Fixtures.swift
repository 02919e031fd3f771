import HTTPClient
import Manifests
import PreviewProtocol
import Publishing
import System
import Values

/// Answers to the GET requests of pages, kept in files: `smoke --record` writes them, `smoke --fixtures` gives them to the device.
///
/// The folder has an index, `{"https://m.example.com/api/items": {"ctype": "application/json", "file": "1.json"}}`, and the bodies.
package struct Fixtures: Sendable {
  struct Answer: Sendable {
    let url: ResourceURL
    let content: ResourceContent
    /// The path of the body.
    let location: String
  }

  let answers: [Answer]

  /// The largest body, in bytes.
  private static let limit = 16 << 20

  /// Returns the path of a folder's index.
  package static func index(of folder: String) -> String { "\(folder)/fixtures.json" }

  /// Reads the bodies of a folder with this index.
  /// - Throws: `badFixture`, `noFixture`, `fixtureIsFolder`; `SystemError`.
  package init(_ index: JSONValue, in folder: String) throws {
    guard let members = index.object?.members else {
      throw PreviewError.badFixture(.notAnObject, path: Self.index(of: folder), url: nil)
    }
    answers = try members.map { try Self.answer($0.key, $0.value, folder) }
  }

  private static func answer(_ key: String, _ value: JSONValue, _ folder: String) throws -> Answer {
    guard let url = try? ResourceURL(key) else {
      throw PreviewError.badFixture(.notAURL, path: index(of: folder), url: key)
    }
    guard let name = value["file"]?.string, !name.isEmpty, !name.contains("/"), name != "..",
      let ctype = value["ctype"]?.string.flatMap({ ContentType($0) })
    else { throw PreviewError.badFixture(.notAnAnswer, path: index(of: folder), url: key) }
    let path = "\(folder)/\(name)"
    if try Kernel.status(path)?.kind == .folder { throw PreviewError.fixtureIsFolder(path: path) }
    guard let bytes = try DurableFile.read(path, limit: limit) else {
      throw PreviewError.noFixture(path: path)
    }
    let digest = FileDigest(md5: MD5.of(bytes), sha256: SHA256.of(bytes), size: Int64(bytes.count))
    return Answer(url: url, content: ResourceContent(digest, ctype: ctype), location: path)
  }

  /// Records what pages fetched from the network: each URL is requested again, without cookies, and kept if the answer has the same
  /// status. Requests with other methods can't be told from the report; a server refuses them as GET, mostly.
  /// - Returns: how many were recorded, and the URLs of the others.
  static func record(_ reports: [PageReport], in folder: String, _ http: HTTPClient) throws
    -> (count: Int, others: [String])
  {
    try Kernel.makeFolder(folder)
    let requests = reports.flatMap { $0.requests(from: .network) }
      .filter { $0.kind == "fetch" && (200..<300).contains($0.status ?? 0) }
    var (index, others) = (JSONObject(), [String]())
    for request in Dictionary(requests.map { ($0.url, $0) }, uniquingKeysWith: { $1 }).values
      .sorted(by: { $0.url < $1.url })
    {
      let url = String(request.url.prefix { $0 != "#" })
      let reply = try? http.send(
        HTTPRequest("GET", url, redirects: 5, decodes: true), into: .memory(limit: limit))
      guard let reply, Int64(reply.status) == request.status else {
        others.append(url)
        continue
      }
      let ctype = reply.fields["content-type"].flatMap { ContentType($0) } ?? .unknown
      let name = "\(index.count + 1).\(ctype.essence.hasSuffix("json") ? "json" : "body")"
      try DurableFile.write(reply.body, to: "\(folder)/\(name)")
      index[url] = ["ctype": .string(ctype.text), "file": .string(name)]
    }
    let text = PrettyJSON.text(.object(index)) + "\n"
    try DurableFile.write(Array(text.utf8), to: Self.index(of: folder))
    return (index.count, others)
  }
}
