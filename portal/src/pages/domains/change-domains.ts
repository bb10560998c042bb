/** The service takes the whole list at once. It is asked for anew first, so that what others added a moment ago stays. */
import { call } from '../../api/client.ts'

export type DomainList = { domains: string[] }

/** `environment` is its resource name. The names come back as the service keeps them. */
export async function changeDomains(
  environment: string,
  work: (before: readonly string[]) => string[],
): Promise<{ before: string[]; after: string[] }> {
  const { domains: before } = await call<DomainList>(`/v1/${environment}/domains`)
  const body = { domains: work(before) }
  const { domains: after } = await call<DomainList>(`/v1/${environment}/domains:replace`, { method: 'POST', body })
  return { before, after }
}
