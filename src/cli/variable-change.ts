/** A change of an environment's variables. Others keep their values, also those that another request changes meanwhile. */
import { ENVIRONMENT, type Environment, type Operation } from '../client/index.ts'
import type { resources } from '../contract/index.ts'
import { changeWithEtag } from './etag-change.ts'
import type { AtEnvironment } from './project/where.ts'

export type VariableChange = {
  after(before: resources.ChangedVariable[]): resources.ChangedVariable[]
  /** The keys of this change that other requests have changed meanwhile. */
  clash(first: Environment, now: Environment): string[]
}

/** Sets these variables. */
export function setting(given: readonly resources.ChangedVariable[]): VariableChange {
  const keys = [...new Set(given.map(({ key }) => key))]
  return {
    after: (before) => [...new Map([...before, ...given].map((one) => [one.key, one])).values()],
    clash: (first, now) => keys.filter((key) => !isSame(first, now, key)),
  }
}

/** The operation, which ends when the app runs with them. The environment has them before that. */
export function changeVariables(
  { service: { client }, names: path, environment: first }: Pick<AtEnvironment, 'service' | 'names' | 'environment'>,
  { after, clash }: VariableChange,
): Promise<Operation> {
  return changeWithEtag({
    first,
    read: () => client.call(`GET ${ENVIRONMENT}`, { path }),
    clash,
    write({ shellVariables, etag }) {
      // A variable that is sent without a value keeps the one it has.
      const before = shellVariables.map(({ key }): resources.ChangedVariable => ({ key }))
      const body = { shellVariables: after(before), etag }
      return client.call(`PATCH ${ENVIRONMENT}`, { path, body })
    },
  })
}

export const isSame = (first: Environment, now: Environment, key: string): boolean =>
  first.shellVariableEtags[key] === now.shellVariableEtags[key]
