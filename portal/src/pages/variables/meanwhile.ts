/** What other users saved during editing, derived from the etags, without reading values. */
import type { Environment } from '../../api/types.ts'
import { type Draft, rowsOf, withoutAdded, withValue } from './draft.ts'

/** The variables as they were when the first change was made, and the version to which the changes belong. */
export type Base = { etag: string; keys: readonly string[]; etags: Readonly<Record<string, string>> }

export const baseOf = ({ etag, shellVariables, shellVariableEtags }: Environment): Base => ({
  etag,
  keys: shellVariables.map(({ key }) => key),
  etags: shellVariableEtags,
})

export type Meanwhile = { key: string; what: 'added' | 'changed' | 'deleted'; isMine: boolean }

/** In alphabetical order; `isMine` where the draft changes it, too. */
export function changesBetween(before: Base, now: Base, draft: Draft): Meanwhile[] {
  const mine = new Set(rowsOf(before.keys, draft).flatMap(({ key, state }) => (state === 'kept' ? [] : key)))
  const all = [...new Set([...before.keys, ...now.keys])].sort()
  return all.flatMap((key) => {
    const what = changeOf(before.etags, now.etags, key)
    return what ? { key, what, isMine: mine.has(key) } : []
  })
}

function changeOf(before: Base['etags'], now: Base['etags'], key: string): Meanwhile['what'] | undefined {
  if (!Object.hasOwn(before, key)) return 'added'
  if (!Object.hasOwn(now, key)) return 'deleted'
  return before[key] === now[key] ? undefined : 'changed'
}

/**
 * The same changes based on another version: a variable that another user has added meanwhile is changed, not added.
 */
export function onTopOf({ keys }: Base, draft: Draft): Draft {
  let next: Draft = { ...draft, removed: draft.removed.filter((key) => keys.includes(key)) }
  for (const { id, key, value, kind } of draft.added) {
    if (!keys.includes(key)) continue
    next = withValue(withoutAdded(next, id), key, value)
    if (kind) next = { ...next, kinds: { ...next.kinds, [key]: kind } }
  }
  return next
}
