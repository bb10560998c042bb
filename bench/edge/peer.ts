/** What it costs to call an app from its own loopback address, beside the same app called from the gateway. */
import { spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DEFAULT_NETWORK_SETTINGS, type NetworkNamespace, openNetworks } from '../../src/engines/index.ts'
import { type Bench, Skipped } from '../bench.ts'
import { inTurns, TURNS } from '../rounds.ts'
import { end, ready, temporaryFolder } from '../service.ts'
import { startEdgeBefore } from './edge.ts'

const PAGE_BYTES = 10 * 1024
const PORT = 8080

export const edgePeer: Bench = {
  name: 'edge-peer',
  what: 'pages of 10 KiB that are not stored, from an app in a network of its own that is called from loopback, beside one that is called from the gateway',
  noise: TURNS,
  async run() {
    await using folder = await temporaryFolder()
    const networks = await openNetworks({
      folder: folder.path,
      settings: DEFAULT_NETWORK_SETTINGS,
      onProblem(error) {
        throw error
      },
    })
    if ('missing' in networks) throw new Skipped(networks.missing)
    try {
      await using ours = await startIn(await networks.open('app', { port: PORT }), join(folder.path, 'ours'))
      await using peer = await startIn(await networks.open('app'), join(folder.path, 'peer'))
      const cost = await inTurns({ ours, peer })
      return [
        {
          what: 'CPU of edge and app per request',
          unit: 'µs',
          ours: cost.ours.cpuMicrosecondsPerRequest,
          peer: cost.peer.cpuMicrosecondsPerRequest,
          beside: 'called from the gateway',
          goal: { of: 'ratio', max: 1.25 },
        },
      ]
    } finally {
      await networks.close()
    }
  },
}

/** An app in the view, and an edge before it. */
async function startIn(view: NetworkNamespace, folder: string) {
  await mkdir(folder)
  const program = fileURLToPath(new URL('./origin.ts', import.meta.url))
  const origin = [process.execPath, program, String(PAGE_BYTES), '0.0.0.0', String(PORT), 'no-store']
  const [file = '', ...args] = view.around(origin)
  const app = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  await ready(app)
  const edge = await startEdgeBefore(folder, { host: view.address, port: PORT })
  return {
    url: edge.url,
    pid: edge.pid,
    others: [app.pid ?? 0],
    async [Symbol.asyncDispose]() {
      await edge[Symbol.asyncDispose]()
      await end(app)
    },
  }
}
