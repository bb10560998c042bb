/**
 * Fetches anew what may be different. The client does not begin a first fetch again while it is under way, though it may
 * have been answered before the change: what it brings is asked for once more.
 */
import type { Query, QueryClient } from '@tanstack/react-query'

export function refresh(client: QueryClient, predicate: (query: Query) => boolean) {
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
