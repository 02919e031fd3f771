import Backports

/// Evaluates a request's preconditions in the order of RFC 9110 §13.2.2.
package enum Preconditions {
  /// The result of evaluating the preconditions.
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

  /// Evaluates the request's preconditions.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - tag: The entity tag of the selected representation; nil if none exists yet.
  ///   - lastModified: When it last changed, if known.
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

  /// Whether Range applies: always without If-Range, else only if the client's copy is current (§13.1.5).
  static func rangeApplies(
    _ request: borrowing Request, tag: EntityTag?, lastModified: LastModified?
  ) -> Bool {
    guard let condition = request.field(.ifRange) else { return true }
    // With two conditions one may be false; then only the whole is right.
    if request.head.isRepeated(.ifRange) { return false }
    if condition.starts(with: "\"") { return tag?.matchesStrongly(condition) ?? false }
    guard let lastModified, let date = HTTPDate(condition, now: lastModified.now()) else { return false }
    return date == lastModified.date
  }

  /// Whether a list of tags, or `*`, matches `tag`.
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
    value.equals("*") || tag.isListed(in: value, weakly: weakly)
  }

  /// Returns the date in a field, or nil if it is to be ignored: §13.1.3 says so of a field with more than one member.
  private static func date(
    _ request: borrowing Request, _ name: FieldName, _ lastModified: LastModified
  ) -> HTTPDate? {
    guard !request.head.isRepeated(name), let text = request.field(name) else { return nil }
    return HTTPDate(text, now: lastModified.now())
  }
}

/// An entity tag: `"…"`, or `W/"…"` if it is weak (RFC 9110 §8.8.3).
package struct EntityTag: Sendable, Hashable, CustomStringConvertible {
  /// The opaque tag, including its quotes.
  private let quoted: [UInt8]
  /// Whether it stands for equivalent content rather than identical bytes (§8.8.3).
  package let isWeak: Bool

  /// Creates a tag from its opaque part, without quotes; bytes that aren't allowed are dropped.
  package init(_ opaque: String, isWeak: Bool = false) {
    quoted = [0x22] + opaque.utf8.filter { $0 > 0x20 && $0 != 0x22 && $0 != 0x7F } + [0x22]
    self.isWeak = isWeak
  }

  /// The tag as in a field.
  package var description: String { (isWeak ? "W/" : "") + String(decoding: quoted, as: UTF8.self) }

  /// Whether a list of tags has this one, compared weakly or strongly (§8.8.3.2). `*` isn't a tag.
  package func isListed(in list: RawSpan, weakly: Bool) -> Bool {
    var items = ListItems(list)
    while let item = items.next() {
      if weakly ? matchesWeakly(item) : matchesStrongly(item) { return true }
    }
    return false
  }

  /// Whether `text` is this tag, and both are strong.
  package func matchesStrongly(_ text: RawSpan) -> Bool {
    !isWeak && text.equals(quoted.span.bytes)
  }

  /// Whether `text` is this tag, weak or not.
  package func matchesWeakly(_ text: RawSpan) -> Bool {
    let isMarked = text.starts(with: "W/")
    return text.extracting((isMarked ? 2 : 0)..<text.byteCount).equals(quoted.span.bytes)
  }
}

/// When a representation last changed (RFC 9110 §8.8.2).
package struct LastModified: Sendable {
  /// The time of the last change, to the second.
  package let date: HTTPDate
  /// Returns the current time, in seconds since 1970, which places two-digit years in a request's dates.
  let now: @Sendable () -> Int64

  /// Creates the time of a last change.
  package init(_ date: HTTPDate, now: @escaping @Sendable () -> Int64) {
    self.date = date
    self.now = now
  }
}
