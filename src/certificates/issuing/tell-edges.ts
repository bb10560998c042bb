/** Tells the edges which certificate answers for which host, whenever that has changed. */
import { type Clock, type Log, settlesWithin } from '../../base/index.ts'
import type { EdgeTls } from '../../edge/index.ts'
import { assign, type WantedName } from '../names.ts'
import type { Staples } from '../stapling/staples.ts'
import type { CertificateHead, CertificateRecord } from '../store/record.ts'
import type { CertificateRecords } from '../store/records.ts'

type Parts = {
  clock: Clock
  log: Log
  records: CertificateRecords
  edgeTls: EdgeTls
  staples: Staples
  domain: string
}

/** An edge that died is back within this time, and gets the latest certificates by itself. */
const EDGES_MS = 30_000

export function createTellEdges({ clock, log, records, edgeTls, staples, domain }: Parts) {
  const wildcard = `*.${domain}`
  let told = ''

  return async (hosts: readonly WantedName[]): Promise<void> => {
    const heads = (await records.heads()).filter(({ hasChain }) => hasChain)
    const used = new Map<string, { head: CertificateHead; names: string[] }>()
    for (const [name, head] of assign(hosts, heads, clock.now())) {
      const use = used.get(head.id) ?? { head, names: [] }
      use.names.push(name)
      used.set(head.id, use)
    }
    const assigned = JSON.stringify([...used.values()].map(({ head, names }) => [head.id, head.version, names]))
    const stateNow = () => `${assigned}\n${staples.state()}`
    if (stateNow() === told) return
    const whole = await records.whole([...used.keys()])
    staples.watch(whole.map(toStapled))
    const state = stateNow()
    const certificates = whole.map((record) => {
      const staple = staples.of(toStapled(record))
      return {
        id: record.id,
        names: withoutCovered(used.get(record.id)?.names ?? [], wildcard),
        chain: record.chain ?? '',
        key: records.keyOf(record),
        ...(staple ? { staple } : {}),
      }
    })
    if (!(await settlesWithin(clock, edgeTls.setCertificates(certificates), EDGES_MS))) {
      log.warn('an edge has not confirmed its certificates')
    }
    told = state
  }
}

const toStapled = ({ id, chain, source }: CertificateRecord) => ({
  id,
  chain: chain ?? '',
  isTrusted: source !== 'UPLOADED',
})

/** The wildcard stands for the hosts under it. */
const withoutCovered = (names: readonly string[], wildcard: string): string[] =>
  names.includes(wildcard)
    ? names.filter((name) => name === wildcard || name.slice(name.indexOf('.')) !== wildcard.slice(1))
    : [...names]
