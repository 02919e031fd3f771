import Manifests
import OriginAPI

extension OriginClient {
  private static func path(_ app: AppName) -> String { "apps/\(app)/trust" }

  /// Returns an app's roots, and what its channels have of signatures.
  package func trust(of app: AppName) throws(OriginError) -> OriginAnswer<TrustOverview> {
    try get(Self.path(app))
  }

  /// Returns the origin's key for heads, which is made if there is none.
  package func headKey(_ request: HeadKeyRequest, of app: AppName) throws(OriginError) -> OriginAnswer<
    HeadKeyAnswer
  > {
    try send(OriginCall("POST", "\(Self.path(app))/head-key", request))
  }

  /// Puts a root in force.
  package func push(_ request: RootRequest, of app: AppName) throws(OriginError) -> OriginAnswer<RootAnswer> {
    try send(OriginCall("POST", "\(Self.path(app))/root", request))
  }

  /// Gives statements for contents that are stored.
  package func keep(_ request: StatementsRequest, of app: AppName) throws(OriginError) -> OriginAnswer<
    StatementsAnswer
  > {
    try send(OriginCall("POST", "\(Self.path(app))/statements", request))
  }
}
