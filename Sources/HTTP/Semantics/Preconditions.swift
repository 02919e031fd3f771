/// The conditions of a request, weighed in the order of RFC 9110 §13.2.2.
package enum Preconditions {
  package enum Outcome: Sendable, Equatable {
    /// The method is performed.
    case proceed
    /// 304, for GET and HEAD.
    case notModified
    /// 412.
    case failed
  }

  /// The fields that make a request conditional, one bit each.
  static let conditions =
    FieldName.ifMatch.bit | FieldName.ifNoneMatch.bit | FieldName.ifModifiedSince.bit
    | FieldName.ifUnmodifiedSince.bit

  /// Weighs the request's conditions against what would be answered.
  ///
  /// - Parameters:
  ///   - tag: the entity tag of the chosen representation; nil where nothing exists yet.
  ///   - lastModified: when it changed last, where that is known.
  package static func evaluate(
    _ request: borrowing Request, tag: EntityTag?, lastModified: LastModified? = nil
  ) -> Outcome {
    guard request.head.hasAny(conditions) else { return .proceed }
    if request.head.has(.ifMatch) {
      if !lists(request, .ifMatch, tag, weakly: false) { return .failed }
    } else if let lastModified, let since = date(request, .ifUnmodifiedSince, lastModified),
      lastModified.date > since
    {
      return .failed
    }
    let reads = request.method == .get || request.method == .head
    if request.head.has(.ifNoneMatch) {
      if lists(request, .ifNoneMatch, tag, weakly: true) { return reads ? .notModified : .failed }
    } else if reads, let lastModified, let since = date(request, .ifModifiedSince, lastModified),
      lastModified.date <= since
    {
      return .notModified
    }
    return .proceed
  }

  /// Whether Range counts: without If-Range always, else only while the client's copy is current (§13.1.5).
  package static func rangeApplies(
    _ request: borrowing Request, tag: EntityTag?, lastModified: LastModified?
  ) -> Bool {
    guard let condition = request.field(.ifRange) else { return true }
    // Of two conditions one may not hold; then only the whole is right.
    if request.head.isRepeated(.ifRange) { return false }
    if condition.starts(with: "\"") { return tag?.matchesStrongly(condition) ?? false }
    guard let lastModified, let date = HTTPDate(condition, now: lastModified.now()) else { return false }
    return date == lastModified.date
  }

  /// Whether a list of tags, or `*`, names `tag`.
  private static func lists(
    _ request: borrowing Request, _ name: FieldName, _ tag: EntityTag?, weakly: Bool
  ) -> Bool {
    guard let tag else { return false }
    guard request.head.isRepeated(name) else {
      guard let value = request.field(name) else { return false }
      return lists(value, tag, weakly: weakly)
    }
    var lines = request.fieldLines
    while let line = lines.next(name) {
      if lists(line, tag, weakly: weakly) { return true }
    }
    return false
  }

  private static func lists(_ value: RawSpan, _ tag: EntityTag, weakly: Bool) -> Bool {
    if value.equals("*") { return true }
    var items = ListItems(value)
    while let item = items.next() {
      if weakly ? tag.matchesWeakly(item) : tag.matchesStrongly(item) { return true }
    }
    return false
  }

  /// The date in a field; nil where none counts: §13.1.3 has a field with more than one member ignored.
  private static func date(
    _ request: borrowing Request, _ name: FieldName, _ lastModified: LastModified
  ) -> HTTPDate? {
    guard !request.head.isRepeated(name), let text = request.field(name) else { return nil }
    return HTTPDate(text, now: lastModified.now())
  }
}
