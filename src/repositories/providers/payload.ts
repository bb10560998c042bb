/** Reads bodies of hook calls, which come from outside: bounded, and only properties of their own. */
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { fieldInvalid, LIMITS, Problem } from '../../contract/index.ts'
import type { BranchChange, HookEvent } from './provider.ts'

/** A header that was sent once, or an empty string. */
export function header(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

/** The JSON of a call as text: the body itself, or the field `payload` of a form, which some services send instead. */
export function jsonText(headers: IncomingHttpHeaders, body: Buffer): string {
  if (body.length > LIMITS.hookBytes)
    throw new Problem('BODY_TOO_LARGE', `A call of a hook has at most ${LIMITS.hookBytes} bytes.`, {
      metadata: { limit: String(LIMITS.hookBytes) },
    })
  if (!isUtf8(body)) throw new Problem('JSON_MALFORMED', 'The body is not valid UTF-8.')
  const text = body.toString()
  return isForm(headers) ? (new URLSearchParams(text).get('payload') ?? '') : text
}

export const isForm = (headers: IncomingHttpHeaders): boolean =>
  /^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(header(headers, 'content-type'))

export function parse(headers: IncomingHttpHeaders, body: Buffer): unknown {
  const text = jsonText(headers, body)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Problem('JSON_MALFORMED', `The body is not valid JSON: ${(error as Error).message.slice(0, 200)}.`)
  }
}

/** What stands at this path of a parsed body. Undefined where the path ends early. */
export function at(value: unknown, ...path: string[]): unknown {
  let current = value
  for (const key of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined
    current = (current as Record<string, unknown>)[key]
  }
  return current
}

/** A list of changes that is short enough to be worked on. */
export function listAt(value: unknown, ...path: string[]): unknown[] {
  const list = at(value, ...path)
  const name = path.join('.')
  if (!Array.isArray(list)) throw fieldInvalid(name, 'must be a list')
  if (list.length > LIMITS.hookBranches) throw fieldInvalid(name, `must have at most ${LIMITS.hookBranches} items`)
  return list
}

const HEADS = 'refs/heads/'
const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/
const NO_COMMIT = /^0+$/
// The rules of git check-ref-format for a name below refs/heads/.
const NOT_IN_BRANCH = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp} ~^:?*[\\]|\.\.|@\{|\/\/|(?:^|\/)\.|\.lock(?:\/|$)|^[-/]|[/.]$|^@$/u

export const isBranch = (name: unknown): name is string =>
  typeof name === 'string' && name.length > 0 && name.length <= LIMITS.branchLength && !NOT_IN_BRANCH.test(name)

/** The change of a ref that is written out. Undefined for tags and for refs of the service itself. */
export function changeOfRef(ref: unknown, commit: unknown): BranchChange | undefined {
  return typeof ref === 'string' && ref.startsWith(HEADS) ? changeOf(ref.slice(HEADS.length), commit) : undefined
}

/** The change of a branch: no commit, or one of zeros, means that it was deleted. */
export function changeOf(branch: unknown, commit: unknown): BranchChange | undefined {
  if (!isBranch(branch)) return undefined
  if (commit === null || (typeof commit === 'string' && NO_COMMIT.test(commit))) return { kind: 'DELETED', branch }
  if (typeof commit !== 'string' || !COMMIT.test(commit))
    throw fieldInvalid('commit', 'must be the id of a commit: 40 hexadecimal digits, or 64 of SHA-256')
  return { kind: 'PUSH', branch, commit }
}

/** The branch of a pull request that was closed, merged or not. Undefined for one of another repository, such as a fork. */
export function closedOf(branch: unknown, from: unknown, to: unknown): BranchChange | undefined {
  return from !== undefined && from !== null && from === to ? changeOf(branch, null) : undefined
}

/** Of a branch that is named twice, the last change counts. */
export function eventOf(changes: readonly (BranchChange | undefined)[]): HookEvent {
  const byBranch = new Map(changes.flatMap((change) => (change ? [[change.branch, change] as const] : [])))
  if (byBranch.size === 0) return { kind: 'IGNORED', why: 'No branch of this repository was changed.' }
  return { kind: 'CHANGES', changes: [...byBranch.values()] }
}

export const ignored = (event: string): HookEvent => ({
  kind: 'IGNORED',
  why: `Nothing is done at the event ${JSON.stringify(event.slice(0, 100))}.`,
})
