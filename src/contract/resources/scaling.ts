/** How many instances of an app run. */
import { integer } from '../schema.ts'

const MAX_INSTANCES = 16
const MAX_REQUESTS = 1000

export type Scaling = { minInstances: number; maxInstances: number; requestsPerInstance: number }

export const DEFAULT_SCALING: Scaling = { minInstances: 0, maxInstances: 1, requestsPerInstance: 10 }

export const SCALING_FIELDS = Object.keys(DEFAULT_SCALING) as (keyof Scaling)[]

export const minInstances = integer({
  minimum: 0,
  maximum: MAX_INSTANCES,
  description:
    'Instances of the app that always run. 0: it sleeps without visitors. Not more than `maxInstances`. 0 unless given.',
})

export const maxInstances = integer({
  minimum: 1,
  maximum: MAX_INSTANCES,
  description: 'Instances of the app that run at most. 1 unless given.',
})

export const requestsPerInstance = integer({
  minimum: 1,
  maximum: MAX_REQUESTS,
  description:
    'Requests in flight at one instance above which another one is started, up to `maxInstances`. 10 unless given.',
})

export const scalingOf = ({ minInstances, maxInstances, requestsPerInstance }: Scaling): Scaling => ({
  minInstances,
  maxInstances,
  requestsPerInstance,
})

/** Throws unless these are settings that a caller could have made: the numbers decide how many processes are started. */
export function checkScaling(value: Scaling): Scaling {
  const { minInstances: min, maxInstances: max, requestsPerInstance: requests } = value
  const isRight =
    isWithin(min, 0, MAX_INSTANCES) && isWithin(max, 1, MAX_INSTANCES) && isWithin(requests, 1, MAX_REQUESTS)
  if (!isRight || min > max) throw new Error('it is not a number of instances')
  return scalingOf(value)
}

const isWithin = (value: unknown, min: number, max: number): boolean =>
  Number.isInteger(value) && (value as number) >= min && (value as number) <= max
