import Foundation
import XCacheWebKit

/// The settings, the first line that the helper reads.
struct Settings: Decodable, Sendable {
  /// Limits of the network that pages see.
  struct Network: Decodable, Sendable {
    /// Milliseconds before an answer starts.
    let delay: Double
    /// The bandwidth for everything received.
    let kilobitsPerSecond: Double
  }

  /// The device folder that holds the release.
  let folder: String
  /// The origin's URL. It is never polled; only listed files that are missing in the folder are fetched.
  let server: String
  let app: String
  /// `online` if it is missing.
  let channel: String?
  /// The app's hosts.
  let hosts: [String]
  /// Nil for the full speed of the network.
  let network: Network?
  /// Whether all access to the network is blocked.
  let offline: Bool?
  /// Whether the device answers at all.
  let local: Bool?
  /// The size of the view, in pixels.
  let width: Int?
  let height: Int?
  /// The number of jobs that run at a time.
  let parallel: Int?
  /// Megabytes that a page's process may take; 2,048 if it is missing.
  let memory: Int?
  /// Whether all access to the network is blocked, and files of `hosts` that the device doesn't hold are answered with 404.
  let confined: Bool?
  /// A PEM file of the certificates to trust for servers of `hosts`, instead of the system's.
  let authorities: String?
  /// Addresses of hosts by name, used instead of the system's.
  let addresses: [String: String]?

  /// - Throws: `Refusal` if a value is invalid.
  func check() throws {
    func within(_ value: Double?, _ range: ClosedRange<Double>, _ name: String) throws {
      if let value, !range.contains(value) {
        throw Refusal(
          "\(name) is \(value), but must be from \(Int(range.lowerBound)) to \(Int(range.upperBound))")
      }
    }
    try within(width.map(Double.init), 100...8_192, "width")
    try within(height.map(Double.init), 100...8_192, "height")
    try within(parallel.map(Double.init), 1...16, "parallel")
    try within(memory.map(Double.init), 128...65_536, "memory")
    try within(network?.delay, 0...60_000, "network.delay")
    try within(network?.kilobitsPerSecond, 1...100_000_000, "network.kilobitsPerSecond")
  }
}

/// A page to visit.
struct Job: Decodable, Sendable {
  let id: Int
  let url: String
  /// The path for a screenshot; nil for none.
  let screenshot: String?
  /// In seconds; 30 if it is missing.
  let timeout: Double?
}

/// The reason why the helper can't do something.
struct Refusal: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// The report about a page.
struct Answer: Encodable, Sendable {
  struct Request: Encodable, Sendable {
    /// Who answered: `device`, `network`, `missing` (the network, with a status of 400 or more), `failed` (nobody),
    /// `engine`.
    let source: String
    let url: String
    let status: Int?
    let bytes: Int64
    let kind: String?
    let ms: Int64

    enum Key: String, CodingKey { case url, source, status, bytes, kind, ms }

    func encode(to encoder: any Encoder) throws {
      var line = encoder.container(keyedBy: Key.self)
      try line.encode(url, forKey: .url)
      try line.encode(source, forKey: .source)
      try line.encode(status, forKey: .status)
      try line.encode(bytes, forKey: .bytes)
      try line.encode(kind, forKey: .kind)
      try line.encode(ms, forKey: .ms)
    }
  }

  let id: Int
  let url: String
  var finalURL: String
  var title = ""
  var status: Int?
  /// Why the load itself failed; nil if it didn't.
  var failure: String?
  var requests: [Request] = []
  var console: [PageInspector.Message] = []
  var scriptErrors: [PageInspector.ScriptError] = []
  /// Milliseconds after the navigation started.
  var firstContentfulPaint: Double?
  var load: Double?
  var isBlank = true
  /// Whether the screenshot was written.
  var hasScreenshot = false

  init(_ job: Job) { (id, url, finalURL) = (job.id, job.url, job.url) }

  enum Key: String, CodingKey {
    case id, url, finalURL, title, status, failure, requests, console, scriptErrors, firstContentfulPaint,
      load
    case isBlank, hasScreenshot
  }

  /// Unknown values are encoded as `null`, not left out.
  func encode(to encoder: any Encoder) throws {
    var line = encoder.container(keyedBy: Key.self)
    try line.encode(id, forKey: .id)
    try line.encode(url, forKey: .url)
    try line.encode(finalURL, forKey: .finalURL)
    try line.encode(title, forKey: .title)
    try line.encode(status, forKey: .status)
    try line.encode(failure, forKey: .failure)
    try line.encode(requests, forKey: .requests)
    try line.encode(console, forKey: .console)
    try line.encode(scriptErrors, forKey: .scriptErrors)
    try line.encode(firstContentfulPaint, forKey: .firstContentfulPaint)
    try line.encode(load, forKey: .load)
    try line.encode(isBlank, forKey: .isBlank)
    try line.encode(hasScreenshot, forKey: .hasScreenshot)
  }
}
