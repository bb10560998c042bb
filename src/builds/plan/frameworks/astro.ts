/** Astro: files, unless an adapter makes a server of it. */
import { posix } from 'node:path'
import type { Adapter, StaticOutput } from '../plan.ts'
import type { Project } from '../project/project.ts'
import { buildCommand, installedCommand, nodeCommand } from '../project/scripts.ts'
import { type ConfigFile, readConfigFile } from './config.ts'
import { aboutAdapter, canReplacePackages, packageIn, standIn } from './foreign.ts'
import {
  basePathOf,
  type Choice,
  cannotRun,
  type Framework,
  filesIn,
  majorIn,
  namesWith,
  rangeOf,
} from './framework.ts'
import { assetsIn, customStart, serve, serveByScript, serverIn } from './serve.ts'

const NODE_ADAPTER = '@astrojs/node'

export const astro: Framework = {
  name: 'astro',
  reads: namesWith('astro.config', ['mjs', 'js', 'ts', 'mts', 'cjs', 'cts']),

  choose(project) {
    const version = rangeOf(project, 'astro')
    if (version === undefined) return undefined
    const config = readConfigFile(project, astro.reads, 'astro build')
    const folder = config.folder('outDir', '--outDir') ?? 'dist'
    const adapter = adapterOf(config)
    // Before version 5 the adapter had no effect unless the output was set to a server.
    const mode = config.string('output')
    const isServer = adapter !== undefined && (majorIn(version) >= 5 || mode === 'server' || mode === 'hybrid')
    const base = basePathOf(config.string('base', '--base') ?? '')
    const given = { project, config, adapter, folder, mode, files: filesIn(folder, { basePath: base }) }
    const { because, ...result } = isServer ? serverOf(given) : filesOf(given)
    return {
      version,
      because: ['package.json depends on astro', ...config.because, ...because],
      build: buildCommand(project) ?? installedCommand(project, 'astro', 'build'),
      ...result,
      // The `data` folders have content and images that were fetched from a CMS.
      caches: { compile: ['node_modules/.vite'], data: ['node_modules/.astro', '.astro'] },
      environment: { ASTRO_TELEMETRY_DISABLED: '1' },
    }
  },
}

/** The package of `adapter`; where it is conditional, the one that can run here. */
function adapterOf({ settings, imports }: ConfigFile): string | undefined {
  const [, name] = /^([\w$]{1,99})\s{0,9}\(/.exec(settings.get('adapter') ?? '') ?? []
  if (name !== undefined) return imports.get(name) ?? name
  if (!settings.has('adapter')) return undefined
  const adapters = [...imports.values()].filter((module) => ADAPTER.test(module))
  return adapters.find((module) => module === NODE_ADAPTER) ?? adapters[0]
}

const ADAPTER = /^@astrojs\/(?:node|vercel|netlify|cloudflare|deno)\b/
const FOREIGN = /^@astrojs\/(?:vercel|netlify|cloudflare|deno)(?:\/|$)/

type Given = {
  project: Project
  config: ConfigFile
  adapter: string | undefined
  folder: string
  mode: string | undefined
  files: StaticOutput
}
type Result = Pick<Choice, 'output' | 'because' | 'adapter'>

const isReplaced = ({ project, adapter = '' }: Given): boolean => FOREIGN.test(adapter) && canReplacePackages(project)

const insteadOf = (adapter: string, files: Adapter['files']): Adapter =>
  standIn('astro', { replaces: packageIn(adapter), by: NODE_ADAPTER, peer: 'astro', files })

/** An adapter for another host would put the files into another folder. */
function filesOf(given: Given): Result {
  const { adapter, files } = given
  if (adapter === undefined || !isReplaced(given)) return { output: files, because: [] }
  const instead = insteadOf(adapter, null)
  return { output: files, because: [aboutAdapter(instead)], adapter: instead }
}

function serverOf(given: Given): Result {
  const { project, config, adapter = '', folder, mode, files } = given
  // Sessions are files, unless the app configures another store.
  const writable = ['node_modules/.astro/sessions']
  const isMiddleware = config.string('adapter.mode') === 'middleware'
  const entry = config.string('build.serverEntry') ?? 'entry.mjs'
  const path = posix.join(config.folder('build.server') ?? posix.join(folder, 'server'), entry)
  const start = nodeCommand(project, path)
  const client = config.folder('build.client') ?? posix.join(folder, 'client')
  const isWritten = new RegExp(`^node (?:\\./)?${RegExp.escape(path)}$`)
  if (adapter === NODE_ADAPTER && !isMiddleware)
    return serve(project, { folder: '.', start, isWritten, writable, client })
  const custom = customStart(project, isWritten)
  if (custom !== undefined) return serveByScript(project, custom, { writable, client })
  if (isReplaced(given)) {
    // Such an app leaves only files, unless one of its pages is rendered on request.
    const instead = insteadOf(adapter, mode === 'server' ? null : { server: path, output: files })
    const output = serverIn('.', start, { writable, ...assetsIn(client) })
    return { output, because: [aboutAdapter(instead)], adapter: instead }
  }
  if (adapter === NODE_ADAPTER)
    throw cannotRun(
      `${config.path} says mode: 'middleware'`,
      `Set the mode of ${NODE_ADAPTER} to 'standalone', or start a server of your own by the script start.`,
    )
  throw cannotRun(
    `Astro builds with ${adapter}`,
    `Install ${NODE_ADAPTER} and use it as the adapter in ${config.path}, or use none for files alone.`,
  )
}
