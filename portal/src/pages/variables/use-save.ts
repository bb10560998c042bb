/** Saves all changes with one request, and maps errors of the service to rows. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useAction } from '../../api/data.ts'
import type { Problem } from '../../api/problem.ts'
import { saveEnvironment } from '../../api/save.ts'
import type { Operation } from '../../api/types.ts'
import { type Draft, listOf, NOTHING } from './draft.ts'
import { type Base, baseOf, changesBetween, type Meanwhile, onTopOf } from './meanwhile.ts'
import type { UsedBase } from './use-base.ts'
import type { UsedDraft } from './use-draft.ts'

export type RowFaults = { key?: string; value?: string }

export type Save = {
  run(): Promise<void>
  /**
   * What other users changed since the draft was begun. Nothing was saved, and the user has to choose one of these two.
   */
  meanwhile: readonly Meanwhile[] | undefined
  runOnTop(): Promise<void>
  discard(): void
  isBusy: boolean
  /** The error of a row, by its id. */
  faultsOf(id: string): RowFaults
  /** An error that belongs to no row. */
  problem: Problem | undefined
  /** The operation of the last save. */
  operation: Operation | undefined
}

const FIELD = /^shellVariables\[(\d+)\](?:\.(key|value))?$/

export function useSave(name: string, { draft, change }: UsedDraft, base: UsedBase): Save {
  const client = useQueryClient()
  const [sent, setSent] = useState<readonly string[]>([])
  const [operation, setOperation] = useState<Operation>()
  const [meanwhile, setMeanwhile] = useState<{ now: Base; changes: Meanwhile[] }>()

  const action = useAction(
    async (from: { base: Base; draft: Draft }) => {
      const { variables, ids } = listOf(from.base.keys, from.draft)
      setSent(ids)
      const saved = await saveEnvironment(
        name,
        from.base.etag,
        { shellVariables: variables },
        (now) => changesBetween(from.base, baseOf(now), from.draft).length === 0,
      )
      // The next change is based on the version that was just saved.
      if ('operation' in saved) await client.refetchQueries({ queryKey: [name], exact: true })
      return saved
    },
    { refreshes: [name, `${name}/operations`] },
  )

  async function save(from: { base: Base; draft: Draft }) {
    const saved = await action.run(from)
    if (!saved) return
    if ('now' in saved) {
      const now = baseOf(saved.now)
      return setMeanwhile({ now, changes: changesBetween(from.base, now, from.draft) })
    }
    setMeanwhile(undefined)
    setOperation(saved.operation)
    change(() => NOTHING)
  }

  const faults = new Map<string, RowFaults>()
  let isAllBeside = Object.keys(action.problem?.fields ?? {}).length > 0
  for (const [field, description] of Object.entries(action.problem?.fields ?? {})) {
    const [, index, part = 'value'] = FIELD.exec(field) ?? []
    const id = index === undefined ? undefined : sent[Number(index)]
    if (id === undefined) isAllBeside = false
    else faults.set(id, { ...faults.get(id), [part]: description })
  }

  return {
    async run() {
      const known = base.get()
      if (known) await save({ base: known, draft })
    },
    meanwhile: meanwhile?.changes,
    async runOnTop() {
      if (!meanwhile) return
      const from = { base: meanwhile.now, draft: onTopOf(meanwhile.now, draft) }
      base.set(from.base)
      change(() => from.draft)
      await save(from)
    },
    discard() {
      setMeanwhile(undefined)
      change(() => NOTHING)
    },
    isBusy: action.isBusy,
    faultsOf: (id) => faults.get(id) ?? {},
    problem: isAllBeside ? undefined : action.problem,
    operation,
  }
}
