/** All environments of an account at a glance, what needs a look first. */
import { UsageError } from '../../../contract/index.ts'
import { type Watched, watchAll } from '../../all-environments.ts'
import type { ClientCall } from '../../command.ts'
import { fixed, type Line } from '../../output/live/lines.ts'
import { countsInWords, statusJson, statusLines } from '../../output/overview/status-view.ts'
import type { Terminal } from '../../output/terminal.ts'
import { atAccount } from '../../project/where.ts'
import { watch } from '../../watching.ts'

export async function status(call: ClientCall): Promise<undefined> {
  const { terminal, options } = call
  if (options.watch && options.json) throw new UsageError('--watch draws for people: leave --json out')
  if (options.watch && !terminal.isDrawn) throw new UsageError('--watch needs a terminal')
  const { service, account } = await atAccount(call)
  let all: readonly Watched[] = []
  const read = async () => {
    all = await watchAll(service, account)
  }
  const lines = () => statusLines(all, { isShown: terminal.isShown, columns: terminal.columns(), nowMs: Date.now() })
  if (options.watch) {
    const hint = () => fixed(`${countsInWords(all)} · q ends`, 'dim')
    await watch({ terminal, read, lines: () => (all.length > 0 ? [...lines(), [], [hint()]] : [[fixed(EMPTY)]]) })
  } else await read()
  if (options.json) return void terminal.print(JSON.stringify(statusJson(all)))
  if (all.length === 0) return void terminal.say(EMPTY)
  printLines(terminal, lines())
}

const EMPTY = "No environments yet. 'headland deploy' makes an app and its first environment."

export function printLines({ print, paint }: Terminal, lines: readonly Line[]) {
  for (const line of lines) print(line.map(({ text, colour }) => (colour ? paint(colour, text) : text)).join(''))
}
