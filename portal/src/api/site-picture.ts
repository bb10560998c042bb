/** The picture of a live site, which the service takes after a deploy where it has a browser. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { ask } from './client.ts'
import { CallFailed } from './problem.ts'

export type SitePicture = {
  /** A `data:` URL: another picture has the same address. Undefined where there is none. */
  source: string | undefined
  /** Another one is on its way. */
  isPending: boolean
}

const NONE: SitePicture = { source: undefined, isPending: false }

/** Undefined until it is known whether there is one. It is fetched again whenever `stamp` changes, and while one is on its way. */
export function useSitePicture(environment: string, stamp: string | undefined): SitePicture | undefined {
  const { data, isError, refetch } = useQuery({
    queryKey: [`${environment}/screenshot`],
    queryFn: ({ signal }) => readPicture(environment, signal),
    refetchInterval: ({ state }) => (state.data?.isPending ? AGAIN_MS : false),
  })
  const last = useRef(stamp)
  useEffect(() => {
    if (last.current !== undefined && last.current !== stamp) void refetch()
    last.current = stamp
  }, [stamp, refetch])
  return isError ? NONE : data
}

const AGAIN_MS = 2000

async function readPicture(environment: string, signal: AbortSignal): Promise<SitePicture> {
  try {
    const response = await ask(`/v1/${environment}/screenshot`, { signal })
    return { source: await dataUrlOf(await response.blob()), isPending: response.headers.has('retry-after') }
  } catch (error) {
    if (!(error instanceof CallFailed) || error.problem.status !== 404) throw error
    return { ...NONE, isPending: error.problem.retryAfterSeconds !== undefined }
  }
}

function dataUrlOf(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(blob)
  })
}
