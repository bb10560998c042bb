/** Whether a build will run programs, by the files of its archive: found before it begins, without unpacking. */
import type { Environment } from '../../apps/index.ts'
import type { Archives } from '../../archives/index.ts'
import { type Build, needsPrograms, planSource } from '../../builds/index.ts'
import { Problem } from '../../contract/index.ts'

/** Without any `package.json` in the archive there is no package manager and no script to run. */
const MANIFEST = /(^|\/)package\.json$/

export const createLookAhead =
  ({ archives }: { archives: Pick<Archives, 'look'> }) =>
  ({ rootDirectory, accountId }: Environment, { archive }: Build): Promise<boolean> =>
    archives
      .look(archive.digest, async (inside) => {
        if (!inside.files.some((path) => MANIFEST.test(path))) return false
        return needsPrograms(await planSource(inside, rootDirectory, accountId))
      })
      .catch((error) => !isUnplannable(error))

/** Its build will fail for the same reason, and may do so at once. Other faults may be temporary, so its needs are unknown. */
const isUnplannable = (error: unknown): boolean =>
  error instanceof Problem && error.reason === 'PLAN_FAILED' && error.metadata.what === undefined
