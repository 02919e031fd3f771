import Archive
import BuildCheck
import Manifests
import OriginAPI
import Values

extension PublishError {
  /// What is wrong, where, and what to do, in one or two sentences without a final full stop. Long lists follow on lines
  /// of their own.
  package var message: String {
    switch self {
    case .noFolder(let folder): "no such folder: \(folder)"
    case .notAFolder(let path): "\(path) is neither a folder nor a zip: give a folder or zip file to publish"
    case .archive(let path, let error): "\(path) can't be published: \(error)"
    case .nothingToPublish(let folder):
      "\(folder) contains no files to publish; use `xcache unpublish --bundle NAME` to remove a bundle"
    case .unreadable(let path, let error): "\(path) can't be read: \(error.reason)"
    case .notAFile(let path): "\(path) is neither a file nor a folder: remove or exclude it"
    case .notUTF8(let path): "the name of \(path) isn't UTF-8, so it has no URL: rename or exclude it"
    case .linkToNothing(let path): "the symbolic link \(path) leads to nothing: remove or exclude it"
    case .linkInCircle(let path): "the symbolic link \(path) leads back to itself: remove or exclude it"
    case .linkLeaves(let path, let target):
      "the symbolic link \(path) points outside the folder, to \(target): copy its target, or exclude it"
    case .changedWhileRead(let path):
      "\(path) changed while it was read: publish again when the build is done"
    case .noURL(let file, let error): "\(file) can't be a resource: \(error.message)"
    case .duplicates(let list):
      "files with the same URL:"
        + Listing.below(
          list.map { "\($0.url): \($0.files.joined(separator: ", "))" }, hint: "fix these first")
    case .bundleTwice(let name): "bundle \(name) is given twice: name all its folders in xcache.json"
    case .fallback(let rule, let bundle, let fault): PublishError.message(of: fault, rule, bundle)
    case .lazyPages(let pattern, let bundle, let pages): PublishError.message(lazy: pages, pattern, bundle)
    case .newBundle(let name, let channel, let others): PublishError.message(new: name, channel, others)
    case .noPageStays(let bundle, let pages, let url):
      "bundle \(bundle): this release would remove every page of the live version (\(pages == 1 ? "1 page" : "\(pages) pages"), such as \(url)); "
        + "nothing was released. Check the folder and --base-url. If the pages are to go, add --allow-no-pages, or remove the "
        + "bundle with `xcache unpublish --bundle \(bundle)`"
    case .noSourceMaps(let folder, 0):
      "\(folder) has no *.map files: give the folder with the build's source maps to --source-maps, or leave it out"
    case .noSourceMaps(let folder, let found):
      "\(found == 1 ? "the only source map" : "none of the \(found) source maps") in \(folder) belongs to \(found == 1 ? "no" : "a") script or style of the "
        + "build; nothing was released. A map is paired by the script's sourceMappingURL, by its name without .map, or by its member "
        + "\"file\": give the folder that the same build wrote, or leave --source-maps out"
    case .sourceMapsUnknown:
      "this origin is older than source maps; nothing was released: upgrade it, or publish without --source-maps"
    case .broken(let report): PublishError.message(of: report)
    case .trust(let fault): fault.message
    case .awaited(let fault): fault.message
    case .origin(let error): error.message
    case .overBudget(let bytes, let limit):
      "devices on the current version would download \(Bytes.text(bytes)), and --max-update allows "
        + "\(Bytes.text(limit))\(Bytes.text(bytes) == Bytes.text(limit) ? " (\(bytes - limit) B less)" : ""): "
        + "nothing was released"
    case .costUnknown:
      "the origin can't compute the update's cost for devices, so --max-update can't be checked: nothing was released. Publish "
        + "again, or without --max-update"
    case .alwaysOvertaken:
      "other releases kept arriving while the update's cost for devices was computed, so --max-update "
        + "can't be checked: nothing was released. Publish again in a moment, or without --max-update"
    case .deltasLeft(let versions, let reason):
      "deltas from \(versions) older version\(versions == 1 ? "" : "s") are missing; the origin tries again by itself"
        + (reason.map { ": \($0)" } ?? "")
    case .damagedOnTheWay(let path):
      "\(path) arrived at the origin with different bytes: something in between changes them"
    }
  }

