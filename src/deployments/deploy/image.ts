/**
 * Outputs in a registry, where the operator has set one: the image of an output is there before it goes live, and an output
 * whose files are not on this machine is got from there.
 */
import { readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import type { Accounts } from '../../accounts/index.ts'
import type { Environment, Environments } from '../../apps/index.ts'
import { absent, type Log } from '../../base/index.ts'
import {
  type Build,
  type Builds,
  binariesOf,
  bytesInWords,
  checkPlan,
  type Outputs,
  type PackageStore,
  type Plan,
  secondsInWords,
  type Toolchain,
  type Toolchains,
} from '../../builds/index.ts'
import { MANIFEST_NAME, rulesIn } from '../../edge/index.ts'
import type { Images, LayerFolder, Publication } from '../../images/index.ts'
import type { Digest, Sql } from '../../storage/index.ts'
import type { Folders } from '../folders.ts'
import type { Deployments } from '../records/deployments.ts'
import { prepareForEdge } from './make.ts'
import type { Progress } from './progress.ts'

type Parts = {
  sql: Sql
  log: Log
  /** Undefined where no registry is set: outputs are on the disk only. */
  images: Pick<Images, 'publish' | 'has' | 'fetch' | 'inScratch'> | undefined
  accounts: Pick<Accounts, 'requireById'>
  environments: Pick<Environments, 'routable' | 'byId'>
  deployments: Pick<Deployments, 'find'>
  builds: Pick<Builds, 'require'>
  outputs: Outputs
  packages: PackageStore
  toolchains: Pick<Toolchains, 'open' | 'own'>
  folders: Pick<Folders, 'userOf'>
}

/** The port that an image listens on, unless it is started with another. */
const PORT = 3000
const NODE = '/headland/lib/node'
/** In the layer of rules. */
const RULES = 'rules.json'
/** Apps read the address to listen on from one of these. */
const EVERYWHERE = { HOST: '0.0.0.0', HOSTNAME: '0.0.0.0', NITRO_HOST: '0.0.0.0' }
/** At the start of the service, which does not wait long for a registry that is away. */
const AT_START = { timeoutMs: 5000 }

type Made = Build & { output: Digest; plan: Plan }

export function createImageSteps(parts: Parts) {
  const { sql, log, images, accounts, environments, deployments, builds, outputs, packages, toolchains, folders } =
    parts

  /** Undefined where the app brings its packages in its own files. */
  const packagesOf = ({ plan, packagesId }: Made): string | undefined =>
    plan.output.kind === 'server' && plan.output.folder === '.' ? (packagesId ?? undefined) : undefined

  async function foldersOf(build: Made): Promise<LayerFolder[]> {
    const writable = writableOf(build.plan)
    const id = packagesOf(build)
    const folder = id === undefined ? undefined : packages.folderOf(id)
    const [files = '', ...below] = await outputs.layersOf(build.output, folder)
    const source = below.find((layer) => layer !== folder)
    return [
      ...(source === undefined ? [] : [{ kind: 'source' as const, folder: source, writable }]),
      ...(folder === undefined
        ? []
        : [{ kind: 'packages' as const, folder, writable, name: `packages ${id} ${JSON.stringify(writable)}` }]),
      { kind: 'files', folder: files, writable },
    ]
  }

  async function publicationOf(environment: Environment, build: Made): Promise<Publication> {
    const { plan } = build
    checkPlan(plan)
    const toolchain = await toolchains.open(build.tools ?? toolchains.own(), { mayStandIn: true })
    const account = await accounts.requireById(sql, environment.accountId)
    return {
      output: build.output,
      account: account.name,
      app: environment.appName,
      base: baseOf(toolchain, plan),
      folders: await foldersOf(build),
      rules: await rulesOf(build),
      config: { title: environment.appName, port: PORT, ...runOf(plan, toolchain) },
    }
  }

  async function rulesOf({ plan, output }: Made): Promise<string | undefined> {
    if (plan.output.kind !== 'static') return undefined
    const rules = await rulesIn(join(outputs.edgeFolderOf(output), MANIFEST_NAME)).catch(absent)
    return rules && JSON.stringify(rules)
  }

  async function isComplete(build: Made): Promise<boolean> {
    const id = packagesOf(build)
    return (await outputs.has(build.output)) && (id === undefined || (await packages.has(id)))
  }

  type Restoring = { signal?: AbortSignal; timeoutMs?: number }

  async function restore(environment: Environment, given: Build, options: Restoring): Promise<void> {
    const build = madeOf(given)
    if (!images || !build || (await isComplete(build)) || !(await images.has(build.output))) return
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

  return {
    /** Resolves when the registry has the image of the build's output. What it did is in the build's log. */
    async publish(environment: Environment, given: Build, progress: Progress): Promise<void> {
      const build = madeOf(given)
      if (!images || !build) return
      const beganAt = performance.now()
      let isToldToWait = false
      const published = await images.publish(await publicationOf(environment, build), {
        signal: progress.signal,
        onWait({ message }) {
          if (!isToldToWait) progress.say(`The registry for images is away, and is asked again: ${message}`)
          isToldToWait = true
        },
      })
      const { reference, isKnown, layers, bytes, sentLayers, sentBytes, leftOut } = published
      const took = secondsInWords(performance.now() - beganAt)
      if (leftOut.length > 0)
        progress.say(`Warning: ${leftOut.length} names are not in the image, as ${JSON.stringify(leftOut[0])}.`)
      progress.say(
        isKnown
          ? `The image is in the registry already: ${reference}`
          : `The image has ${layers} layers, ${bytesInWords(bytes)}; pushed ${sentLayers} of them, ${bytesInWords(sentBytes)}, in ${took}: ${reference}`,
      )
    },

    /** Gets the files of a build's output where they are not on this machine, and the registry has them. */
    restore: (environment: Environment, build: Build, signal: AbortSignal): Promise<void> =>
      restore(environment, build, { signal }),

    /** The same for everything that is live, at the start of the service. A failure is logged. */
    async restoreLive(): Promise<void> {
      if (!images) return
      for (const { id, liveDeployment } of await environments.routable()) {
        const deployment = liveDeployment ? await deployments.find(sql, liveDeployment) : undefined
        const environment = deployment && (await environments.byId(sql, id))
        if (!deployment || !environment) continue
        const path = { accountId: environment.accountId, environmentId: id }
        await builds
          .require(path, deployment.buildId)
          .then((build) => restore(environment, build, AT_START))
          .catch((error) =>
            log.error({ err: error, environment: id }, 'a live output could not be got from the registry'),
          )
      }
    },
  }
}

export type ImageSteps = ReturnType<typeof createImageSteps>

const madeOf = (build: Build): Made | undefined =>
  build.output !== null && build.plan !== null ? (build as Made) : undefined

function writableOf({ output, rootDirectory }: Plan): string[] {
  if (output.kind !== 'server') return []
  const top = output.folder === '.' ? rootDirectory : ''
  return output.writable.map((path) => posix.join(top, path))
}

/** A server that is started by `node` needs no package manager. */
function baseOf({ mounts }: Toolchain, { output }: Plan): Publication['base'] {
  const isNodeEnough = output.kind === 'static' || output.start.argv[0] === 'node'
  const node = mounts.find(({ to }) => to === NODE || to === `${NODE}/bin/node`)
  if (!node) throw new Error('the tools of a build have no Node')
  const tools = isNodeEnough ? [node] : mounts
  return {
    node: node.to === NODE ? join(node.from, 'bin/node') : node.from,
    tools: tools.map(({ from, to }) => ({ from, to })),
  }
}

/** How the image runs: as the app does here, without the variables of the environment, which may be secrets. */
function runOf(plan: Plan, toolchain: Toolchain) {
  const { output, rootDirectory } = plan
  const isWhole = output.kind === 'server' && output.folder === '.'
  return {
    environment: {
      ...(output.kind === 'server' ? output.environment : {}),
      ...toolchain.environment,
      ...EVERYWHERE,
      NODE_ENV: 'production',
      NEXT_TELEMETRY_DISABLED: '1',
      PATH: [...(isWhole ? binariesOf(plan) : []), `${NODE}/bin`, toolchain.path].join(':'),
      HOME: '/tmp',
      PORT: String(PORT),
    },
    workingDirectory: posix.join('/app', isWhole ? rootDirectory : ''),
    command:
      output.kind === 'server' ? output.start.argv : { singlePage: output.singlePage, basePath: output.basePath },
  }
}
