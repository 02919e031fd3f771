import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// `GET /apps/{app}/channels/{channel}/samples`: what happened when pages failed.
struct SampleHandler: APIHandler {
  let context: RequestContext

  /// The most samples in an answer, and how many there are if the request doesn't say.
  private static let (limit, usual) = (Store.samplesOfChannel, 100)

  func list() throws -> Response {
    let channel = try context.channel()
    let limit = try request.number("limit", in: 1...Self.limit) ?? Self.usual
    let page = request.text("page")
    var (version, versions) = (channel.full.version, [channel.full.version, channel.version])
    if let name = try request.versionName("version") {
      version = try store.version(name, of: channel)
      versions = [version]
    }
    context.api.adoption.flush()
    let kept = try store.samples(of: channel, versions: versions, page: page, limit: limit)
    return .json(
      SampleList(
        isOn: try store.extras(of: channel).takesSamples, version: version, others: Int64(kept.others),
        samples: answers(kept.samples, of: channel)))
  }

  private func answers(_ samples: [KeptSample], of channel: ChannelInfo) -> [SampleList.Sample] {
    let sources = sources(of: samples, in: channel)
    return samples.map { kept in
      let frames = kept.sample.stack.map { text in
        let frame = StackFrame(text)
        return SampleList.Frame(
          function: frame.function, url: frame.url, line: frame.line, column: frame.column,
          source: sources[kept.version]?[frame.place], text: text)
      }
      return SampleList.Sample(
        kind: kept.sample.kind.rawValue, message: kept.sample.message, page: kept.sample.page,
        engines: kept.engines, count: Int64(kept.count), firstAt: Moment(milliseconds: kept.firstAt),
        lastAt: Moment(milliseconds: kept.lastAt), version: kept.version, stack: frames)
    }
  }

  /// Looks up all places of a version at once: many samples have frames in common, and a map is read but once.
  private func sources(
    of samples: [KeptSample], in channel: ChannelInfo
  ) -> [ManifestVersion: [StackFrame.Place: SourcePosition]] {
    Dictionary(grouping: samples, by: \.version).mapValues { samples in samples.flatMap(\.sample.stack) }
      .reduce(into: [:]) { all, item in
        let places = Set(item.value.map { StackFrame($0).place }).filter { !$0.url.isEmpty && $0.line > 0 }
          .sorted { ($0.url, $0.line, $0.column) < ($1.url, $1.line, $1.column) }
        if places.isEmpty { return }
        let positions = context.api.stacks.positions(
          of: places.map { ($0.url, $0.line, $0.column) }, version: item.key, channel: channel)
        all[item.key] = [:]
        for (place, position) in zip(places, positions) { all[item.key]?[place] = position }
      }
  }
}

extension StackFrame {
  /// A line and column of a script.
  fileprivate struct Place: Hashable {
    let url: String
    let line: Int
    let column: Int
  }

  fileprivate var place: Place { Place(url: url, line: line, column: column) }
}
