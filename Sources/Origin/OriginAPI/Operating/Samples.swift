import Manifests
import System

/// `GET …/samples`: what happened when pages failed, as devices reported it.
package struct SampleList: Codable, Sendable {
  /// Whether devices send samples.
  package let isOn: Bool
  /// The version asked for; without one, that of all devices, beside which there are samples of the candidate.
  package let version: String
  /// How many more samples there were than are kept; their messages aren't known.
  package let others: Int64
  /// The most frequent ones first.
  package let samples: [Sample]

  package init(isOn: Bool, version: ManifestVersion, others: Int64, samples: [Sample]) {
    (self.isOn, self.version, self.others, self.samples) = (isOn, version.text, others, samples)
  }

  /// Failures with the same message, page and first frame. The texts are what a device said: to be shown as text only.
  package struct Sample: Codable, Sendable {
    /// `script`, `rejection`, `page` or `process`.
    package let kind: String
    /// One line; it may be empty.
    package let message: String
    /// The URL of the page's document, without what may name a person.
    package let page: String
    /// The engine that the first one was seen in: `Chromium 141`; empty if it isn't known.
    package let engine: String
    /// The first engines that it was seen in, at most five.
    package let engines: [String]
    /// How many devices reported it.
    package let count: Int64
    /// When the first and the last of them came.
    package let firstAt: Moment
    package let lastAt: Moment
    /// The version whose page failed.
    package let version: String
    /// The stack of the first one, its top frame first; empty if there is none.
    package let stack: [Frame]

    package init(
      kind: String, message: String, page: String, engines: [String], count: Int64, firstAt: Moment,
      lastAt: Moment, version: ManifestVersion, stack: [Frame]
    ) {
      (self.kind, self.message, self.page) = (kind, message, page)
      (self.engines, engine) = (engines, engines.first ?? "")
      (self.count, self.firstAt, self.lastAt) = (count, firstAt, lastAt)
      (self.version, self.stack) = (version.text, stack)
    }
  }

  /// A frame of a stack.
  package struct Frame: Codable, Sendable {
    /// The function's name; empty if it has none.
    package let function: String
    /// The script's URL; empty if the engine named none.
    package let url: String
    /// From 1; 0 if it isn't known.
    package let line: Int
    package let column: Int
    /// Where that is in the source text; nil without a source map.
    @OrNull package var source: SourcePosition?
    /// The frame as it was reported.
    package let text: String

    package init(
      function: String, url: String, line: Int, column: Int, source: SourcePosition?, text: String
    ) {
      (self.function, self.url, self.line, self.column) = (function, url, line, column)
      self.text = text
      self.source = source
    }
  }
}
