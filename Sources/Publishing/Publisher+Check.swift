import BuildCheck
import Manifests

extension Publisher {
  /// What the check of a release finds; nil where it changes nothing, or all rules are off.
  /// - Throws: `broken`, when there are errors.
  func check(
    _ local: LocalBundles, _ plans: [Plan], _ remote: RemoteChannel, _ options: CheckOptions
  ) throws(PublishError) -> CheckReport? {
    if options.isOff || plans.allSatisfy(\.isEmpty) { return nil }
    progress(.checking)
    let check = SiteCheck(local.bundles.map { CheckedBundle($0.resources, of: $0.source) }, options)
    let live = LiveBundles(remote, without: Set(plans.map(\.bundle)))
    let removed = plans.flatMap(\.remove)
    let changed = removed.isEmpty ? Set(plans.flatMap { $0.put.map(\.url.text) }) : nil
    let reading = try PublishError.reading { () throws(CheckError) in try check.read(changed: changed) }
    var report = check.report(reading, live: try live.keys(of: reading.missing))
    report.add(try LiveCheck(check.site, live).findings(removed: removed, options))
    if report.errors > 0 { throw .broken(report) }
    return report
  }
}
