/** The state of a deployment and its actions, in words. */
import type { Shown } from '../../api/live/state.ts'
import type { Deployment } from '../../api/types.ts'

export function deploymentState({ state, instance }: Deployment): Shown {
  switch (state) {
    case 'STARTING':
      return { tone: 'busy', word: 'Starting' }
    case 'RETIRED':
      return { tone: 'idle', word: 'Retired' }
    case 'FAILED':
      return { tone: 'bad', word: 'Failed' }
    case 'HELD':
      return {
        tone: 'warn',
        word: 'Held',
        detail: 'Its output looks wrong, or pages are broken, so it was not made live.',
      }
    case 'LIVE':
      return liveState(instance?.state)
  }
}

function liveState(instance: NonNullable<Deployment['instance']>['state'] | undefined): Shown {
  switch (instance) {
    case 'CRASH_LOOP':
      return { tone: 'bad', word: 'Live, keeps crashing', detail: 'The app crashes repeatedly; its log says why.' }
    case 'RESTARTING':
      return { tone: 'warn', word: 'Live, restarting' }
    case 'ASLEEP':
      return { tone: 'good', word: 'Live, asleep', detail: 'The next visitor wakes it up.' }
    default:
      return { tone: 'good', word: 'Live' }
  }
}

/** The name of the action that makes it live: back to an older one, or forward to a newer. */
export const activationWord = (deployment: Deployment, live: Deployment | undefined): string =>
  live && Date.parse(deployment.createTime) < Date.parse(live.createTime) ? 'Roll back to this' : 'Make live'

/** Why it cannot be made live; empty if it can be, or is live. */
export function whyNot({ state, activatable }: Deployment): string {
  if (activatable) return ''
  if (state === 'STARTING') return 'Not live yet'
  if (state === 'FAILED') return 'It never answered'
  if (state === 'HELD') return 'A later build took its place'
  return 'Its files were removed for newer ones'
}
