/** The checks of the domains of an environment, which the service repeats from time to time. */
import { call } from '../../api/client.ts'
import { useAction, useResource } from '../../api/data.ts'
import type { Place } from '../../api/names.ts'
import type { DomainChecks } from '../../api/types.ts'

const REFRESH_MS = 60_000
/** The polling interval while a check is running. */
const SOON_MS = 3_000

export function useChecks(place: Place) {
  const name = `${place.name}/domains:check`
  const found = useResource<DomainChecks>(name, { refreshMs: REFRESH_MS })
  const isChecking = found.data?.checks.some(({ dns }) => dns.state === 'CHECKING') ?? false
  // The same query, polled more often while it is incomplete.
  useResource<DomainChecks>(name, { refreshMs: SOON_MS, enabled: isChecking })
  const asked = useAction(() => call<DomainChecks>(`/v1/${name}`, { query: { fresh: 'true' } }), { refreshes: [name] })
  return {
    data: found.data,
    problem: found.problem ?? asked.problem,
    isBusy: asked.isBusy,
    again: () => void asked.run(),
  }
}
