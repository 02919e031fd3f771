import System
import Testing

extension Trait where Self == ConditionTrait {
  /// Skips a suite while others run beside it, where `XCACHE_TESTS` is `crowd`: for those that count connections or compare times, since
  /// in a crowd minutes go by between two steps. `.ci/side-by-side` runs what was skipped with this comment by itself afterwards.
  package static var unhurried: Self {
    .disabled(if: Environment.variables["XCACHE_TESTS"] == "crowd", "unhurried")
  }
}
