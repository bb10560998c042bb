/**
 * Where an environment's files lie in the data folder, outside of the database. Other users may traverse the folders, but not
 * list them: without a sandbox, the user of an app has to reach the files of that app.
 */
import { randomUUID } from 'node:crypto'
import { renameSync } from 'node:fs'
import { chown, mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Environment } from '../apps/index.ts'
import { absent, checkId, isId, removeTree } from '../base/index.ts'
import { removeWorkspace } from '../builds/index.ts'
import { checkTenant } from '../engines/index.ts'

const PASSABLE = 0o711
/** The suffix of folders that are about to be removed. */
const GONE = '.old'

export type User = { uid: number; gid: number } | undefined

export function createFolders(dataDir: string, { canChooseUsers }: { canChooseUsers: boolean }) {
  const ofEnvironment = (id: string) => join(dataDir, 'environments', checkId(id))

  return {
    /** The workspace of one build: the archive is unpacked into it, and it is removed when the build is over. */
    work: (environmentId: string, buildId: string) => join(ofEnvironment(environmentId), 'work', checkId(buildId)),
    /** What an app writes while it runs. */
    run: (environmentId: string, deploymentId: string) =>
      join(ofEnvironment(environmentId), 'run', checkId(deploymentId)),
    /** The key-value store of an app. It belongs to the service, and no app can read the files. */
    values: (environmentId: string) => join(ofEnvironment(environmentId), 'values'),
    /** Files of earlier deployments that are still served. They belong to the service. */
    earlier: (environmentId: string) => join(ofEnvironment(environmentId), 'earlier'),
    /** A picture of what is live. It belongs to the service. */
    screenshot: (environmentId: string) => join(ofEnvironment(environmentId), 'screenshot'),
    runs: (environmentId: string) => join(ofEnvironment(environmentId), 'run'),
    cacheOf: (environmentId: string) => join(ofEnvironment(environmentId), 'cache'),

    /** Environments that have a folder. */
    ids: async (): Promise<string[]> => (await namesIn(join(dataDir, 'environments'))).filter(isId),

    /** If the service can choose users, an environment without one is an error: its code would run as root. */
    userOf({ uid }: Pick<Environment, 'uid'>): User {
      if (!canChooseUsers) return undefined
      if (uid === null) throw new Error('the environment has no user of its own yet')
      return checkTenant({ uid, gid: uid })
    },

    /** Kept between builds. */
    async cache(environment: Environment): Promise<string> {
      const folder = this.cacheOf(environment.id)
      const user = this.userOf(environment)
      // A cache that another user has filled, with or without a sandbox, could not be written.
      const isForeign = user !== undefined && (await ownerOf(folder)) !== user.uid
      if (isForeign) await removeTree(folder)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      if (user) await chown(folder, user.uid, user.gid)
      return folder
    },

    async prepare(environmentId: string) {
      await mkdir(join(ofEnvironment(environmentId), 'work'), { recursive: true, mode: PASSABLE })
      await mkdir(join(ofEnvironment(environmentId), 'run'), { recursive: true, mode: PASSABLE })
    },
    /** Whether the folder exists that an app writes to while it runs. */
    hasRun: async (environmentId: string, deploymentId: string): Promise<boolean> =>
      (await ownerOf(join(ofEnvironment(environmentId), 'run', checkId(deploymentId)))) !== undefined,
    /** Removes what an app wrote, unless it runs. */
    async removeRun(environmentId: string, deploymentId: string, isRunning: (deploymentId: string) => boolean) {
      await removeUnused(this.runs(environmentId), checkId(deploymentId), isRunning)
    },

    /** Removes what apps wrote that have ended unnoticed. Resolves to the number of removed folders. */
    async sweepRuns(environmentId: string, isRunning: (deploymentId: string) => boolean): Promise<number> {
      let count = 0
      for (const name of await namesIn(this.runs(environmentId))) {
        if (await removeUnused(this.runs(environmentId), name, isRunning)) count += 1
      }
      return count
    },

    /** Removes the workspaces of builds that are over, which a dead process left. Resolves to the number of removed ones. */
    async sweepWork(isOver: (buildId: string) => Promise<boolean>): Promise<number> {
      let count = 0
      for (const environmentId of await this.ids()) {
        for (const buildId of (await namesIn(join(ofEnvironment(environmentId), 'work'))).filter(isId)) {
          if (!(await isOver(buildId))) continue
          await removeWorkspace(this.work(environmentId, buildId))
          count += 1
        }
      }
      return count
    },

    async remove(environmentId: string) {
      await removeTree(ofEnvironment(environmentId))
    },
  }
}

export type Folders = ReturnType<typeof createFolders>

/** The check and the rename of a folder happen without a break in between, so that no start finds it half removed. */
async function removeUnused(top: string, name: string, isRunning: (name: string) => boolean): Promise<boolean> {
  if (isRunning(name)) return false
  const gone = name.endsWith(GONE) ? name : `${name}.${randomUUID()}${GONE}`
  if (gone !== name && !isMovedNow(join(top, name), join(top, gone))) return false
  await removeTree(join(top, gone))
  return true
}

/** False if it does not exist any more. */
function isMovedNow(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    absent(error as NodeJS.ErrnoException)
    return false
  }
}

async function ownerOf(folder: string): Promise<number | undefined> {
  return (await stat(folder).catch(absent))?.uid
}

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(absent)) ?? []
}
