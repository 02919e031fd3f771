/// A representation that answers GET and HEAD, with its heads.
///
/// The heads of 200 and 304 are rendered once, on creation; those of 206, 412 and 416 on request.
package struct Representation: Sendable {
  /// The entity tag, if it has one.
  package let tag: EntityTag?
  /// When it last changed, if known.
  package let lastModified: LastModified?
  /// The body of its 200.
  package let body: Body
  /// The fields of the 200, without Content-Length, Accept-Ranges, ETag and Last-Modified.
  private let fields: HeadFields
  private let whole: Response
  private let notModified: Response
  /// Whether ranges can be requested.
  private let allowsRanges: Bool

  /// Creates a representation with its own `fields` (Content-Type, Cache-Control, Vary, …).
  ///
  /// ETag, Last-Modified, Accept-Ranges and Content-Length are added.
  package init(
    _ fields: HeadFields, tag: EntityTag?, lastModified: LastModified? = nil, body: Body,
    allowsRanges: Bool = true
  ) {
    var all = fields
    if let tag { all.add("ETag", tag.description) }
    if let lastModified { all.add("Last-Modified", lastModified.date.description) }
    self.init(all: all, tag: tag, lastModified: lastModified, body: body, allowsRanges: allowsRanges)
  }

  private init(all: HeadFields, tag: EntityTag?, lastModified: LastModified?, body: Body, allowsRanges: Bool)
  {
    fields = all
    self.tag = tag
    self.lastModified = lastModified
    self.body = body
    self.allowsRanges = allowsRanges
    let ok = allowsRanges ? all.adding("Accept-Ranges", "bytes") : all
    whole = Response(.ok, ok, body)
    notModified = Response(RenderedHead(.notModified, all.withoutContentFields, contentLength: nil))
  }

  /// Returns the same representation with other fields; the body is shared.
  package func with(_ change: (HeadFields) -> HeadFields) -> Representation {
    Representation(
      all: change(fields), tag: tag, lastModified: lastModified, body: body, allowsRanges: allowsRanges)
  }

  /// Returns the answer to a GET or HEAD, with its preconditions and ranges applied (RFC 9110 §13.2.2, §14.2).
  package func response(to request: borrowing Request) -> Response {
    // Most requests are unconditional and ask for the whole.
    if !request.head.hasAny(Preconditions.conditions | FieldName.range.bit) { return whole }
    switch Preconditions.evaluate(request, tag: tag, lastModified: lastModified) {
    case .notModified: return notModified
    case .failed: return Response(.preconditionFailed, errorFields)
    case .proceed: break
    }
    guard allowsRanges, request.head.has(.range) else { return whole }
    return partial(ByteRanges(request, length: body.count, tag: tag, lastModified: lastModified))
  }

  /// The fields of 412 and 416. The 200's caching fields don't apply to them: under an immutable URL a cache would store the
  /// error for good (RFC 9111 §3).
  private var errorFields: HeadFields {
    fields.withoutContentFields.without("cache-control").without("cdn-cache-control")
      .without("surrogate-control").without("use-as-dictionary").adding("Cache-Control", "no-store")
  }

  private func partial(_ ranges: ByteRanges) -> Response {
    let length = body.count
    switch ranges {
    case .whole:
      return whole
    case .unsatisfiable:
      return Response(
        .rangeNotSatisfiable, errorFields.adding("Content-Range", ContentRange.unsatisfied(length)))
    case .single(let range):
      let fields = fields.adding("Content-Range", ContentRange(range, of: length).description)
      return Response(.partialContent, fields, .segments(body.part(range)))
    case .several(let ranges):
      return multipart(ranges, length)
    }
  }

  /// Returns a `multipart/byteranges` answer (RFC 9110 §14.6).
  private func multipart(_ ranges: [Range<UInt64>], _ length: UInt64) -> Response {
    let boundary = "part-\(String(UInt64.random(in: 1 << 60 ... .max), radix: 16))"
    let type = fields.value(of: "content-type")
    var segments: [BodySegment] = []
    func add(_ text: String) {
      let bytes = SharedBytes(text)
      segments.append(.bytes(bytes, 0..<bytes.count))
    }
    for range in ranges {
      add(
        "--\(boundary)\r\n" + (type.map { "Content-Type: \($0)\r\n" } ?? "")
          + "Content-Range: \(ContentRange(range, of: length))\r\n\r\n")
      segments += body.part(range)
      add("\r\n")
    }
    add("--\(boundary)--\r\n")
    let fields = fields.without("content-type").adding(
      "Content-Type", "multipart/byteranges; boundary=\(boundary)")
    return Response(.partialContent, fields, .segments(segments))
  }
}
