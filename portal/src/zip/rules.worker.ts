/**
 * Applies the ignore rules of a folder in a worker: they become regular expressions, and a hostile one can run for
 * ever. The page terminates this worker after a timeout.
 */
import { createRules, type Listing, type Rules } from './rules.ts'

export type FromRules = { kind: 'judged'; leftOut: boolean[] } | { kind: 'failed'; message: string }

const byFolder = new Map<string, Rules>()

addEventListener('message', ({ data: { folder, texts, names } }: MessageEvent<Listing>) => {
  try {
    const around = folder === '' ? createRules() : byFolder.get(folder.slice(0, Math.max(0, folder.lastIndexOf('/'))))
    if (!around) throw new Error(`${folder} was asked for before the folder around it`)
    const rules = around.within(folder, texts)
    byFolder.set(folder, rules)
    const at = folder === '' ? '' : `${folder}/`
    say({ kind: 'judged', leftOut: names.map(({ name, isFolder }) => rules.leavesOut(`${at}${name}`, isFolder)) })
  } catch (error) {
    say({ kind: 'failed', message: (error as Error).message })
  }
})

const say = (message: FromRules) => postMessage(message)
