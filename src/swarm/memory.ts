/** What the instances on a node use, as its own engine tells: as on one machine, without what the kernel can take back. */
import type { Docker } from './docker/client.ts'
import { isMissing } from './docker/failure.ts'
import type { ContainerMemory } from './docker/types.ts'
import { LABELS } from './names.ts'

const TASK = 'com.docker.swarm.task.id'
const CONCURRENCY = 4
const MIB = 1024 ** 2

/** By instance, in bytes, as whole MiB: what has hardly changed is not written again. */
export async function measureApps(
  docker: Pick<Docker, 'containers' | 'containerMemory'>,
): Promise<Record<string, number>> {
  const queue = (await docker.containers({ label: [LABELS.deployment] })).values()
  const used: Record<string, number> = {}
  async function work() {
    for (const { Id, Labels = {} } of queue) {
      const instance = Labels[TASK]
      // One that has ended meanwhile uses nothing.
      const memory = await docker.containerMemory(Id).catch((error) => {
        if (isMissing(error)) return undefined
        throw error
      })
      const bytes = memory && usedBytes(memory)
      if (instance && bytes) used[instance] = Math.ceil(bytes / MIB) * MIB
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  return used
}

export function usedBytes({ stats = {} }: ContainerMemory): number | undefined {
  const own = stats.anon ?? stats.total_rss
  return own === undefined ? undefined : own + (stats.shmem ?? stats.total_shmem ?? 0)
}
