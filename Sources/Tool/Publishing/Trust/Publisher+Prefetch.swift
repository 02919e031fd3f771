import Manifests
import OriginAPI
import OriginClient
import System
import Trust
import Values

extension Publisher {
  /// Pushes a prefetch config, whose canonical JSON is `config`. If the origin says that it isn't signed, it is signed here, if there
  /// is a key.
  ///
  /// - Returns: the answer, and what was signed, if it was.
  /// - Throws: `PublishError`.
  package func push(
    _ request: PrefetchPushRequest, _ config: [UInt8], to channel: ChannelAddress, _ options: SigningOptions
  ) throws(PublishError) -> (
    answer: OriginAnswer<DocumentChangeAnswer>, statement: Signed<PrefetchStatement>?
  ) {
    if !options.isDemanding {
      do {
        return (try ask(request, to: channel), nil)
      } catch {
        guard options.signers != nil, error.isUnsigned else { throw error }
      }
    }
    var (request, options) = (request, options)
    options.isRollout = request.rollout != nil
    let statement = try statement(for: config, in: channel, options)
    request.statement = statement?.envelope.json
    return (try ask(request, to: channel), statement)
  }

  private func ask(_ request: PrefetchPushRequest, to channel: ChannelAddress) throws(PublishError)
    -> OriginAnswer<DocumentChangeAnswer>
  {
    try PublishError.asking { () throws(OriginError) in try api.pushPrefetch(request, to: channel) }
  }

  private func statement(
    for config: [UInt8], in channel: ChannelAddress, _ options: SigningOptions
  ) throws(PublishError) -> Signed<PrefetchStatement>? {
    guard let trust = try trust(of: channel.app, options), !trust.root.isOff else {
      progress(.notSigned(channel.app))
      return nil
    }
    return try sign(prefetch: config, in: channel, trust, options)
  }

  /// Signs a prefetch config, whose canonical JSON is `config`.
  func sign(
    prefetch config: [UInt8], in channel: ChannelAddress, _ trust: PublisherTrust, _ options: SigningOptions
  ) throws(PublishError) -> Signed<PrefetchStatement> {
    guard let lazy = options.signers else { throw .trust(.noKey(channel)) }
    return try PublishError.signing { () throws(TrustFault) in
      let signers = try lazy.get()
      // One of the keys that the root names is enough.
      guard let signer = signers.first(where: { trust.root.prefetch.contains($0.key.id) }) else {
        guard let first = signers.first else { throw .noKey(channel) }
        throw .unlisted(first.key.id, trust.root.number, what: "prefetch config")
      }
      let document = try trust.prefetchStatement(
        SHA256.of(config), in: channel.channel, options, now: Clock.unixMilliseconds())
      return try Signed(unsigned: document).signed(with: [signer])
    }
  }
}
