/** What a build will need, by the files of its archive: looked at before it begins, without unpacking. */
import type { Environment } from '../../apps/index.ts'
import type { Archives } from '../../archives/index.ts'
import { type Build, needsPrograms, planSource } from '../../builds/index.ts'
import { Problem } from '../../contract/index.ts'

/** Without `package.json` there is no package manager and no script to run, wherever the app lies in its archive. */
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

/** Its build will fail of the same, and may do so at once. Any other fault may pass, and what it needs is not known. */
const isUnplannable = (error: unknown): boolean =>
  error instanceof Problem && error.reason === 'PLAN_FAILED' && error.metadata.what === undefined
