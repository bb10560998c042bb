/**
 * The folders in which git works: each is made for one request, seen by the jobs of that request alone, and removed with it. Its
 * jobs run as a user that no other folder has, drawn from the upper half of the range of tenants; environments get their users
 * from the lower end of the range, one by one.
 */
import { randomInt } from 'node:crypto'
import { chmod, chown, mkdir, mkdtemp, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { absent, checkTenantUid, removeTree, TENANT_UIDS } from '../base/index.ts'
import type { Job } from '../engines/index.ts'

export type GitFolder = {
  /** The folder on this machine. Jobs see it as `/git`, and may write to it. */
  path: string
  /** The bare repository in it, which jobs see as `/git/repo.git`. */
  repository: string
  user: Job['user']
  remove(): Promise<void>
}

/** Where jobs see the folder, and the repository. */
export const INSIDE = { folder: '/git', repository: '/git/repo.git' } as const

/** Longer than any request. */
const ABANDONED_AFTER_MS = 6 * 60 * 60_000
const FIRST_UID = TENANT_UIDS.max / 2

type Parts = { folder: string; canChooseUsers: boolean }

export function createWorkFolders({ folder, canChooseUsers }: Parts) {
  return {
    /** With an empty repository. */
    async make(): Promise<GitFolder> {
      await mkdir(folder, { recursive: true, mode: 0o711 })
      const path = await mkdtemp(join(folder, 'work-'))
      const uid = canChooseUsers ? checkTenantUid(randomInt(FIRST_UID, TENANT_UIDS.max)) : undefined
      const user = uid === undefined ? undefined : { uid, gid: uid }
      const made = { path, repository: join(path, 'repo.git'), user, remove: () => removeTree(path) }
      try {
        await fill(made)
      } catch (error) {
        await made.remove()
        throw error
      }
      return made
    },

    /** Removes what a process left that died. */
    async sweep() {
      for (const name of (await readdir(folder).catch(absent)) ?? []) {
        const found = await stat(join(folder, name)).catch(absent)
        if (found && Date.now() - found.mtimeMs > ABANDONED_AFTER_MS) await removeTree(join(folder, name))
      }
    },
  }
}

export type WorkFolders = ReturnType<typeof createWorkFolders>

/**
 * What `git init --bare` would make, without a template. The attributes win over those in a tree: all of a tree is deployed, as
 * it is, whatever it says of archives.
 */
const FILES = {
  HEAD: 'ref: refs/heads/main\n',
  config: '[core]\n\trepositoryformatversion = 0\n\tbare = true\n',
  'info/attributes': '* -export-ignore -export-subst -ident\n',
} as const

async function fill({ path, repository, user }: GitFolder) {
  const own = async (at: string) => user && chown(at, user.uid, user.gid)
  await chmod(path, 0o700)
  for (const part of ['', 'info', 'objects', 'objects/info', 'objects/pack', 'refs', 'refs/heads', 'refs/tags']) {
    await mkdir(join(repository, part), { mode: 0o700 })
    await own(join(repository, part))
  }
  for (const [name, text] of Object.entries(FILES)) {
    await writeFile(join(repository, name), text, { mode: 0o600 })
    await own(join(repository, name))
  }
  await own(path)
}
