/**
 * Where an environment's files lie in the data folder, outside of the database. Whoever gets through the data folder may
 * pass, and see nothing on the way: where there is no sandbox, an app's own user has to reach what is its own.
 */
import { chown, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Environment } from '../apps/index.ts'
import { removeWorkplace } from '../builds/index.ts'

const PASSABLE = 0o711

export type User = { uid: number; gid: number } | undefined

export function createFolders(dataDir: string, { canChooseUsers }: { canChooseUsers: boolean }) {
  const ofEnvironment = (id: string) => join(dataDir, 'environments', id)

  return {
    /** One build's work folder: the archive is unpacked into it, and it is gone when the build is over. */
    work: (environmentId: string, buildId: string) => join(ofEnvironment(environmentId), 'work', buildId),
    /** What an app writes while it runs. */
    run: (environmentId: string, deploymentId: string) => join(ofEnvironment(environmentId), 'run', deploymentId),
    runs: (environmentId: string) => join(ofEnvironment(environmentId), 'run'),

    userOf: ({ uid }: Environment): User => (canChooseUsers && uid !== null ? { uid, gid: uid } : undefined),

    /** Kept between builds. */
    async cache(environment: Environment): Promise<string> {
      const folder = join(ofEnvironment(environment.id), 'cache')
      const user = this.userOf(environment)
      // One that another user has filled, with or without a sandbox, could not be written.
      const isForeign = user !== undefined && (await ownerOf(folder)) !== user.uid
      if (isForeign) await rm(folder, { recursive: true, force: true })
      await mkdir(folder, { recursive: true, mode: 0o700 })
      if (user) await chown(folder, user.uid, user.gid)
      return folder
    },

    async prepare(environmentId: string) {
      await mkdir(join(ofEnvironment(environmentId), 'work'), { recursive: true, mode: PASSABLE })
      await mkdir(join(ofEnvironment(environmentId), 'run'), { recursive: true, mode: PASSABLE })
    },
    async removeRun(environmentId: string, deploymentId: string) {
      await rm(this.run(environmentId, deploymentId), { recursive: true, force: true })
    },

    /** Removes work folders that a process left when it died, of builds that are over and will not begin again. */
    async sweepWork(isOver: (buildId: string) => Promise<boolean>) {
      for (const environmentId of await namesIn(join(dataDir, 'environments'))) {
        for (const buildId of await namesIn(join(ofEnvironment(environmentId), 'work'))) {
          const folder = this.work(environmentId, buildId)
          if (await isOver(buildId)) await removeWorkplace(folder)
        }
      }
    },

    async remove(environmentId: string) {
      await rm(ofEnvironment(environmentId), { recursive: true, force: true })
    },
  }
}

export type Folders = ReturnType<typeof createFolders>

async function ownerOf(folder: string): Promise<number | undefined> {
  return (await stat(folder).catch(absent))?.uid
}

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(absent)) ?? []
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
