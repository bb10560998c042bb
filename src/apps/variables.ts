/** Shell variables: checked as a set, and sealed one by one so that the database never holds a value in the clear. */
import { fieldInvalid, LIMITS, names, Problem, type resources } from '../contract/index.ts'
import type { Vault } from '../storage/index.ts'

type ChangedVariable = resources.ChangedVariable
type ShellVariable = resources.ShellVariable

export type SealedVariable = { key: string; sealed: string }

/** Each value is bound to its environment and key: a sealed value copied to another row does not open. */
const place = (environmentId: string, key: string) => `environments/${environmentId}/variables/${key}`

export function createVariables({ vault }: { vault: Vault }) {
  return {
    /** A variable without a value keeps the sealed one it had. */
    seal(
      environmentId: string,
      given: readonly ChangedVariable[],
      before: readonly SealedVariable[] = [],
    ): SealedVariable[] {
      const known = new Map(before.map(({ key, sealed }) => [key, sealed]))
      const plainOf = ({ key, value }: ChangedVariable) => {
        const sealed = known.get(key)
        return value ?? (sealed === undefined ? '' : vault.open(sealed, place(environmentId, key)))
      }
      check(given, plainOf)
      return given.map(({ key, value }, index) => {
        if (value !== undefined) return { key, sealed: vault.seal(value, place(environmentId, key)) }
        const sealed = known.get(key)
        if (!sealed) throw fieldInvalid(`shellVariables[${index}].value`, `is required: ${key} has no value yet`)
        return { key, sealed }
      })
    },

    open(environmentId: string, variables: readonly SealedVariable[]): ShellVariable[] {
      return variables.map(({ key, sealed }) => ({ key, value: vault.open(sealed, place(environmentId, key)) }))
    },
  }
}

export type Variables = ReturnType<typeof createVariables>

function check(variables: readonly ChangedVariable[], plainOf: (variable: ChangedVariable) => string) {
  if (variables.length > LIMITS.variables) throw tooLarge('shellVariables', LIMITS.variables, 'items')
  const seen = new Set<string>()
  let totalBytes = 0
  for (const [index, variable] of variables.entries()) {
    const { key } = variable
    const field = `shellVariables[${index}]`
    if (names.RESERVED_VARIABLES.includes(key)) {
      throw new Problem('VARIABLE_RESERVED', `${key} is set by the service and cannot be overridden.`, {
        metadata: { key },
        fields: [{ field: `${field}.key`, description: 'is set by the service' }],
      })
    }
    if (seen.has(key)) throw fieldInvalid(`${field}.key`, `${key} is given twice`)
    seen.add(key)
    const bytes = Buffer.byteLength(plainOf(variable))
    if (bytes > LIMITS.variableValueBytes) throw tooLarge(`${field}.value`, LIMITS.variableValueBytes)
    totalBytes += Buffer.byteLength(key) + bytes
  }
  if (totalBytes > LIMITS.variableTotalBytes) throw tooLarge('shellVariables', LIMITS.variableTotalBytes)
}

function tooLarge(field: string, limit: number, unit: 'bytes' | 'items' = 'bytes'): Problem {
  const description = `must not have more than ${limit} ${unit}`
  return new Problem('BODY_TOO_LARGE', `${field} ${description}.`, {
    metadata: { limit: String(limit) },
    fields: [{ field, description }],
  })
}
