/** Asks each instance that runs until it answers. Any HTTP response counts, as on one machine. */
import { type Clock, createSlots, type Log, repeat } from '../../base/index.ts'
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

const LOOK_MS = 5000
const POLL_MS = { first: 20, max: 250 }
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

  const askWithin = (asked: Asked) => ask(asked, AbortSignal.any([over, AbortSignal.timeout(answerMs)]))

  async function askOne({ account, service: { hostHeader } }: AppRow, first: InstanceRow) {
    let listening: Promise<void> | undefined
    for (let pauseMs = POLL_MS.first; !over.aborted; pauseMs = Math.min(pauseMs * 1.5, POLL_MS.max)) {
      const row = rowOf(first)
      if (!isAsked(row)) return
      const onListening = () => {
        if (!row.isListening) listening ??= write(row, false).catch(onFault)
      }
      const answer = await inSlot(account, () =>
        askWithin({ host: row.address, port: row.port, hostHeader, onListening }),
      )
      await listening
      if (over.aborted) return
      if (answer.answers) return write(row, true)
      await clock.sleep(pauseMs, over)
    }
  }

  function onFault(error: unknown) {
    if (!(error instanceof LeadershipLost)) log.warn({ err: error }, 'whether an app answers could not be recorded')
  }

  function look(deployments: Iterable<string>) {
    for (const deployment of deployments) {
      const { app, instances } = view.of(deployment)
      for (const row of instances) {
        if (!app || !isAsked(row) || asking.has(row.instance) || over.aborted) continue
        const mine = askOne(app, row)
          .catch(onFault)
          .finally(() => asking.delete(row.instance))
        asking.set(row.instance, mine)
      }
    }
  }

  const lookAtAll = async () => look([...view.apps()].map(({ deployment }) => deployment))
  const forget = view.onChange(look)
  /** Those whose answer could not be recorded are asked again. */
  const looking = repeat(clock, LOOK_MS, lookAtAll, { isImmediate: true })

  return {
    async stop() {
      forget()
      stopping.abort()
      await looking.stop()
      await Promise.all(asking.values())
    },
  }
}
