/**
 * The version that unsaved changes are based on. It follows the service until the first change and is fixed from then
 * on, since the user has not seen what others save later. It is kept as long as the changes are.
 */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Environment } from '../../api/types.ts'
import { useSession } from '../../session/session.tsx'
import { type Base, baseOf } from './meanwhile.ts'

export type UsedBase = { get(): Base | undefined; set(base: Base): void }

export function useBase(name: string, environment: Environment | undefined, hasUnsaved: boolean): UsedBase {
  const { email } = useSession()
  const client = useQueryClient()
  const queryKey = [`bases/${email}/${name}/variables`]

  const get = () => client.getQueryData<Base>(queryKey)
  const set = (base: Base) => {
    client.setQueryDefaults(queryKey, { gcTime: Number.POSITIVE_INFINITY })
    client.setQueryData<Base>(queryKey, base)
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key and the client are those of the page
  useEffect(() => {
    if (environment && (!hasUnsaved || !get())) set(baseOf(environment))
  }, [environment, hasUnsaved])

  return { get, set }
}
