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
    return samples.enumerated().map { index, kept in
      let frames = kept.sample.stack.enumerated().map { place, text in
        let frame = StackFrame(text)
        return SampleList.Frame(
          function: frame.function, url: frame.url, line: frame.line, column: frame.column,
          source: sources[index]?[place], text: text)
      }
      return SampleList.Sample(
        kind: kept.sample.kind.rawValue, message: kept.sample.message, page: kept.sample.page,
        engines: kept.engines, count: Int64(kept.count), firstAt: Moment(milliseconds: kept.firstAt),
        lastAt: Moment(milliseconds: kept.lastAt), version: kept.version, stack: frames)
    }
  }

  /// Looks up all stacks of a version at once, by the places of their samples: a map is read but once.
  private func sources(of samples: [KeptSample], in channel: ChannelInfo) -> [Int: [SourcePosition?]] {
    var sources: [Int: [SourcePosition?]] = [:]
    for (version, indices) in Dictionary(grouping: samples.indices, by: { samples[$0].version }) {
      let stacks = indices.map { samples[$0].sample.stack.map { StackReader.Frame(StackFrame($0)) } }
      let positions = context.api.stacks.positions(of: stacks, version: version, channel: channel)
      for (index, found) in zip(indices, positions) { sources[index] = found }
    }
    return sources
  }
}

extension StackReader.Frame {
  fileprivate init(_ frame: StackFrame) {
    self.init(url: frame.url, line: frame.line, column: frame.column)
  }
}