  /// The exit code: 3 if the request was refused, 2 if it makes no sense, 1 for everything else.
  package var exitCode: Int32 {
    switch self {
    case .overBudget, .costUnknown, .alwaysOvertaken, .broken, .newBundle, .noPageStays, .noSourceMaps,
      .sourceMapsUnknown:
      3
    case .trust(let fault): fault.exitCode
    case .awaited(let fault): fault.exitCode
    case .origin(let error): error.exitCode
    case .bundleTwice, .fallback, .lazyPages: 2
    default: 1
    }
  }

  private static func message(new name: BundleName, _ channel: ChannelAddress, _ others: [BundleName])
    -> String
  {
    let names = others.map(\.text)
    let hint =
      Spelling.nearest(to: name.text, among: names).map { "; did you mean \($0)?" }
      ?? (names.isEmpty ? "." : "; there is \(names.sorted().prefix(5).joined(separator: ", ")).")
    return "channel \(channel.channel) of app \(channel.app) has no bundle \"\(name)\"\(hint) Nothing was "
      + "released. To create it, add --create"
  }

  private static func message(
    of fault: FallbackFault, _ fallback: BundleSource.FallbackRule, _ bundle: BundleName
  ) -> String {
    let place = "\(fallback.file): \(fallback.keys) / page"
    return switch fault {
    case .noFile(let near?):
      "\(place): bundle \(bundle) has no \(fallback.page); did you mean \(near)?"
    case .noFile(nil):
      "\(place): bundle \(bundle) has no \(fallback.page): name one of its pages, by its URL or path"
    case .noDocument(let ctype):
      "\(place): \(fallback.page) has the type \(ctype.text), and only html can answer navigations: name a page"
    }
  }

  private static func message(
    lazy pages: [String], _ pattern: BundleSource.WrittenPattern, _ bundle: BundleName
  ) -> String {
    let first = pages.first ?? ""
    let which =
      pages.count > 1
      ? "\(pages.count) pages of bundle \(bundle), such as \(first)" : "\(first), a page of bundle \(bundle)"
    return
      "\(pattern.file): \(pattern.keys): \(pattern.pattern.text.debugDescription) matches \(which); pages can't be lazy, because "
      + "after an update they would not open offline: write a pattern that matches none, such as *.map or locales/*.json"
  }

  private static func message(of report: CheckReport) -> String {
    let found = report.findings.filter { $0.severity == .error }
    let errors = found.map(\.text)
    // No option skips the search for secrets.
    let ways = [
      found.contains { $0.rule != .secret } ? "--no-check RULE" : nil,
      found.contains { $0.rule == .secret } ? "--allow-secret PATH" : nil,
    ].compactMap(\.self)
    return
      "the build has \(errors.count) \(errors.count == 1 ? "error" : "errors"); nothing was released. Correct "
      + "\(errors.count == 1 ? "it" : "them"), or publish with \(ways.joined(separator: " and ")):"
      + Listing.below(errors, hint: "`xcache check --all` lists them all")
  }
}

extension ResourceURLError {
  /// What is wrong with the URL.
  package var message: String {
    switch problem {
    case .relative: "\(text) has no scheme: write https://… or http://…"
    case .scheme(let scheme): "\(text) has the scheme \(scheme): only http and https have pages"
    case .lineBreak: "\(text.debugDescription) contains a tab or a line break"
    case .userinfo: "a URL with a user name or password can't be published"
    case .noHost: "\(text) has no host"
    case .hostNotASCII: "the host of \(text) has to be written in its ASCII form (xn--…)"
    case .hostByte: "the host of \(text) contains a character that hosts can't have"
    case .ipv4, .ipv6: "the host of \(text) is not an IP address"
    case .port: "\(text) has no valid port"
    case .tooLong(let count): "its URL has \(count) bytes; the limit is \(ResourceURL.limit)"
    case .baseWithQuery: "the base URL \(text) has a ? or a #"
    case .path: "\(text) has an empty part, . or .."
    case .pathNotUTF8: "\(text) isn't UTF-8"
    }
  }
}
