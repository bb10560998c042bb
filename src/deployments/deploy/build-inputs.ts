/**
 * What a build sees beside its archive: variables, the linked CMS, the folder of the app. It is recorded with the build, by name
 * and as keyed digests, so that a later comparison can say what differs, and no reader can guess a value. The ids of
 * the environment and of the build are left out: they always differ, and an app that was promoted runs with those of its
 * own environment.
 */
import { createHmac } from 'node:crypto'
import { allVariables, type Environment } from '../../apps/index.ts'
import type { BuildInputs } from '../../builds/index.ts'
import { names } from '../../contract/index.ts'
import type { GetAppVariables } from './app-variables.ts'

/** With a dot, which no variable has in its name. */
const ROOT_DIRECTORY = 'environment.rootDirectory'
const OWN = ['HEADLESS_METADATA_BUILD_ID', 'HEADLESS_METADATA_ENV_ID', 'HEADLESS_METADATA_ENV_BRANCH']

/** 128 bits. */
const DIGEST_LENGTH = 22

type Parts = {
  appVariables: GetAppVariables
  /** A secret of the service, another one for each account. */
  keyOf(accountId: string): string
}

export function createBuildInputs({ appVariables, keyOf }: Parts) {
  return async function buildInputs(environment: Environment): Promise<BuildInputs> {
    const { own, metadata } = await appVariables(environment, allVariables(environment), names.NO_BUILD, 'build')
    const seen = { ...own, ...metadata, [ROOT_DIRECTORY]: environment.rootDirectory }
    const key = keyOf(environment.accountId)
    const digestOf = (name: string, value: string) =>
      createHmac('sha256', key).update(`${name}\0${value}`).digest('base64url').slice(0, DIGEST_LENGTH)
    return Object.fromEntries(
      Object.entries(seen)
        .filter(([name]) => !OWN.includes(name))
        .map(([name, value]) => [name, digestOf(name, value)]),
    )
  }
}

export type GetBuildInputs = ReturnType<typeof createBuildInputs>

/** The names of what differs, in alphabetical order. */
export const differing = (one: BuildInputs, other: BuildInputs): string[] =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => one[name] !== other[name]).toSorted()
