import Foundation
import XCacheWebKit

/// The first line that the helper reads.
struct Settings: Decodable, Sendable {
  /// Limits of the network that pages see.
  struct Network: Decodable, Sendable {
    /// Milliseconds before an answer begins.
    let delay: Double
    /// Of all that comes.
    let kilobitsPerSecond: Double
  }

  /// A device's folder, which holds the release.
  let folder: String
  /// The origin's address. It is never polled: only a listed file that is missing in the folder is fetched.
  let server: String
  let app: String
  /// `online` where it is missing.
  let channel: String?
  /// The app's hosts.
  let hosts: [String]
  /// Nil: as fast as it is.
  let network: Network?
  /// Whether nothing reaches the network.
  let offline: Bool?
  /// Whether the device answers at all.
  let local: Bool?
  /// Of the view, in pixels.
  let width: Int?
  let height: Int?
  /// Jobs at a time.
  let parallel: Int?
  /// Megabytes that a page's process may take; 2,048 where it is missing.
  let memory: Int?
  /// Whether nothing reaches the network, and what the device doesn't hold of `hosts` is answered with 404.
  let confined: Bool?
  /// A file of the certificates to trust in servers of `hosts`, PEM, in place of the system's.
  let authorities: String?
  /// Where hosts are, by their names: addresses in place of what the system knows.
  let addresses: [String: String]?

  /// - Throws: `Refusal`, where a value can't be used.
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

/// A page to be looked at.
struct Job: Decodable, Sendable {
  let id: Int
  let url: String
  /// Where its picture goes; nil: nowhere.
  let screenshot: String?
  /// Seconds; 30 where it is missing.
  let timeout: Double?
}

/// What the helper can't do, in words.
struct Refusal: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// What a page was like.
struct Answer: Encodable, Sendable {
  struct Request: Encodable, Sendable {
    /// Who answered: `device`, `network`, `missing` (the network, with 400 or more), `failed` (nobody), `engine`.
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
  /// Why the load itself failed; nil: it didn't.
  var failure: String?
  var requests: [Request] = []
  var console: [PageInspector.Message] = []
  var scriptErrors: [PageInspector.ScriptError] = []
  /// Milliseconds after the navigation began.
  var firstContentfulPaint: Double?
  var load: Double?
  var isBlank = true
  /// Whether the picture was written.
  var hasScreenshot = false

  init(_ job: Job) { (id, url, finalURL) = (job.id, job.url, job.url) }

  enum Key: String, CodingKey {
    case id, url, finalURL, title, status, failure, requests, console, scriptErrors, firstContentfulPaint,
      load
    case isBlank, hasScreenshot
  }

  /// What isn't known is `null`, not left out.
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
