/** Options that several commands share, and confirmations. */
import { printableLine } from '../base/index.ts'
import { type OptionValues, optionText, UsageError } from '../contract/index.ts'
import type { ClientCall } from './command.ts'
import { Interrupted } from './output/terminal.ts'

export const LIMIT_OPTION = {
  limit: { type: 'string', value: 'NUMBER', describe: 'How many, the newest first; 20 unless given.' },
} as const

export const YES_OPTION = { yes: { type: 'boolean', short: 'y', describe: 'Do not ask.' } } as const

export const limitOf = (options: OptionValues): number => numberIn(optionText(options, 'limit') ?? '20', '--limit', 1)

export function numberIn(text: string, name: string, min: number): number {
  const number = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (!(number >= min)) throw new UsageError(`${name} must be a whole number, ${min} or more: not '${text}'`)
  return number
}

/** What cannot be undone is confirmed by a word that is not typed by habit; without a terminal it takes --yes. */
export async function makeSure(call: ClientCall, warning: string, word: string) {
  if (call.options.yes) return
  if (!call.terminal.isInteractive) throw new UsageError(`${warning} Say --yes if that is meant`)
  call.terminal.say(warning)
  const typed = await call.terminal.ask(`Type ${printableLine(word)} to go on: `)
  if (typed !== word) throw new Interrupted()
}

/** The state that the user saw and confirmed is the one that is deleted. With --yes the current state is deleted. */
export const ifMatch = ({ options }: ClientCall, { etag }: { etag?: string }): Record<string, string> =>
  options.yes || etag === undefined ? {} : { 'if-match': etag }
