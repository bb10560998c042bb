/** The refs that a push changes, as git lists them, and which of them a repository takes. */
import { LIMITS, names, Problem } from '../contract/index.ts'

/** `null` for no object: the ref is new, or is deleted. */
export type RefUpdate = { name: string; from: string | null; to: string | null }

const LINE = /^([0-9a-f]{40}|[0-9a-f]{64}) ([0-9a-f]{40}|[0-9a-f]{64}) (.+)$/
const BRANCH = new RegExp(String(names.branchName.pattern), 'u')

const objectOf = (hex: string): string | null => (/^0+$/.test(hex) ? null : hex)

/** As a pre-receive hook gets them: one line for each. */
export function readUpdates(text: string): RefUpdate[] {
  const lines = text.split('\n').filter((line) => line !== '')
  if (lines.length > LIMITS.refsPerPush) {
    const limit = String(LIMITS.refsPerPush)
    throw new Problem('TOO_MANY_REFS', `One push changes at most ${limit} branches and tags.`, { metadata: { limit } })
  }
  return lines.map((line) => {
    const [, from = '', to = '', name = ''] = LINE.exec(line) ?? []
    if (name === '') throw new Problem('GIT_FAILED', 'The list of refs cannot be read.')
    return { name, from: objectOf(from), to: objectOf(to) }
  })
}

/** The name of an object or a pack. It may come from a stored record: it becomes a path only after this check. */
export function checkObjectId(text: string): string {
  if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text)) return text
  throw new Error(`not the id of an object: ${JSON.stringify(text.slice(0, 80))}`)
}

export const branchOf = (ref: string): string | undefined =>
  ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : undefined

/** Throws for a name that is neither a branch nor a tag, or that git or this service does not take. A bad one may be deleted. */
export function checkRef({ name, to }: RefUpdate) {
  const [, short] = /^refs\/(?:heads|tags)\/(.+)$/s.exec(name) ?? []
  if (short === undefined) throw new Problem('GIT_FAILED', `${shown(name)}: only branches and tags can be pushed.`)
  if (to === null) return
  if (short.length > LIMITS.branchLength)
    throw new Problem('GIT_FAILED', `${shown(name)}: a name has at most ${LIMITS.branchLength} characters.`)
  if (!BRANCH.test(short)) throw new Problem('GIT_FAILED', `${shown(name)}: git has no such name for a branch or tag.`)
}

const shown = (name: string): string => JSON.stringify(name.slice(0, LIMITS.branchLength))
