/**
 * The service takes the whole list at once, and only if it is the one that was read: to what others added or removed a
 * moment ago the change is made as well.
 */
import { call } from '../../api/client.ts'
import { isOutdated } from '../../api/problem.ts'

export type DomainList = { domains: string[]; etag: string }

const TRIES_MOST = 5

/** `environment` is its resource name. The names come back as the service keeps them. */
export async function changeDomains(
  environment: string,
  work: (before: readonly string[]) => string[],
): Promise<{ before: string[]; after: string[] }> {
  for (let tries = 1; ; tries++) {
    const { domains: before, etag } = await call<DomainList>(`/v1/${environment}/domains`)
    const body = { domains: work(before), etag }
    try {
      const { domains: after } = await call<DomainList>(`/v1/${environment}/domains:replace`, { method: 'POST', body })
      return { before, after }
    } catch (error) {
      if (!isOutdated(error) || tries === TRIES_MOST) throw error
    }
  }
}
