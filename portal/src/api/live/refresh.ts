/**
 * Refetches what may have changed. The query client does not restart a first fetch that is running, although its
 * response may be older than the change: such a query is fetched once more afterwards.
 */

/** The parts of the query client that are used, in types that a test on Node can provide. */
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
    // The query itself reports a failed fetch.
    promise?.then(
      () => client.invalidateQueries({ queryKey, exact: true }),
      () => undefined,
    )
  }
}
