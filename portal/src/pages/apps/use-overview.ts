/** All apps of an account with their environments, as one: shown together, so that nothing moves while they arrive. */
import { useQueries } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { type LoadedList, useList } from '../../api/data.ts'
import type { App, Environment } from '../../api/types.ts'

export type AppWithEnvironments = { app: App; environments: Environment[] | undefined }

type Page = { environments: Environment[] }

export function useAppsOverview(
  account: string,
): Omit<LoadedList<App>, 'items'> & { items: AppWithEnvironments[] | undefined } {
  const apps = useList<App>(`accounts/${account}/apps`, 'apps')
  const lists = useQueries({
    queries: (apps.items ?? []).map(({ name }) => ({
      // Told apart from the same list page by page, which is kept in another form.
      queryKey: [`${name}/environments`, 'first'],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        call<Page>(`/v1/${name}/environments`, { query: { pageSize: 200, orderBy: 'createTime' }, signal }),
    })),
  })
  const isWhole = lists.every(({ isPending }) => !isPending)
  return {
    ...apps,
    isLoading: apps.isLoading || !isWhole,
    items: isWhole
      ? apps.items?.map((app, index) => ({ app, environments: lists[index]?.data?.environments }))
      : undefined,
  }
}

/** Whether an app, or one of its environments, has all words of the search in its names or its address. */
export function matches({ app, environments = [] }: AppWithEnvironments, search: string): boolean {
  const text = [app.name, ...environments.flatMap(({ displayName, url, domains }) => [displayName, url, ...domains])]
    .join(' ')
    .toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}
