/**
 * Fetches anew what may be different. The client does not begin a first fetch again while it is under way, though it may
 * have been answered before the change: what it brings is asked for once more.
 */

/** What is needed of the query client, in types that a test on Node has, too. */
type Client = {
  getQueryCache(): { findAll(filters: { predicate(query: Query): boolean }): Query[] }
  invalidateQueries(
    filters: { predicate(query: Query): boolean } | { queryKey: readonly unknown[]; exact: true },
  ): unknown
}
type Query = {
  queryKey: readonly unknown[]
  state: { fetchStatus: string; data: unknown }
  promise: Promise<unknown> | undefined
}

export function refresh(client: Client, predicate: (query: Query) => boolean) {
  const begun = client
    .getQueryCache()
    .findAll({ predicate })
    .filter(({ state }) => state.fetchStatus !== 'idle' && state.data === undefined)
  client.invalidateQueries({ predicate })
  for (const { queryKey, promise } of begun) {
    // One that fails is told of by the query itself.
    promise?.then(
      () => client.invalidateQueries({ queryKey, exact: true }),
      () => undefined,
    )
  }
}
