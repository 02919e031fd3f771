// Counts received from others can have any value. Sums that are displayed or compared clamp; they must not trap.

extension FixedWidthInteger {
  /// Returns the sum, clamped to the type's range.
  package func addingClamped(_ other: Self) -> Self {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }
}

extension Sequence {
  /// Returns the sum of `value` over all elements, clamped to the type's range.
  package func clampedSum<Number: FixedWidthInteger>(_ value: (Element) -> Number) -> Number {
    reduce(0) { $0.addingClamped(value($1)) }
  }
}
