/**
 * Unsaved changes of variables, applied over the saved ones. They are kept by name, so that what other users save
 * meanwhile stays visible and is not undone by saving these.
 */
import type { VariableKind } from '../../api/types.ts'
import type { EnvEntry } from './parse-env.ts'

/** Without a kind, the name decides. */
export type Added = { id: string; key: string; value: string; kind?: VariableKind }

export type Draft = {
  /** New values of saved variables. */
  values: Readonly<Record<string, string>>
  /** Their new kinds. */
  kinds: Readonly<Record<string, VariableKind>>
  removed: readonly string[]
  added: readonly Added[]
}

export const NOTHING: Draft = { values: {}, kinds: {}, removed: [], added: [] }

export type Row = {
  /** Its id on the page: `key:` and the name of a saved variable, or the id of a new one. */
  id: string
  key: string
  state: 'kept' | 'changed' | 'removed' | 'added'
  /** The new value, if it has one. */
  value?: string
  /** The chosen kind, if the user chose one. */
  kind?: VariableKind
}

/**
 * `keys` are the saved names, in the order of the service. A changed variable that another user removed is added again.
 */
export function rowsOf(keys: readonly string[], { values, kinds, removed, added }: Draft): Row[] {
  const gone = Object.keys(values).filter((key) => !keys.includes(key))
  return [
    ...[...keys, ...gone].map((key): Row => {
      const id = `key:${key}`
      if (removed.includes(key)) return { id, key, state: 'removed' }
      const changed = {
        ...(Object.hasOwn(values, key) ? { value: values[key] as string } : {}),
        ...(Object.hasOwn(kinds, key) ? { kind: kinds[key] as VariableKind } : {}),
      }
      return { id, key, state: Object.keys(changed).length > 0 ? 'changed' : 'kept', ...changed }
    }),
    ...added.map((row): Row => ({ ...row, state: 'added' })),
  ]
}

export type ChangedVariable = { key: string; kind?: VariableKind; value?: string }

/**
 * The whole list to save: a variable without a value or a kind keeps the saved one. `ids` are the rows of its items, to
 * find the row of an error. Empty new rows are skipped.
 */
export function listOf(keys: readonly string[], draft: Draft): { variables: ChangedVariable[]; ids: string[] } {
  const rows = rowsOf(keys, draft).filter(({ state, key, value }) =>
    state === 'added' ? key !== '' || value !== '' : state !== 'removed',
  )
  return {
    variables: rows.map(({ key, kind, value }) => ({
      key,
      ...(kind === undefined ? {} : { kind }),
      ...(value === undefined ? {} : { value }),
    })),
    ids: rows.map(({ id }) => id),
  }
}

export type Counts = { added: number; changed: number; removed: number }

export function countsOf(keys: readonly string[], draft: Draft): Counts {
  const states = rowsOf(keys, draft).map(({ state }) => state)
  const count = (wanted: Row['state']) => states.filter((state) => state === wanted).length
  return { added: count('added'), changed: count('changed'), removed: count('removed') }
}

export const hasChanges = ({ values, kinds, removed, added }: Draft): boolean =>
  Object.keys(values).length + Object.keys(kinds).length + removed.length + added.length > 0

/** `before`, if it is known, is the saved value: the same value is no change. */
export function withValue(draft: Draft, key: string, value: string, before?: string): Draft {
  const { values, ...rest } = withoutChange(draft, key)
  return { ...rest, kinds: draft.kinds, values: value === before ? values : { ...values, [key]: value } }
}

/** `before` is the saved kind. */
export function withKind(draft: Draft, key: string, kind: VariableKind, before: VariableKind): Draft {
  const { kinds, ...rest } = withoutChange(draft, key)
  return { ...rest, values: draft.values, kinds: kind === before ? kinds : { ...kinds, [key]: kind } }
}

/** As the service has it. */
export function withoutChange({ values, kinds, removed, added }: Draft, key: string): Draft {
  const { [key]: _value, ...otherValues } = values
  const { [key]: _kind, ...otherKinds } = kinds
  return { values: otherValues, kinds: otherKinds, removed: removed.filter((each) => each !== key), added }
}

export function withRemoved(draft: Draft, key: string): Draft {
  const clean = withoutChange(draft, key)
  return { ...clean, removed: [...clean.removed, key] }
}

export const withAdded = (draft: Draft, row: Added): Draft => ({ ...draft, added: [...draft.added, row] })

export const withAddedChanged = (draft: Draft, id: string, change: Partial<Omit<Added, 'id'>>): Draft => ({
  ...draft,
  added: draft.added.map((row) => (row.id === id ? { ...row, ...change } : row)),
})

export const withoutAdded = (draft: Draft, id: string): Draft => ({
  ...draft,
  added: draft.added.filter((row) => row.id !== id),
})

/** Applies an import: new names become rows, existing ones get the value. Nothing is removed. */
export function withImported(
  draft: Draft,
  before: ReadonlyMap<string, string | undefined>,
  entries: readonly EnvEntry[],
  newId: () => string,
): Draft {
  let next: Draft = { ...draft, added: draft.added.filter(({ key, value }) => key !== '' || value !== '') }
  for (const { key, value } of entries) {
    const row = next.added.find((each) => each.key === key)
    if (before.has(key)) next = withValue(next, key, value, before.get(key))
    else if (row) next = withAddedChanged(next, row.id, { value })
    else next = withAdded(next, { id: newId(), key, value })
  }
  return next
}
