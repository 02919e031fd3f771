// Counts that others tell may be anything. What is shown or compared stays at the type's end; it must not trap.

extension FixedWidthInteger {
  /// The sum, or the type's greatest or least value where it doesn't fit.
  package func addingClamped(_ other: Self) -> Self {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }
}

extension Sequence {
  /// The sum of what `value` gives, or the type's greatest or least value where it doesn't fit.
  package func clampedSum<Number: FixedWidthInteger>(_ value: (Element) -> Number) -> Number {
    reduce(0) { $0.addingClamped(value($1)) }
  }
}
