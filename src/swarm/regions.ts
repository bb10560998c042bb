/** The regions that nodes of the swarm have, kept in memory: an app is made only where one could run. */
import { type Clock, type Log, type Repetition, repeat } from '../base/index.ts'
import { Problem } from '../contract/index.ts'
import type { Docker } from './docker/client.ts'
import { REGION_LABEL } from './names.ts'

/** Nodes come and go rarely. */
const REFRESH_MS = 15_000

type Parts = { clock: Clock; log: Log; docker: Pick<Docker, 'nodes'> }

export function createRegions({ clock, log, docker }: Parts) {
  /** Undefined until they could be read. */
  let known: ReadonlySet<string> | undefined
  let repetition: Repetition | undefined

  async function read() {
    try {
      const nodes = await docker.nodes()
      known = new Set(nodes.flatMap(({ Spec }) => Spec.Labels?.[REGION_LABEL] || []))
    } catch (error) {
      log.warn({ err: error }, 'the nodes of the swarm cannot be read')
    }
  }

  return {
    /**
     * Throws if no node has the region. A node may have been added since the last look. While the swarm cannot be asked and
     * never could, nothing is refused: deployments wait for a node.
     */
    async require(region: string): Promise<void> {
      if (known?.has(region)) return
      await read()
      if (known === undefined || known.has(region)) return
      const there = [...known].toSorted().join(', ')
      throw new Problem(
        'REGION_UNAVAILABLE',
        there === ''
          ? `No node of this service has the region ${region}, or any other.`
          : `No node of this service has the region ${region}. There are nodes in: ${there}.`,
        { metadata: { region, regions: there } },
      )
    },

    start() {
      repetition = repeat(clock, REFRESH_MS, read, { isImmediate: true })
    },
    async stop() {
      await repetition?.stop()
    },
  }
}

export type Regions = ReturnType<typeof createRegions>
