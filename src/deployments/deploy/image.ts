/**
 * Outputs in a registry, where the operator has set one: the image of an output is there before it goes live, and an output
 * whose files are not on this machine is got from there.
 */
import { join, posix } from 'node:path'
import type { Accounts } from '../../accounts/index.ts'
import type { Environment } from '../../apps/index.ts'
import { absent } from '../../base/index.ts'
import {
  type Build,
  binariesOf,
  bytesInWords,
  checkPlan,
  type Plan,
  secondsInWords,
  type Toolchain,
  type Toolchains,
} from '../../builds/index.ts'
import { MANIFEST_NAME, rulesIn } from '../../edge/index.ts'
import type { Images, LayerFolder, Preparation, Prepared, Publication } from '../../images/index.ts'
import { HOOK_FILES } from '../../runtime/index.ts'
import type { Sql } from '../../storage/index.ts'
import { hasPackages, type Made, madeOf, packagesOf } from './image-packages.ts'
import type { Progress } from './progress.ts'
import { createPullImages, type PullParts } from './pull-image.ts'

type Parts = PullParts & {
  sql: Sql
  images: Pick<Images, 'prepare' | 'publish' | 'referencesOf' | 'fetch' | 'inScratch'> | undefined
  accounts: Pick<Accounts, 'requireById'>
  toolchains: Pick<Toolchains, 'open' | 'own'>
  /** Whether apps run from their images, with folders in memory where they may write. */
  hasInitial?: boolean
}

/** The port that an image listens on, unless it is started with another. */
const PORT = 3000
const NODE = '/headland/lib/node'
/** Apps read the address to listen on from one of these. */
const EVERYWHERE = { HOST: '0.0.0.0', HOSTNAME: '0.0.0.0', NITRO_HOST: '0.0.0.0' }

export function createImageSteps(parts: Parts) {
  const { sql, log, images, accounts, outputs, packages, toolchains, hasInitial = false } = parts

  const packagesLayer = (id: string, writable: readonly string[]): LayerFolder => ({
    ...{ kind: 'packages', folder: packages.folderOf(id), writable },
    name: `packages ${id} ${JSON.stringify(writable)}`,
  })

  async function foldersOf(build: Made): Promise<LayerFolder[]> {
    const writable = writableOf(build.plan)
    const id = packagesOf(build)
    const folder = id === undefined ? undefined : packages.folderOf(id)
    const [files = '', ...below] = await outputs.layersOf(build.output, folder)
    const source = below.find((layer) => layer !== folder)
    return [
      ...(source === undefined ? [] : [{ kind: 'source' as const, folder: source, writable }]),
      ...(id === undefined ? [] : [packagesLayer(id, writable)]),
      { kind: 'files', folder: files, writable },
      ...(hasInitial && writable.length > 0 ? [{ kind: 'initial' as const, folder: files, writable }] : []),
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

  /** The image of one build. What is done for it ends with it. */
  function begin(environment: Environment, progress: Progress) {
    const ending = new AbortController()
    const signal = AbortSignal.any([progress.signal, ending.signal])
    const preparing: Promise<Prepared | undefined>[] = []

    /** What fails here is done again by `publish`, which says why it fails and waits for a registry that is away. */
    async function prepareNow(preparation: Omit<Preparation, 'account' | 'app'>): Promise<Prepared | undefined> {
      try {
        const { name: account } = await accounts.requireById(sql, environment.accountId)
        const app = environment.appName
        return await images?.prepare({ ...preparation, account, app }, { signal, timeoutMs: 0 })
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error, environment: environment.id }, 'a layer could not be pushed early')
        return undefined
      }
    }
    function prepare(preparation: Omit<Preparation, 'account' | 'app'>) {
      if (images) preparing.push(prepareNow(preparation))
    }

    return {
      /** Pushes the layer of the runtime beside the build. */
      prepareBase: (toolchain: Toolchain, plan: Plan) => prepare({ base: baseOf(toolchain, plan) }),

      /** Pushes the layer of installed packages beside the build, unless the app brings them in its own files. */
      preparePackages(plan: Plan, id: string) {
        if (hasPackages(plan)) prepare({ folders: [packagesLayer(id, writableOf(plan))] })
      },

      publish: (build: Build): Promise<void> => publish(environment, build, progress, preparing),

      async [Symbol.asyncDispose]() {
        ending.abort()
        await Promise.all(preparing)
      },
    }
  }

  async function publish(
    environment: Environment,
    given: Build,
    progress: Progress,
    preparing: readonly Promise<Prepared | undefined>[],
  ) {
    const build = madeOf(given)
    if (!images || !build) return
    const beganAt = performance.now()
    let isToldToWait = false
    const waiting = {
      signal: progress.signal,
      onWait({ message }: Error) {
        if (!isToldToWait) progress.say(`The registry for images is away, and is asked again: ${message}`)
        isToldToWait = true
      },
    }
    const ready = (await Promise.all(preparing)).filter((one) => one !== undefined)
    const published = await images.publish(await publicationOf(environment, build), waiting, ready)
    const { reference, isKnown, layers, bytes, sentLayers, sentBytes, leftOut } = published
    const took = secondsInWords(performance.now() - beganAt)
    if (leftOut.length > 0)
      progress.say(`Warning: ${leftOut.length} names are not in the image, as ${JSON.stringify(leftOut[0])}.`)
    progress.say(
      isKnown
        ? `The image is in the registry already: ${reference}`
        : `The image has ${layers} layers, ${bytesInWords(bytes)}; pushed ${sentLayers} of them, ${bytesInWords(sentBytes)}. It took ${took} after the build: ${reference}`,
    )
  }

  return {
    /** `publish` resolves when the registry has the image of the build's output. What it did is in the build's log. */
    begin,

    ...createPullImages(parts),
  }
}

export type ImageSteps = ReturnType<typeof createImageSteps>

function writableOf({ output, rootDirectory }: Plan): string[] {
  if (output.kind !== 'server') return []
  const top = output.folder === '.' ? rootDirectory : ''
  return output.writable.map((path) => posix.join(top, path))
}

/**
 * A server that is started by `node` needs no package manager. Its image has the files of the service that its app may load:
 * which ones is for the environment to say.
 */
function baseOf({ mounts }: Toolchain, { output }: Plan): Publication['base'] {
  const isNodeEnough = output.kind === 'static' || output.start.argv[0] === 'node'
  const node = mounts.find(({ to }) => to === NODE || to === `${NODE}/bin/node`)
  if (!node) throw new Error('the tools of a build have no Node')
  const hooks = output.kind === 'server' ? [HOOK_FILES] : []
  const tools = [...(isNodeEnough ? [node] : mounts), ...hooks]
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
