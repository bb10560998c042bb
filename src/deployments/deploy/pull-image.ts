/** Gets outputs from the registry whose files are not on this machine. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Environment, Environments } from '../../apps/index.ts'
import { absent, type Log } from '../../base/index.ts'
import type { Build, Builds, MadeBuild, Outputs, PackageStore } from '../../builds/index.ts'
import { Problem } from '../../contract/index.ts'
import type { Images } from '../../images/index.ts'
import type { Folders } from '../folders.ts'
import type { Deployments } from '../records/deployments.ts'
import { madeOf, packagesOf } from './image-packages.ts'
import { prepareForEdge } from './make.ts'

export type PullParts = {
  log: Log
  /** Undefined where no registry is set: outputs are on the disk only. */
  images: Pick<Images, 'referencesOf' | 'fetch' | 'inScratch'> | undefined
  environments: Pick<Environments, 'routable' | 'uidsOf'>
  deployments: Pick<Deployments, 'buildsOf'>
  builds: Pick<Builds, 'madeOf'>
  outputs: Outputs
  packages: PackageStore
  folders: Pick<Folders, 'userOf'>
  /** Whether what goes live has its files on this machine. Nodes and edges of other machines get them by themselves. */
  needsFiles?: boolean
}

/** In the layer of rules. */
const RULES = 'rules.json'
/** At the start of the service, which does not wait long for a registry that is away. */
const AT_START = { timeoutMs: 5000 }
/** A statement takes a limited number of values. */
const AT_A_TIME = 500

export function createPullImages(parts: PullParts) {
  const { log, images, environments, deployments, builds, outputs, packages, folders, needsFiles = true } = parts

  async function isComplete(build: MadeBuild): Promise<boolean> {
    const id = packagesOf(build)
    return (await outputs.has(build.output)) && (id === undefined || (await packages.has(id)))
  }

  type Restoring = { signal?: AbortSignal; timeoutMs?: number }

  /** The registry should have the image. */
  async function pull(environment: Pick<Environment, 'id' | 'uid'>, build: MadeBuild, options: Restoring) {
    if (!images) return
    const beganAt = performance.now()
    const how = { ...options, user: folders.userOf(environment), time: build.startTime ?? build.createTime }
    let bytes = 0
    if (!(await outputs.has(build.output)))
      await images.inScratch((scratch) =>
        outputs.restore(build.output, async ({ files, source, edge }) => {
          const wanted = [
            { kind: 'files' as const, folder: files },
            { kind: 'source' as const, folder: source },
            { kind: 'rules' as const, folder: join(scratch, 'rules') },
          ]
          bytes += (await images.fetch(build.output, wanted, how)).bytes
          const rules = await readFile(join(scratch, 'rules', RULES), 'utf8').catch(absent)
          // The lists for the edge are made anew: an image has none, since they hold a secret of this machine.
          await prepareForEdge(build.plan, rules === undefined ? undefined : JSON.parse(rules), files, edge)
        }),
      )
    const id = packagesOf(build)
    if (id !== undefined && !(await packages.has(id)))
      await images.inScratch(async (scratch) => {
        const folder = join(scratch, 'packages')
        bytes += (await images.fetch(build.output, [{ kind: 'packages', folder }], how)).bytes
        await packages.restore(folder, id)
      })
    const ms = Math.round(performance.now() - beganAt)
    log.info({ environment: environment.id, build: build.id, bytes, ms }, 'an output was got from the registry')
  }

  /** Gets the files of a build's output where they are not on this machine, and the registry has them. */
  async function restoreHere(environment: Environment, given: Build, signal: AbortSignal): Promise<void> {
    const build = madeOf(given)
    if (!images || !build || (await isComplete(build))) return
    const stored = await images.referencesOf([build.output])
    if (stored.has(build.output)) await pull(environment, build, { signal })
  }

  return {
    /** What is to go live again has its files where they are needed: on this machine, or in the registry. */
    async restore(environment: Environment, given: Build, signal: AbortSignal): Promise<void> {
      const build = madeOf(given)
      if (needsFiles || !images || !build) return restoreHere(environment, given, signal)
      const stored = await images.referencesOf([build.output])
      if (!stored.has(build.output))
        throw new Problem('DEPLOYMENT_NOT_ACTIVATABLE', 'The registry has no image of this deployment any more.')
    },

    restoreHere,

    /** The same for everything that is live, at the start of the service. A failure is logged. */
    async restoreLive(): Promise<void> {
      if (!images) return
      const live = (await environments.routable()).flatMap(({ id, liveDeployment }) =>
        liveDeployment === null ? [] : { id, deployment: liveDeployment },
      )
      for (let from = 0; from < live.length; from += AT_A_TIME) await restoreSome(live.slice(from, from + AT_A_TIME))
    },
  }

  /** A start does not ask the database once for each environment. */
  async function restoreSome(live: readonly { id: string; deployment: string }[]) {
    const buildIds = await deployments.buildsOf(live.map(({ deployment }) => deployment))
    const made = await builds.madeOf([...buildIds.values()])
    const missing: { id: string; build: MadeBuild }[] = []
    for (const { id, deployment } of live) {
      const build = made.get(buildIds.get(deployment) ?? '')
      if (build && !(await isComplete(build))) missing.push({ id, build })
    }
    const stored = await images?.referencesOf(missing.map(({ build }) => build.output))
    const wanted = missing.filter(({ build }) => stored?.has(build.output))
    const uids = await environments.uidsOf(wanted.map(({ id }) => id))
    for (const { id, build } of wanted)
      await pull({ id, uid: uids.get(id) ?? null }, build, AT_START).catch((error) =>
        log.error({ err: error, environment: id }, 'a live output could not be got from the registry'),
      )
  }
}
