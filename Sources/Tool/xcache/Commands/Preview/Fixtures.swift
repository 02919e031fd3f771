import HTTPClient
import Manifests
import Publishing
import System
import Values

/// Answers to the GET requests of pages, kept in files: `smoke --record` writes them, `smoke --fixtures` gives them to the device.
///
/// The folder has an index, `{"https://m.example.com/api/items": {"ctype": "application/json", "file": "1.json"}}`, and the bodies.
struct Fixtures: Sendable {
  struct Answer: Sendable {
    let url: ResourceURL
    let content: ResourceContent
    /// The path of the body.
    let location: String
  }

  let answers: [Answer]

  private static let index = "fixtures.json"
  /// The largest body, in bytes.
  private static let limit = 16 << 20

  /// Reads a folder.
  init(folder: String) throws {
    let path = "\(folder)/\(Self.index)"
    guard try Kernel.status(path) != nil else {
      throw Failure(
        "\(path): no such file; --record \(folder) instead of --fixtures writes it", name: "no-files")
    }
    let json = try SettingsError.parse(Arguments.file(path), in: path)
    guard let members = json.object?.members else {
      throw SettingsError(.value(wanted: "an object: {…}"), in: path)
    }
    answers = try members.map { try Self.answer($0.key, $0.value, folder, path) }
  }

  private static func answer(_ key: String, _ value: JSONValue, _ folder: String, _ path: String) throws
    -> Answer
  {
    guard let url = try? ResourceURL(key) else {
      throw SettingsError(.value(wanted: "an absolute http or https URL"), in: path, at: [key])
    }
    guard let name = value["file"]?.string, !name.isEmpty, !name.contains("/"), name != "..",
      let ctype = value["ctype"]?.string.flatMap({ ContentType($0) })
    else {
      throw SettingsError(
        .value(wanted: "{\"ctype\": a media type, \"file\": the name of a file beside fixtures.json}"),
        in: path,
        at: [key])
    }
    let bytes = try Arguments.file("\(folder)/\(name)", limit: limit)
    let digest = FileDigest(md5: MD5.of(bytes), sha256: SHA256.of(bytes), size: Int64(bytes.count))
    return Answer(
      url: url, content: ResourceContent(digest, ctype: ctype), location: "\(folder)/\(name)")
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
      let ctype = reply.field("content-type").flatMap { ContentType($0) } ?? .unknown
      let name = "\(index.count + 1).\(ctype.essence.hasSuffix("json") ? "json" : "body")"
      try DurableFile.write(reply.body, to: "\(folder)/\(name)")
      index[url] = ["ctype": .string(ctype.text), "file": .string(name)]
    }
    let text = PrettyJSON.text(.object(index)) + "\n"
    try DurableFile.write(Array(text.utf8), to: "\(folder)/\(Self.index)")
    return (index.count, others)
  }
}
