import HTTP
import OriginAPI
import Store

/// `POST /apps/{app}/channels/{channel}/source-maps`. There is no way to read a map back.
struct SourceMapHandler: APIHandler {
  let context: RequestContext

  func keep(_ body: SourceMapRequest) throws -> Response {
    guard let items = body.maps, (1...SourceMapRequest.limit).contains(items.count) else {
      throw Problem.badRequest("\"maps\" must be a list of 1 to \(SourceMapRequest.limit) source maps")
    }
    var files: Set<String> = []
    let maps = try items.map { (item) throws(Problem) in
      guard let file = item.file, let map = item.map, let size = item.size else {
        throw .badRequest(
          "each of \"maps\" needs \"file\" and \"map\", a sha256 each, and the map's \"size\"")
      }
      guard (1...SourceMapClaim.sizeLimit).contains(size) else {
        throw .badRequest(
          "the source map \(map) has \(size) bytes; a map may have up to \(SourceMapClaim.sizeLimit >> 20) MB"
        )
      }
      guard file != map, files.insert(file.hex).inserted else {
        throw .badRequest("\(file) is named twice; a file has one source map, which is another file")
      }
      return SourceMapClaim(file: file, map: map, size: size)
    }
    let channel = try context.channel()
    return try context.answering { outcome in
      APIAnswer(
        SourceMapAnswer(stored: outcome.stored, known: outcome.known, refused: outcome.refused),
        outcome.stored > 0 ? .created : .ok)
    } to: { record in
      try store.keep(maps, of: channel, bundles: caller.bundles, by: actor, record: record)
    }
  }
}
