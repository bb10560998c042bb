/**
 * All apps of an account with their environments, fetched as two lists, and shown together so that nothing moves while
 * they arrive.
 */
import { type LoadedList, useWholeList } from '../../api/data.ts'
import type { App, Environment } from '../../api/types.ts'
import type { AppWithEnvironments } from './narrow.ts'

export function useAppsOverview(
  account: string,
): Omit<LoadedList<App>, 'items'> & { items: AppWithEnvironments[] | undefined } {
  const apps = useWholeList<App>(`accounts/${account}/apps`, 'apps')
  const environments = useWholeList<Environment>(`accounts/${account}/apps/-/environments`, 'environments', {
    query: { orderBy: 'createTime' },
  })
  return {
    problem: apps.problem ?? environments.problem,
    isLoading: apps.isLoading || environments.isLoading,
    refresh() {
      apps.refresh()
      environments.refresh()
    },
    items: apps.items && environments.items && joined(apps.items, environments.items),
    hasMore: apps.hasMore || environments.hasMore,
    isLoadingMore: apps.isLoadingMore || environments.isLoadingMore,
    isFetching: apps.isFetching || environments.isFetching,
    loadMore() {
      if (apps.hasMore) apps.loadMore()
      if (environments.hasMore) environments.loadMore()
    },
  }
}

/** In the order of the apps; each environment is named under its app. */
function joined(apps: readonly App[], environments: readonly Environment[]): AppWithEnvironments[] {
  const byApp = Map.groupBy(environments, ({ name }) => name.slice(0, name.indexOf('/environments/')))
  return apps.map((app) => ({ app, environments: byApp.get(app.name) ?? [] }))
}
