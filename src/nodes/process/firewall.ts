/** Keeps the rules of this node in the kernel: puts them there, reads them back, and restores them when another program changed them. */
import { createTurns, type Log } from '../../base/index.ts'
import { isolationRules } from '../../swarm/index.ts'
import type { NodeRules } from '../messages.ts'
import type { Nft } from './nft.ts'

type Parts = { nft: Nft; log: Log }

export function createFirewall({ nft, log }: Parts) {
  const inTurn = createTurns()
  let used: NodeRules | undefined
  /** Of what the kernel had right after it was given the rules. */
  let digest: string | undefined

  async function apply(rules: NodeRules) {
    const text = isolationRules(rules.isolation)
    digest = undefined
    await nft.load(text)
    const read = await nft.read()
    if (read === undefined) throw new Error('the kernel does not have the rules that it was given')
    used = rules
    digest = read
  }

  return {
    /** Rejects where they cannot be put into the kernel: the ones before are kept then. */
    use: (rules: NodeRules): Promise<void> =>
      inTurn('kernel', async () => {
        if (digest !== undefined && JSON.stringify(used) === JSON.stringify(rules)) return
        await apply(rules)
        log.info({ revision: rules.revision }, 'the firewall of apps is in the kernel')
      }),

    /** Asks the kernel, and restores what is not there. Resolves to the revision that it has; undefined if it has none. */
    check: (): Promise<number | undefined> =>
      inTurn('kernel', async () => {
        if (!used) return undefined
        try {
          if (digest !== undefined && (await nft.read()) === digest) return used.revision
          log.warn({ revision: used.revision }, 'another program has changed the firewall of apps; it is restored')
          await apply(used)
          return used.revision
        } catch (error) {
          log.error({ err: error }, 'the firewall of apps cannot be kept')
          return undefined
        }
      }),
  }
}

export type Firewall = ReturnType<typeof createFirewall>
