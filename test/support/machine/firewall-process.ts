/** The firewall of a node, in a process with a network of its own. Calls come and go by IPC. */
import { createLog, systemClock } from '../../../src/base/index.ts'
import { createFirewall } from '../../../src/nodes/process/firewall.ts'
import { createNft } from '../../../src/nodes/process/nft.ts'

const nft = createNft(systemClock)
const firewall = createFirewall({ nft, log: createLog('silent') })
nft.watch(() => process.send?.({ changed: true }))

process.on('message', async ({ call, rules }: { call: 'use' | 'check'; rules: never }) => {
  try {
    const value = call === 'use' ? await firewall.use(rules) : await firewall.check()
    process.send?.({ value: value ?? null })
  } catch (error) {
    process.send?.({ error: (error as Error).message })
  }
})
process.on('disconnect', () => process.exit())
process.send?.({ isReady: true })
