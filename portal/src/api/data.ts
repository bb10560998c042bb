/**
 * How pages read and change resources. Each is cached under its resource name, which is also its address, so that an
 * event about a change finds it:
 *
 *   const environment = useResource<Environment>(place.name)
 *   const builds = useList<Build>(`${place.name}/builds`, 'builds')
 *   const rebuild = useAction((clean: boolean) => call<Operation>(`/v1/${place.name}:rebuild`, { method: 'POST', body: { clean } }))
 */
import {
  keepPreviousData,
  QueryCache,
  QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useEffect } from 'react'
import { call } from './client.ts'
import { CallFailed, type Problem, problemOf } from './problem.ts'
import type { App, Region } from './types.ts'

const STALE_MS = 15_000

/** `onLoggedOut` is called when the service no longer knows the session. */
export function createQueryClient(onLoggedOut: () => void): QueryClient {
  const look = (error: unknown) => {
    if (isLoggedOut(error)) onLoggedOut()
  }
  return new QueryClient({
    queryCache: new QueryCache({ onError: look }),
    defaultOptions: {
      queries: {
        staleTime: STALE_MS,
        // The service may run on this machine, so the online state of the browser says nothing about it.
        networkMode: 'always',
        // An error of the service or of the network may pass; a refusal would be repeated.
        retry: (count, error) => count < 3 && isPassing(error),
        retryDelay: (count) => 500 * 2 ** count,
      },
      mutations: { onError: look, networkMode: 'always' },
    },
  })
}

const isLoggedOut = (error: unknown) => error instanceof CallFailed && error.problem.status === 401
const isPassing = (error: unknown) =>
  !(error instanceof CallFailed) || error.problem.status === 0 || error.problem.status >= 500

type Query = Readonly<Record<string, string | number | undefined>>

export type Loaded<T> = {
  data: T | undefined
  /** Why there is no data, or why it could not be refreshed. */
  problem: Problem | undefined
  isLoading: boolean
  refresh(): void
}

type ResourceOptions = { query?: Query; enabled?: boolean; refreshMs?: number | false }
/** The refetch interval may depend on the response. */
type OneOptions<T> = Omit<ResourceOptions, 'refreshMs'> & {
  refreshMs?: number | false | ((data: T | undefined) => number | false)
}

/** One resource: `name` as the API has it, without `/v1/`. */
export function useResource<T>(
  name: string,
  { query, enabled = true, refreshMs = false }: OneOptions<T> = {},
): Loaded<T> {
  const found = useQuery({
    queryKey: query ? [name, query] : [name],
    queryFn: ({ signal }) => call<T>(`/v1/${name}`, { query, signal }),
    enabled,
    refetchInterval: typeof refreshMs === 'function' ? ({ state }) => refreshMs(state.data) : refreshMs,
  })
  return {
    data: found.data,
    problem: found.error ? problemOf(found.error) : undefined,
    isLoading: found.isPending && enabled,
    refresh: found.refetch,
  }
}

/** All regions: they fit on one page of the list. */
export const useRegions = (): Region[] | undefined => useResource<{ regions: Region[] }>('regions').data?.regions

export type LoadedList<T> = Omit<Loaded<T>, 'data'> & {
  items: T[] | undefined
  hasMore: boolean
  isLoadingMore: boolean
  /** A request is running, the first or a later one. */
  isFetching: boolean
  loadMore(): void
}

type ListOptions = ResourceOptions & { pageSize?: number }

/** A collection, page by page, newest first: `useList<Build>(`${place.name}/builds`, 'builds')`. */
export function useList<T>(
  name: string,
  plural: string,
  { query, pageSize = 50, enabled = true, refreshMs = false }: ListOptions = {},
): LoadedList<T> {
  const found = useInfiniteQuery({
    queryKey: [name, { ...query, pageSize }],
    queryFn: ({ pageParam, signal }) =>
      call<Record<string, unknown>>(`/v1/${name}`, { query: { ...query, pageSize, pageToken: pageParam }, signal }),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }) => (nextPageToken as string) || undefined,
    placeholderData: keepPreviousData,
    enabled,
    refetchInterval: refreshMs,
  })
  return {
    items: found.data?.pages.flatMap((page) => page[plural] as T[]),
    problem: found.error ? problemOf(found.error) : undefined,
    isLoading: found.isPending && enabled,
    refresh: found.refetch,
    hasMore: found.hasNextPage,
    isLoadingMore: found.isFetchingNextPage,
    isFetching: found.isFetching,
    loadMore: () => void found.fetchNextPage(),
  }
}

/** The largest page size of the service. */
const LARGE_PAGE = 200
/** Further pages are fetched on demand. */
const WHOLE_PAGES = 10

/**
 * A collection that is short enough to be shown as a whole, in as few requests as possible: `items` is set once all are
 * fetched. Of a very long one, the part that was read is shown.
 */
export function useWholeList<T>(name: string, plural: string, options: ListOptions = {}): LoadedList<T> {
  const list = useList<T>(name, plural, { pageSize: LARGE_PAGE, ...options })
  const { items, hasMore, isFetching, problem, loadMore } = list
  const isPartial = hasMore && !problem && (items?.length ?? 0) < LARGE_PAGE * WHOLE_PAGES
  // biome-ignore lint/correctness/useExhaustiveDependencies: loadMore is a new function on each render with the same effect
  useEffect(() => {
    if (isPartial && !isFetching) loadMore()
  }, [isPartial, isFetching])
  return { ...list, items: isPartial ? undefined : items, isLoading: list.isLoading || isPartial }
}

/** The apps of an account, which in most cases are cached from the list of apps. */
export const useApps = (account: string): App[] | undefined =>
  useWholeList<App>(`accounts/${account}/apps`, 'apps').items

export type Action<Input, Output> = {
  run(input: Input): Promise<Output | undefined>
  isBusy: boolean
  problem: Problem | undefined
  data: Output | undefined
  reset(): void
}

/**
 * A writing request. `run` resolves to the response, or to undefined when it failed; `problem` then says why.
 * `refreshes` lists the resource names to fetch again before that, without waiting for the stream of changes.
 */
export function useAction<Input = void, Output = unknown>(
  work: (input: Input) => Promise<Output>,
  { refreshes = [] }: { refreshes?: readonly string[] } = {},
): Action<Input, Output> {
  const client = useQueryClient()
  const mutation = useMutation({
    mutationFn: work,
    // Awaited, so that what is pressed next acts on what is fresh, with its etag.
    onSettled: () => Promise.all(refreshes.map((name) => client.invalidateQueries({ queryKey: [name] }))),
  })
  return {
    run: (input) => mutation.mutateAsync(input).catch(() => undefined),
    isBusy: mutation.isPending,
    problem: mutation.error ? problemOf(mutation.error) : undefined,
    data: mutation.data,
    reset: mutation.reset,
  }
}
