/** Questions to the user at the terminal. Return alone takes what is suggested. */
import { printableLine } from '../base/index.ts'
import { Interrupted, type Terminal } from './output/terminal.ts'

const REPEATS = 3

/** A line of text; asked again, with what is wrong with it, until it is right. */
export async function askText(
  terminal: Terminal,
  question: string,
  suggested?: string,
  faultOf: (text: string) => string | undefined = () => undefined,
): Promise<string> {
  const shown = suggested === undefined ? '' : ` [${printableLine(suggested)}]`
  for (let tries = 0; tries < REPEATS; tries++) {
    const text = (await terminal.ask(`${question}${shown}: `)) || suggested
    const fault = text === undefined ? 'something has to be typed here' : faultOf(text)
    if (text !== undefined && fault === undefined) return text
    terminal.say(`  ${fault}`)
  }
  throw new Interrupted()
}

/** One of several, by its number or its name. */
export async function choose<T>(
  terminal: Terminal,
  question: string,
  choices: readonly { name: string; value: T }[],
  suggested = 0,
): Promise<T> {
  terminal.say(question)
  for (const [index, { name }] of choices.entries()) terminal.say(`  ${index + 1}  ${printableLine(name)}`)
  const find = (text: string) => choices[Number(text) - 1] ?? choices.find(({ name }) => name === text)
  const typed = await askText(terminal, 'Number', String(suggested + 1), (text) =>
    find(text) ? undefined : `a number from 1 to ${choices.length}`,
  )
  const found = find(typed)
  if (!found) throw new Interrupted()
  return found.value
}

export async function confirm(terminal: Terminal, question: string, isYesSuggested: boolean): Promise<boolean> {
  const typed = await terminal.ask(`${question} ${isYesSuggested ? '[Y/n]' : '[y/N]'} `)
  return typed === '' ? isYesSuggested : /^y(es)?$/i.test(typed)
}
