/** Why an app of a cluster did not start, as its owner reads it. */
import { Problem } from '../contract/index.ts'
import type { InstanceRow } from './rows.ts'
import type { IsConfirmed } from './status.ts'

const PORT = 3000
/** The exit code of a program that was ended by SIGKILL: 128 and the number of the signal. */
const KILLED = 137

/** No later start can succeed without a change by someone. */
export const isHopeless = ({ reason }: Pick<InstanceRow, 'reason'>): boolean =>
  reason === 'REGION_MISSING' || reason === 'IMAGE_MISSING'

/** Of an instance that has ended, or can never run. */
export function crashedAtStart(row: InstanceRow, region: string): Problem {
  if (row.reason === 'REGION_MISSING')
    return new Problem('NOT_READY', `No node of the cluster is in the region ${region}.`)
  if (row.reason === 'IMAGE_MISSING')
    return new Problem('IMAGE_REGISTRY_FAILED', `The node could not get the image of the app: ${row.message}`)
  if (row.exitCode === null) return new Problem('NOT_READY', `The node could not start the app: ${row.message}`)
  return new Problem('START_CRASHED', `The app ${endOf(row.exitCode)} before it answered.`, {
    metadata: { exitCode: String(row.exitCode) },
  })
}

const endOf = (exitCode: number): string =>
  exitCode === KILLED ? 'was killed by SIGKILL, as happens at its limit of memory,' : `ended with exit code ${exitCode}`

type Around = { region: string; seconds: number; isConfirmed: IsConfirmed }

/** The time is over, and no instance can be used. */
export function notStarted(rows: readonly InstanceRow[], { region, seconds, isConfirmed }: Around): Problem {
  const unready = rows.find(({ state, isReady }) => state === 'RUNNING' && !isReady)
  if (unready?.isListening)
    return new Problem('START_TIMEOUT', `The app listens but did not answer within ${seconds} s.`)
  if (unready) {
    const text = `The app did not listen on port ${PORT} (PORT) within ${seconds} s, at the address 0.0.0.0 (HOST).`
    return new Problem('PORT_NOT_BOUND', text, { metadata: { port: String(PORT), listens: '' } })
  }
  const ready = rows.find(({ state, node }) => state === 'RUNNING' && node !== null && !isConfirmed(node))
  if (ready) return new Problem('NOT_READY', `The firewall of the node ${ready.node} is not confirmed.`)
  if (rows.some(({ reason }) => reason === 'NO_NODE'))
    return new Problem('NOT_READY', `All nodes of the region ${region} are full, drained or away.`)
  return new Problem('NOT_READY', `The cluster did not start the app within ${seconds} s.`)
}
