/** Apps that sleep frozen: their processes keep their memory and do nothing, so the next visitor does not wait for a start. */
import { type Clock, randomToken } from '../base/index.ts'
import { endInstance, type SupervisedDeployment, toAwakeApp } from './entries.ts'
import type { FrozenLimits } from './frozen-apps.ts'
import { accepts } from './health.ts'
import type { Instance } from './instance.ts'
import { APP_LINES } from './log-lines.ts'

export function createFreezing({ clock, limits }: { clock: Clock; limits: FrozenLimits }) {
  return {
    /**
     * False where it has to end: one that was woken or retired while it drained, one that is too large, one beside the first
     * instance, which come and go with the load.
     */
    freeze(entry: SupervisedDeployment, instance: Instance): boolean {
      const { state, frozen, instances, retiring, spec } = entry
      const isResting = state === 'ASLEEP' && !frozen && instances.has(instance) && !retiring.signal.aborted
      if (!isResting || spec.ordinal !== undefined || limits.memoryBytes === 0) return false
      if (toAwakeApp(entry).memoryBytes > limits.memoryBytes || !instance.process.freeze?.()) return false
      entry.frozen = instance
      entry.frozenTime = clock.now()
      return true
    },

    /**
     * The process of one that is frozen, which goes on as it was; undefined where there is none. To edges it is another
     * instance: they use no connection to the one that fell asleep.
     */
    async thaw(entry: SupervisedDeployment, signal: AbortSignal): Promise<Instance | undefined> {
      const { frozen } = entry
      if (!frozen) return undefined
      entry.frozen = undefined
      frozen.process.thaw?.()
      // Meanwhile the kernel may have killed some of its processes for want of memory.
      const isWhole = await accepts(frozen.host, frozen.port)
      if (signal.aborted || !isWhole) await frozen.process.stop(0)
      signal.throwIfAborted()
      if (!isWhole) return undefined
      frozen.id = randomToken()
      return frozen
    },

    /** One that sleeps frozen gives its memory back: it ends, as one does that is stopped. */
    async release(entry: SupervisedDeployment) {
      const { frozen, spec } = entry
      if (!frozen) return
      entry.frozen = undefined
      spec.log.say('ASLEEP', APP_LINES.released)
      await endInstance(frozen)
    },
  }
}
