/** The variables of an environment, as they are given and as they are shown. */
import { LIMITS } from '../../limits.ts'
import * as names from '../../names.ts'
import { array, object, optional, type Schema, type Static, string } from '../../schema.ts'
import { variableKind } from '../../variable-kinds.ts'

/** Limits of size and count are not part of the schema: a request that exceeds them gets 413 with the limit. */
const variableValue = string({
  pattern: '^[^\\u0000\\p{Cs}]*$',
  'x-form': 'must be valid Unicode text without a zero byte',
  description: `Value, at most ${LIMITS.variableValueBytes} bytes; that of a secret is never shown again unless \`view=FULL\` is asked for.`,
})

export const shellVariable = object(
  { key: names.variableKey, kind: optional(variableKind), value: variableValue },
  { title: 'ShellVariable' },
)
export type ShellVariable = Static<typeof shellVariable>

/** In a change, a variable without a value keeps the value it has: a list that was read can be sent back. */
export const changedVariable = object(
  { key: names.variableKey, kind: optional(variableKind), value: optional(variableValue) },
  {
    title: 'ChangedShellVariable',
    description:
      'Without a value, the variable keeps the one it has, and so with the kind. A secret becomes PLAIN only together with its value.',
  },
)
export type ChangedVariable = Static<typeof changedVariable>

export const shownVariable = object(
  {
    key: names.variableKey,
    kind: variableKind,
    value: optional(
      string({ description: 'That of a secret only with `view=FULL`. The response of an operation has none.' }),
    ),
  },
  { title: 'ShownShellVariable' },
)
export type ShownVariable = Static<typeof shownVariable>

/** All variables of an environment. */
export const variableList = <S extends Schema>(of: S) => array(of, { description: `At most ${LIMITS.variables}.` })
