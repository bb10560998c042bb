/** SvelteKit: the output depends on the adapter, which svelte.config or, in newer versions, vite.config names. */
import { posix } from 'node:path'
import { Problem } from '../../../contract/index.ts'
import type { Project } from '../project/project.ts'
import { buildCommand, installedCommand, nodeCommand } from '../project/scripts.ts'
import { type ConfigFile, readConfigFile } from './config.ts'
import { aboutAdapter, canReplacePackages, standIn } from './foreign.ts'
import {
  basePathOf,
  type Choice,
  cannotRun,
  configOf,
  type Framework,
  filesIn,
  namesWith,
  rangeOf,
} from './framework.ts'
import { assetsIn, customStart, serve, serveByScript, serverIn } from './serve.ts'

const NODE_ADAPTER = '@sveltejs/adapter-node'
const STATIC_ADAPTER = '@sveltejs/adapter-static'
/** Adapters for other hosts, and the one that chooses among them. */
const FOREIGN = /^@sveltejs\/adapter-(?:auto|vercel|netlify|cloudflare|cloudflare-workers)$/
const OWN_CONFIGS = namesWith('svelte.config', ['js', 'ts', 'mjs'])
const VITE_CONFIGS = namesWith('vite.config', ['js', 'mjs', 'ts', 'cjs', 'mts', 'cts'])
const FALLBACKS = ['index.html', '200.html']

export const sveltekit: Framework = {
  name: 'sveltekit',
  reads: [...OWN_CONFIGS, ...VITE_CONFIGS],

  choose(project) {
    const version = rangeOf(project, '@sveltejs/kit')
    if (version === undefined) return undefined
    const isOwn = /\badapter\b/.test(configOf(project, OWN_CONFIGS)?.text ?? '')
    const config = readConfigFile(project, isOwn ? OWN_CONFIGS : VITE_CONFIGS, 'vite build')
    const prefix = prefixIn(config)
    const adapter = adapterOf(config, prefix)
    const { because, ...result } =
      adapter === NODE_ADAPTER
        ? serverOf(project, config, prefix)
        : adapter === STATIC_ADAPTER
          ? filesOf(config, prefix)
          : foreignOf(project, adapter, config)
    return {
      version,
      because: [
        'package.json depends on @sveltejs/kit',
        ...(adapter ? [`${config.path} uses ${adapter}`] : []),
        ...config.because,
        ...because,
      ],
      build: buildCommand(project) ?? installedCommand(project, 'vite', 'build'),
      ...result,
      caches: { compile: ['.svelte-kit', 'node_modules/.vite', 'node_modules/.vite-temp'], data: [] },
    }
  },
}

/** Where the settings of SvelteKit are: in `kit`, or among the plugins of Vite. */
const prefixIn = ({ settings }: ConfigFile): string =>
  ['kit.', 'plugins.'].find((prefix) => settings.has(`${prefix}adapter`)) ?? ''

/** By the called name, or else an imported adapter. */
function adapterOf({ settings, imports }: ConfigFile, prefix: string): string | undefined {
  const [, name = ''] = /^([\w$]{1,99})\s{0,9}\(/.exec(settings.get(`${prefix}adapter`) ?? '') ?? []
  const adapters = [...imports.values()].filter((module) => /adapter/.test(module))
  return imports.get(name) ?? adapters.find((module) => module === NODE_ADAPTER) ?? adapters[0]
}

type Result = Pick<Choice, 'output' | 'because' | 'adapter'>

/** From these headers the server knows its own address, which it needs to accept forms, and the address of a visitor. */
const HEADERS = {
  PROTOCOL_HEADER: 'x-forwarded-proto',
  HOST_HEADER: 'x-forwarded-host',
  ADDRESS_HEADER: 'x-forwarded-for',
}

function serverOf(project: Project, config: ConfigFile, prefix: string): Result {
  const folder = config.folder(`${prefix}adapter.out`) ?? 'build'
  const variables = config.string(`${prefix}adapter.envPrefix`) ?? ''
  const written = `${RegExp.escape(folder)}/?(?:index\\.js)?`
  const isWritten = new RegExp(`^node (?:\\./)?${written}$`)
  if (variables !== '' && customStart(project, isWritten) === undefined)
    throw new Problem(
      'PLAN_FAILED',
      `${config.path} says envPrefix: '${variables}', so the app would not listen on the port that PORT names. Leave it out.`,
    )
  return serve(project, {
    folder: '.',
    start: nodeCommand(project, folder),
    isWritten,
    environment: HEADERS,
    client: posix.join(folder, 'client'),
  })
}

function filesOf(config: ConfigFile, prefix: string): Result {
  const folder = config.folder(`${prefix}adapter.pages`) ?? 'build'
  const fallback = config.string(`${prefix}adapter.fallback`)
  const singlePage = fallback !== undefined && FALLBACKS.includes(posix.normalize(fallback))
  const isOdd = fallback !== undefined && !singlePage && fallback !== '404.html'
  return {
    output: filesIn(folder, { singlePage, basePath: basePathOf(config.string(`${prefix}paths.base`) ?? '') }),
    because: isOdd ? [`a fallback page is only found under the names ${FALLBACKS.join(', ')}, 404.html`] : [],
  }
}

/** An adapter for another host is replaced. The output of any other may have a server that a script starts. */
function foreignOf(project: Project, adapter: string | undefined, config: ConfigFile): Result {
  const custom = customStart(project)
  const isForeign = adapter === undefined || adapter.startsWith('@sveltejs/')
  if (custom !== undefined && (!isForeign || custom !== 'start')) return serveByScript(project, custom)
  if (adapter !== undefined && FOREIGN.test(adapter) && canReplacePackages(project)) {
    const instead = standIn('sveltekit', { replaces: adapter, by: NODE_ADAPTER, peer: '@sveltejs/kit' })
    const output = serverIn('.', nodeCommand(project, 'build'), { environment: HEADERS, ...assetsIn('build/client') })
    return { output, because: [aboutAdapter(instead)], adapter: instead }
  }
  const what = adapter === undefined ? 'SvelteKit builds without an adapter' : `SvelteKit builds with ${adapter}`
  throw cannotRun(
    what,
    `Install ${NODE_ADAPTER} for a server, or ${STATIC_ADAPTER} for files alone, and use it in ${config.path ?? 'vite.config.js'}.`,
  )
}
