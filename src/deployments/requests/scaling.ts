/** The number of instances, as it is asked for: one object in the database, three fields for callers. */
import { fieldInvalid, resources } from '../../contract/index.ts'

type Given = Partial<resources.Scaling>

/** Undefined where nothing is given. */
export const newScaling = (given: Given): resources.Scaling | undefined =>
  changedScaling(
    resources.DEFAULT_SCALING,
    given,
    resources.SCALING_FIELDS.filter((field) => given[field] !== undefined),
  )

/** Each field of the mask changes only that one; without a value it is the default again. Undefined where the mask has none. */
export function changedScaling(
  before: resources.Scaling,
  given: Given,
  mask: readonly string[],
): resources.Scaling | undefined {
  const fields = resources.SCALING_FIELDS.filter((field) => mask.includes(field))
  if (fields.length === 0) return
  const after = resources.scalingOf(before)
  for (const field of fields) after[field] = given[field] ?? resources.DEFAULT_SCALING[field]
  if (after.minInstances > after.maxInstances) {
    const todo = `set it to ${after.maxInstances} or less, or set maxInstances to ${after.minInstances} or more`
    throw fieldInvalid('minInstances', `must not be above maxInstances, which is ${after.maxInstances}: ${todo}`)
  }
  return after
}
