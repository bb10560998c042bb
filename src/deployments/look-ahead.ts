/** What a build will need, by the files of its archive: looked at before it begins, without unpacking. */
import type { Environment } from '../apps/index.ts'
import type { Archives } from '../archives/index.ts'
import { type Build, needsPrograms, planSource } from '../builds/index.ts'
import { Problem } from '../contract/index.ts'

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
      .catch((error) => {
        // An app that cannot be planned fails at once, and is told why where builds are told it.
        if (error instanceof Problem) return false
        throw error
      })
