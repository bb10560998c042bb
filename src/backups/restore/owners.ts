/**
 * The owners of restored files. The owners in a backup are ignored: files of the service belong to the owner of the
 * data folder, and files of an app to the user of its environment, by rows that were checked.
 */
import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { absent, checkTenantUid } from '../../base/index.ts'
import { checkDigest, type Reader, statement } from '../../storage/index.ts'

/** The user of each output, by its path in the data folder. */
export async function readOwners(reader: Reader): Promise<Map<string, number>> {
  const rows = await reader.query<{ output_digest: string; uid: number }>(statement`
    SELECT DISTINCT b.output_digest, e.uid FROM builds b JOIN environments e ON e.id = b.environment_id
    WHERE b.output_digest IS NOT NULL AND e.uid IS NOT NULL`)
  return new Map(
    rows.map(({ output_digest, uid }) => {
      checkDigest(output_digest)
      return [`outputs/${output_digest.slice('sha256:'.length)}`, checkTenantUid(uid)]
    }),
  )
}

/** Only root can choose users for apps; any other user runs all of them as itself. */
export async function giveToOwners(folder: string, dataDir: string, owners: ReadonlyMap<string, number>) {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await stat(dataDir)
  if (uid !== 0) return chown(uid, gid, [folder])
  for (const [output, user] of owners) {
    const parts = ['files', 'source'].map((part) => join(folder, output, part))
    const there = await Promise.all(parts.map((path) => stat(path).then(() => path, absent)))
    await chown(
      user,
      user,
      there.filter((path) => path !== undefined),
    )
  }
}

/** Links themselves get the owner, and are never followed. */
async function chown(uid: number, gid: number, paths: readonly string[]) {
  if (paths.length === 0) return
  const args = ['--recursive', '--no-dereference', '-P', `${uid}:${gid}`, '--', ...paths]
  await promisify(execFile)('chown', args, { env: { PATH: '/usr/bin:/bin' } })
}
