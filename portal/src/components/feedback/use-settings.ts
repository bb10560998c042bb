/** Saves settings of an environment, and says what came of it. */
import { useAction } from '../../api/data.ts'
import { saveEnvironment } from '../../api/save.ts'
import type { Environment } from '../../api/types.ts'
import { useToast } from './toasts.tsx'

/** @param isUntouched whether other users changed nothing of these settings meanwhile */
export function useSettings<Body extends object>(
  { name, etag }: Environment,
  isUntouched: (now: Environment) => boolean,
) {
  const say = useToast()
  const save = useAction((body: Body) => saveEnvironment(name, etag, body, isUntouched), {
    refreshes: [name, `${name}/operations`],
  })
  return {
    isBusy: save.isBusy,
    problem: save.problem,
    reset: save.reset,
    /** Resolves to whether it is saved. */
    async save(body: Body, done = 'Saved.'): Promise<boolean> {
      const saved = await save.run(body)
      if (!saved) return false
      const isSaved = 'operation' in saved
      say(isSaved ? done : 'Another person has changed this meanwhile. Look at it again.')
      return isSaved
    },
  }
}
