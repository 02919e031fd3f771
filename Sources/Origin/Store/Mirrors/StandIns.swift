import Manifests
import System
import Trust

// To be deleted where Migrations/0025_trust.sql and Store/Trust/TrustRows.swift are: these are the calls of theirs that this part uses.

extension ChannelInfo {
  package var bundlesSince: ManifestVersion? { nil }
}

extension DataFolder {
  package var keys: String { path + "/keys" }
}

extension Database {
  func roots(ofApp app: Int64) throws(StoreError) -> [AppTrust.Root] { [] }
  func insert(_ root: Signed<TrustRoot>, ofApp app: Int64, by author: String, now: Int64) throws(StoreError) {
  }
  func nameBundles(of channel: Int64, since version: ManifestVersion) throws(StoreError) {}
  func raiseFloor(of bundle: String, in channel: Int64, to floor: Serial) throws(StoreError) {}
  func recordContents(of channel: Int64, at version: ManifestVersion, ofAll: Bool = false) throws(StoreError)
  {}
  @discardableResult
  func keep(_ signed: Signed<ReleaseStatement>, ofApp app: Int64, by author: String, now: Int64)
    throws(StoreError) -> Bool
  { false }
  @discardableResult
  func keep(_ signed: Signed<PrefetchStatement>, ofApp app: Int64, by author: String, now: Int64)
    throws(StoreError) -> Bool
  { false }
  func set(_ head: Signed<TrustHead>, by key: KeyID, of channel: Int64) throws(StoreError) {}
}
