/** What the environments of an account do now: visits, hits, errors, memory and builds. */
import { optionText } from '../../../contract/index.ts'
import { type Watched, watchAll } from '../../all-environments.ts'
import type { ClientCall } from '../../command.ts'
import { fixed } from '../../output/live/lines.ts'
import { type Sample, within } from '../../output/overview/rates.ts'
import { busiest, SORTS, type Sort, topJson, topLines, totalsInWords } from '../../output/overview/top-view.ts'
import { atAccount } from '../../project/where.ts'
import { watch } from '../../watching.ts'
import { printLines } from './status.ts'

export async function top(call: ClientCall): Promise<undefined> {
  const { terminal, options } = call
  const { service, account } = await atAccount(call)
  let sort = (optionText(options, 'sort') ?? 'visits') as Sort
  let all: readonly Watched[] = []
  let samples: readonly Sample[] = []

  async function read() {
    all = await watchAll(service, account)
    const points = new Map(all.flatMap(({ activity }) => (activity ? [[activity.name, activity.points] as const] : [])))
    samples = within([...samples, { atMs: Date.now(), points }], Date.now())
  }

  const busy = () => busiest(all, samples, sort)
  const lines = () => topLines(busy(), { isShown: terminal.isShown, columns: terminal.columns() })
  if (options.once || options.json || !terminal.isDrawn) {
    await read()
    if (options.json) return void terminal.print(JSON.stringify(topJson(busy())))
    if (all.length === 0) return void terminal.say(EMPTY)
    return void printLines(terminal, lines())
  }
  const keys = SORTS.map((name) => `${name.charAt(0)} ${name}`).join('  ')
  await watch({
    terminal,
    read,
    lines: () => [
      [fixed(all.length > 0 ? totalsInWords(busy()) : EMPTY, 'bold')],
      [],
      ...(all.length > 0 ? lines() : []),
      [],
      [fixed(`by ${sort} · ${keys} · q ends`, 'dim')],
    ],
    onKey(key) {
      sort = SORTS.find((name) => name.charAt(0) === key) ?? sort
    },
  })
}

const EMPTY = "No environments yet. 'headland deploy' makes an app and its first environment."
