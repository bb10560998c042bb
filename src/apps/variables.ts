/**
 * Shell variables: checked as a set, and sealed one by one, secret or not, so that the database never contains a plain
 * value. So a variable can change its kind and keep its sealed value.
 */
import {
  fieldInvalid,
  kindByName,
  LIMITS,
  names,
  Problem,
  type resources,
  type VariableKind,
} from '../contract/index.ts'
import type { Vault } from '../storage/index.ts'

type ChangedVariable = resources.ChangedVariable

/**
 * Lists of them are compared as JSON, so the order of the fields matters: `kind` is first, as migration 15 writes it.
 */
export type SealedVariable = { kind: VariableKind; key: string; sealed: string }
export type OpenVariable = { key: string; kind: VariableKind; value: string }

/** Each value is bound to its environment and key: a sealed value copied to another row does not open. */
const place = (environmentId: string, key: string) => `environments/${environmentId}/variables/${key}`

export function createVariables({ vault }: { vault: Vault }) {
  const openOne = (environmentId: string, { kind, key, sealed }: SealedVariable): OpenVariable => ({
    key,
    kind,
    value: vault.open(sealed, place(environmentId, key)),
  })

  return {
    /**
     * A variable without a value keeps its sealed one, and so does one with the same value: a list that was read can be
     * sent back and changes nothing. One without a kind keeps its kind; for a new variable, the name decides.
     */
    seal(
      environmentId: string,
      given: readonly ChangedVariable[],
      before: readonly SealedVariable[] = [],
    ): SealedVariable[] {
      const wanted = new Set(given.map(({ key }) => key))
      const kept = before.filter(({ key }) => wanted.has(key))
      const known = new Map(
        kept.map((variable) => [variable.key, { ...variable, ...openOne(environmentId, variable) }]),
      )
      check(given, ({ key, value }) => value ?? known.get(key)?.value ?? '')
      return given.map(({ key, kind: givenKind, value }, index) => {
        const had = known.get(key)
        const kind = givenKind ?? had?.kind ?? kindByName(key)
        const field = `shellVariables[${index}].value`
        if (value === undefined && !had) throw fieldInvalid(field, `is required: ${key} has no value yet`)
        // A plain value is shown to every member of the account: only a caller who knows the secret may make it plain.
        if (value === undefined && had?.kind === 'SECRET' && kind === 'PLAIN') {
          throw fieldInvalid(field, `is required: ${key} is a secret, and becomes PLAIN only together with its value`)
        }
        const isKept = had && (value === undefined || value === had.value)
        return { kind, key, sealed: isKept ? had.sealed : vault.seal(value ?? '', place(environmentId, key)) }
      })
    },

    open(environmentId: string, variables: readonly SealedVariable[]): OpenVariable[] {
      return variables.map((variable) => openOne(environmentId, variable))
    },

    /** As callers see them: BASIC leaves out the values of secrets. */
    shown(
      environmentId: string,
      variables: readonly SealedVariable[],
      view: 'BASIC' | 'FULL',
    ): resources.ShownVariable[] {
      return variables.map((variable) => {
        const { key, kind } = variable
        return view === 'FULL' || kind === 'PLAIN' ? openOne(environmentId, variable) : { key, kind }
      })
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
