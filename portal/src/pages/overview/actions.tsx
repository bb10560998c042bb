/** The actions of an environment. None of them destroys anything, so none asks for confirmation. */
import { call } from '../../api/client.ts'
import { useAction } from '../../api/data.ts'
import type { Place } from '../../api/names.ts'
import type { Problem } from '../../api/problem.ts'
import type { Environment, Operation } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'

export type EnvironmentActions = {
  rebuild(clean: boolean): Promise<void>
  purge(): Promise<void>
  busy: 'rebuild' | 'cleanRebuild' | 'purge' | undefined
  problem: Problem | undefined
}

export function useEnvironmentActions({ name }: Place, freshness: Environment['freshness']): EnvironmentActions {
  const say = useToast()
  const refreshes = [name, `${name}/operations`, `${name}/builds`]
  const rebuild = useAction(
    (clean: boolean) => call<Operation>(`/v1/${name}:rebuild`, { method: 'POST', body: { clean } }),
    { refreshes },
  )
  const clean = useAction(
    (_: boolean) => call<Operation>(`/v1/${name}:rebuild`, { method: 'POST', body: { clean: true } }),
    { refreshes },
  )
  const purge = useAction(() => call<Operation>(`/v1/${name}:clearCache`, { method: 'POST' }), { refreshes })
  const all = [rebuild, clean, purge]

  return {
    async rebuild(isClean) {
      for (const action of all) action.reset()
      if (await (isClean ? clean : rebuild).run(isClean))
        say(isClean ? 'A Clean Rebuild is on its way.' : 'A Rebuild is on its way.')
    },
    async purge() {
      for (const action of all) action.reset()
      if (await purge.run()) say(purgedWords(freshness))
    },
    busy: rebuild.isBusy ? 'rebuild' : clean.isBusy ? 'cleanRebuild' : purge.isBusy ? 'purge' : undefined,
    problem: rebuild.problem ?? clean.problem ?? purge.problem,
  }
}

const purgedWords = (freshness: Environment['freshness']): string =>
  freshness === undefined || freshness.purge === 'PAGES'
    ? 'The cache is purged: the next visitor of each page gets a new one.'
    : `The cache is purged. ${freshness.advice}`

/** `canRebuild` is true once an archive was uploaded. */
export function ActionButtons({ actions, canRebuild }: { actions: EnvironmentActions; canRebuild: boolean }) {
  const { busy, rebuild, purge } = actions
  return (
    <>
      {canRebuild && (
        <>
          <Button
            busy={busy === 'rebuild'}
            title="Builds the newest upload again, or what a rollback pinned, with fresh data and warm compilers"
            onClick={() => rebuild(false)}
          >
            Rebuild
          </Button>
          <Button
            busy={busy === 'cleanRebuild'}
            title="Builds the newest upload again, or what a rollback pinned, without anything kept from earlier builds"
            onClick={() => rebuild(true)}
          >
            Clean Rebuild
          </Button>
        </>
      )}
      <Button busy={busy === 'purge'} title="Drops what the edge and Next.js have stored" onClick={purge}>
        Purge cache
      </Button>
    </>
  )
}
