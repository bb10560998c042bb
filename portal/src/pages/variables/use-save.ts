/** Saves all changes with one request, and knows which row the service means when it says that one is wrong. */
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useAction } from '../../api/data.ts'
import type { Problem } from '../../api/problem.ts'
import type { Environment, Operation } from '../../api/types.ts'
import { type Draft, listOf } from './draft.ts'

export type RowFaults = { key?: string; value?: string }

export type Save = {
  run(): Promise<void>
  isBusy: boolean
  /** What is wrong with a row, by its id. */
  faultsOf(id: string): RowFaults
  /** What does not stand beside a row. */
  problem: Problem | undefined
  /** The one that was asked for last. */
  operation: Operation | undefined
}

const FIELD = /^shellVariables\[(\d+)\](?:\.(key|value))?$/

export function useSave(name: string, draft: Draft, onSaved: () => void): Save {
  const [sent, setSent] = useState<readonly string[]>([])
  const [operation, setOperation] = useState<Operation>()
  const action = useAction(
    async () => {
      // Asked for anew: the list is replaced as a whole, and what others saved a moment ago must stay in it.
      const { shellVariables } = await call<Environment>(`/v1/${name}`)
      const keys = shellVariables.map(({ key }) => key)
      const { variables, ids } = listOf(keys, draft)
      setSent(ids)
      const query = { updateMask: 'shellVariables' }
      return call<Operation>(`/v1/${name}`, { method: 'PATCH', query, body: { shellVariables: variables } })
    },
    { refreshes: [name, `${name}/operations`] },
  )

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
      const asked = await action.run()
      if (!asked) return
      setOperation(asked)
      onSaved()
    },
    isBusy: action.isBusy,
    faultsOf: (id) => faults.get(id) ?? {},
    problem: isAllBeside ? undefined : action.problem,
    operation,
  }
}
