/** The part of a control process that nodes connect to, in a process that is started in another network. Calls come by IPC. */
import { join } from 'node:path'
import { createChanges, createLog, processName, systemClock } from '../../../src/base/index.ts'
import { joinToken, openClusterPort, PROTOCOL } from '../../../src/channel/index.ts'
import { createNodes } from '../../../src/nodes/index.ts'
import { MIGRATIONS, migrate } from '../../../src/storage/index.ts'
import { openSqlite } from '../../../src/storage/sql/sqlite.ts'
import type { Isolation } from '../../../src/swarm/index.ts'

const [address = '', folder = '', leaseMs = ''] = process.argv.slice(2)
const KEY = 'the key of the control processes'

const changes = createChanges()
const sql = await openSqlite(join(folder, 'control.db'), { onChange: changes.notify })
await migrate(sql, MIGRATIONS, systemClock.now())
const control = processName()
const nodes = createNodes({
  ...{ sql, changes, control },
  clock: systemClock,
  log: createLog('silent'),
  leaseMs: Number(leaseMs),
})
await nodes.start()
const port = await openClusterPort({
  address: { host: address, port: 0, key: KEY },
  greeting: { protocol: PROTOCOL, role: 'control', process: control, version: '1' },
  onRefused: () => undefined,
})
port.serve({ role: 'node' }, nodes.serveNode)

export type ControlCall =
  | { setRules: Isolation }
  | { isConfirmed: string }
  /** Resolves to the join token of a node. */
  | { tokenOf: string }

async function answer(call: ControlCall): Promise<unknown> {
  if ('setRules' in call) return nodes.setRules(call.setRules)
  if ('tokenOf' in call) return joinToken(KEY, { role: 'node', name: call.tokenOf })
  return nodes.isConfirmed(call.isConfirmed)
}

process.on('message', async ({ number, call }: { number: number; call: ControlCall }) => {
  process.send?.({ number, value: (await answer(call)) ?? null })
})
process.on('disconnect', () => process.exit())
process.send?.({ port: port.port })
