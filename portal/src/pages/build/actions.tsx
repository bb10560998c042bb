/** The actions of a build: cancel it while it runs, rebuild when it has ended. */
import { useLocation } from 'wouter'
import { call } from '../../api/client.ts'
import { type Action, useAction } from '../../api/data.ts'
import { idOf, type Place } from '../../api/names.ts'
import type { Problem } from '../../api/problem.ts'
import type { Build, Operation } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { environmentPath } from '../../paths.ts'

export type BuildActions = {
  cancel: Action<void, unknown>
  rebuild: Action<void, Operation>
  cleanRebuild: Action<void, Operation>
  problem: Problem | undefined
}

export function useBuildActions(place: Place, build: string): BuildActions {
  const refreshes = [place.name, `${place.name}/builds`, `${place.name}/operations`, build]
  const start = (clean: boolean) => () =>
    call<Operation>(`/v1/${place.name}:rebuild`, { method: 'POST', body: { clean } })
  const cancel = useAction<void>(() => call(`/v1/${build}:cancel`, { method: 'POST' }), { refreshes })
  const rebuild = useAction<void, Operation>(start(false), { refreshes })
  const cleanRebuild = useAction<void, Operation>(start(true), { refreshes })
  return { cancel, rebuild, cleanRebuild, problem: cancel.problem ?? rebuild.problem ?? cleanRebuild.problem }
}

type Props = { place: Place; build: Build; actions: BuildActions }

export function BuildButtons({ place, build, actions: { cancel, rebuild, cleanRebuild } }: Props) {
  const [, go] = useLocation()
  const say = useToast()

  if (!build.finishTime) {
    return (
      <Button icon="ban" busy={cancel.isBusy} onClick={() => cancel.run()}>
        Cancel build
      </Button>
    )
  }

  const again = async (action: Action<void, Operation>) => {
    const operation = await action.run()
    if (!operation) return
    go(environmentPath(place, `builds/${idOf(operation.metadata.build)}`))
    say('The environment is built again: this is the new build.')
  }
  return (
    <>
      <Button
        busy={rebuild.isBusy}
        title="Builds the archive that was uploaded last, with fresh data and warm compilers"
        onClick={() => again(rebuild)}
      >
        Rebuild
      </Button>
      <Button
        busy={cleanRebuild.isBusy}
        title="Builds the archive that was uploaded last, without anything kept from earlier builds"
        onClick={() => again(cleanRebuild)}
      >
        Clean Rebuild
      </Button>
    </>
  )
}
