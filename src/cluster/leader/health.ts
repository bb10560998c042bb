/** Asks each instance that runs until it answers. Any HTTP response counts, as on one machine. */
import { type Clock, createSlots, type Log } from '../../base/index.ts'
import type { Answer, Asked } from '../../runtime/index.ts'
import { LeadershipLost, type Term } from '../../storage/index.ts'
import type { AppRecords } from '../records.ts'
import type { AppRow, InstanceRow } from '../rows.ts'
import type { View } from '../view.ts'

type Parts = {
  clock: Clock
  log: Log
  records: Pick<AppRecords, 'change' | 'setAnswer'>
  view: Pick<View, 'of' | 'apps' | 'onChange'>
  term: Pick<Term, 'check' | 'signal'>
  ask(asked: Asked, signal: AbortSignal): Promise<Answer>
  /** How long one question may take: a first page may take long to make. */
  answerMs: number
}

const POLL_MS = { first: 20, max: 500 }
/** Questions at a time, in all and of one account. */
const ASKED = { max: 64, maxOfOwner: 16 }

export function watchHealth({ clock, log, records, view, term, ask, answerMs }: Parts) {
  const stopping = new AbortController()
  const over = AbortSignal.any([stopping.signal, term.signal])
  const asking = new Map<string, Promise<void>>()
  const inSlot = createSlots(ASKED)

  const rowOf = ({ deployment, instance }: InstanceRow): InstanceRow | undefined =>
    view.of(deployment).instances.find((row) => row.instance === instance)
  const isAsked = (row: InstanceRow | undefined): row is InstanceRow & { address: string; port: number } =>
    row !== undefined && row.state === 'RUNNING' && !row.isReady && row.address !== null && row.port !== null

  const write = (row: InstanceRow, isReady: boolean) =>
    records.change((change) => records.setAnswer(change, row, { isReady, time: clock.now() }), term)

  async function askOne({ account, service: { hostHeader } }: AppRow, first: InstanceRow) {
    let isListening = first.isListening
    for (let pauseMs = POLL_MS.first; !over.aborted; pauseMs = Math.min(pauseMs * 1.5, POLL_MS.max)) {
      const row = rowOf(first)
      if (!isAsked(row)) return
      const answer = await inSlot(account, () =>
        ask({ host: row.address, port: row.port, hostHeader }, AbortSignal.any([over, AbortSignal.timeout(answerMs)])),
      )
      if (over.aborted) return
      if (answer.answers || (answer.isListening && !isListening)) await write(row, answer.answers)
      if (answer.answers) return
      isListening ||= answer.isListening
      await clock.sleep(pauseMs, over)
    }
  }

  function look(deployments: Iterable<string>) {
    for (const deployment of deployments) {
      const { app, instances } = view.of(deployment)
      for (const row of instances) {
        if (!app || !isAsked(row) || asking.has(row.instance) || over.aborted) continue
        const mine = askOne(app, row)
          .catch((error) => {
            if (!(error instanceof LeadershipLost)) log.warn({ err: error, deployment }, 'an app could not be asked')
          })
          .finally(() => asking.delete(row.instance))
        asking.set(row.instance, mine)
      }
    }
  }

  const forget = view.onChange(look)
  look([...view.apps()].map(({ deployment }) => deployment))

  return {
    /** Those whose question failed are asked again. */
    look: () => look([...view.apps()].map(({ deployment }) => deployment)),
    async stop() {
      forget()
      stopping.abort()
      await Promise.all(asking.values())
    },
  }
}
