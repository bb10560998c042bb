/**
 * Names of resources, as servers send them: `accounts/…/apps/…`. What is in one becomes parameters of a route, so it is checked,
 * whatever answered.
 */
import type { NewApp } from '../../client/index.ts'
import { noAnswer } from '../connection/failures.ts'

/** What the routes of an environment have in their paths. */
export type EnvironmentNames = Readonly<Record<'account' | 'app' | 'environment', string>>

export const environmentIn = (name: unknown) => namesIn(name, 'account', 'app', 'environment')
export const buildIn = (name: unknown) => namesIn(name, 'account', 'app', 'environment', 'build')

const STEP = '[A-Za-z]{1,40}/[A-Za-z0-9_-]{1,64}'
const RESOURCE = new RegExp(`^${STEP}(?:/${STEP}){0,5}$`)

/** The parameters in a name that has these and no others: `accounts/a/apps/b` has `account` and `app`. */
export function namesIn<Parameter extends string>(name: unknown, ...wanted: Parameter[]): Record<Parameter, string> {
  const steps = typeof name === 'string' && RESOURCE.test(name) ? name.split('/') : []
  const collections = steps.filter((_, index) => index % 2 === 0)
  if (collections.join() !== wanted.map((one) => `${one}s`).join()) {
    const called = typeof name === 'string' ? `'${name}'` : `a ${typeof name}`
    throw noAnswer(`The service calls something by a name that no Headland gives: ${called}.`)
  }
  return Object.fromEntries(wanted.map((one, index) => [one, steps[2 * index + 1]])) as Record<Parameter, string>
}

/** A region by its last part. Which ones there are, the service knows. */
export const regionNamed = (region: string) => `regions/${region}` as NewApp['region']
