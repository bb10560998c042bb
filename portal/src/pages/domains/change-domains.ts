/**
 * The service accepts only the whole list of domains, with the etag of the list that was read. If another user changed
 * the list meanwhile, the change is applied to the new list.
 */
import { call } from '../../api/client.ts'
import { isOutdated } from '../../api/problem.ts'
import type { DomainRedirect } from '../../api/types.ts'

export type DomainList = { domains: string[]; redirects: DomainRedirect[]; etag: string }

/** Without `redirects`, the redirects of the remaining names stay. */
type Wanted = { domains: string[]; redirects?: DomainRedirect[] }

const MAX_TRIES = 5

/** `environment` is its resource name. The names come back as the service keeps them. */
export async function changeDomains(
  environment: string,
  work: (before: DomainList) => Wanted,
): Promise<{ before: string[]; after: string[] }> {
  for (let tries = 1; ; tries++) {
    const before = await call<DomainList>(`/v1/${environment}/domains`)
    const body = { ...work(before), etag: before.etag }
    try {
      const { domains: after } = await call<DomainList>(`/v1/${environment}/domains:replace`, { method: 'POST', body })
      return { before: before.domains, after }
    } catch (error) {
      if (!isOutdated(error) || tries === MAX_TRIES) throw error
    }
  }
}

/**
 * Adds a redirect, or removes that of `domain`. The service accepts no chains: redirects to `domain` get its new
 * target, and a redirect of the target is removed.
 */
export function redirected(
  redirects: readonly DomainRedirect[],
  domain: string,
  to: string | undefined,
): DomainRedirect[] {
  const others = redirects.filter((each) => each.domain !== domain && each.domain !== to)
  if (to === undefined) return others
  return [...others.map((each) => (each.to === domain ? { ...each, to } : each)), { domain, to }]
}

/** A domain and the same with `www.`, if both are in the list and neither redirects to the other. */
export function twinsIn({ domains, redirects }: Pick<DomainList, 'domains' | 'redirects'>) {
  const redirecting = new Set(redirects.map(({ domain }) => domain))
  const apex = domains.find((name) => {
    const www = `www.${name}`
    return domains.includes(www) && !redirecting.has(name) && !redirecting.has(www)
  })
  return apex === undefined ? undefined : { apex, www: `www.${apex}` }
}
