/** Next.js: a server of its own, the same as a `standalone` folder, or an `export` of plain files. */
import { settingsIn, stringIn } from '../config-text.ts'
import type { Command, ServerOutput, StaticOutput } from '../plan.ts'
import type { Project } from '../project.ts'
import {
  buildCommand,
  buildScript,
  isAlone,
  isDevelopmentServer,
  namedStart,
  plainWords,
  productionText,
  scriptText,
  startCommand,
  startScript,
} from '../scripts.ts'
import { basePathOf, configOf, type Framework, folderInside, rangeOf } from './framework.ts'

const DIST_FOLDER = '.next'
const EXPORT_FOLDER = 'out'
const BINARY = 'node_modules/.bin/next'

export const next: Framework = {
  name: 'nextjs',
  reads: ['next.config.js', 'next.config.mjs', 'next.config.ts', 'next.config.mts', 'next.config.cjs'],

  choose(project) {
    const version = rangeOf(project, 'next')
    if (version === undefined) return undefined
    const config = readConfig(project)
    // An export takes distDir as the place for its files, and works in .next as always.
    const dist = config.output === 'export' ? DIST_FOLDER : (config.distDir ?? DIST_FOLDER)
    return {
      version,
      because: ['package.json depends on next', ...config.because],
      build: buildCommand(project) ?? { argv: [BINARY, 'build'] },
      output: outputOf(project, config, dist),
      caches: {
        compile: [`${dist}/cache/turbopack`, `${dist}/cache/webpack`, `${dist}/cache/swc`],
        // What the build fetched from the CMS. Kept, it would publish the old content again.
        data: [`${dist}/cache/fetch-cache`, `${dist}/cache/images`],
      },
      environment: { NEXT_TELEMETRY_DISABLED: '1' },
    }
  },
}

type Config = {
  output: 'server' | 'standalone' | 'export'
  distDir: string | undefined
  basePath: string
  because: string[]
}

function readConfig(project: Project): Config {
  const file = configOf(project, next.reads)
  const settings = settingsIn(file?.text ?? '')
  const because: string[] = []
  const say = (name: string, value: string | undefined): string | undefined => {
    if (value !== undefined) because.push(`${file?.path} says ${name}: '${value}'`)
    return value
  }

  const expression = settings.get('output') ?? ''
  let output = say('output', outputIn(expression)) as Config['output'] | undefined
  if (output === undefined && /^[^,;}]*['"`](?:export|standalone)['"`]/.test(expression))
    because.push(`${file?.path} computes output, so the app is taken for a server`)
  if (output === undefined && /\bnext export\b/.test(scriptText(project, buildScript(project) ?? ''))) {
    // Before Next 13.3 an export was a second command.
    because.push('the build script runs next export')
    output = 'export'
  }
  if (output === 'standalone' && namedStart(project) !== undefined) output = 'server'
  if (output === 'standalone' && (project.rootDirectory !== '' || ROOT_SETTINGS.some((name) => settings.has(name)))) {
    because.push('where server.js comes to lie depends on folders above the app, so next start serves it')
    output = 'server'
  }

  const distDir = say('distDir', stringIn(settings, 'distDir'))
  const basePath = say('basePath', stringIn(settings, 'basePath'))
  return {
    output: output ?? 'server',
    distDir: distDir && folderInside(distDir, file?.path ?? ''),
    basePath: basePathOf(basePath ?? ''),
    because,
  }
}

/** With these Next takes another folder for the top, and makes the same folders again inside of its standalone output. */
const ROOT_SETTINGS = ['outputFileTracingRoot', 'experimental.outputFileTracingRoot', 'turbopack.root']

/** `'export'`, or what a condition on production comes to, since a build is always one for production. */
const OUTPUT =
  /^(?:process\.env\.NODE_ENV\s*===?\s*['"]production['"]\s*\?\s*)?['"`](export|standalone)['"`](?!\s*[?=&|+.])/

const outputIn = (expression: string): 'standalone' | 'export' | undefined =>
  OUTPUT.exec(expression)?.[1] as 'standalone' | 'export' | undefined

function outputOf(project: Project, config: Config, dist: string): StaticOutput | ServerOutput {
  if (config.output === 'export') {
    const folder = config.distDir ?? EXPORT_FOLDER
    return { kind: 'static', folder, candidates: [], singlePage: false, basePath: config.basePath }
  }
  if (config.output === 'standalone') {
    const folder = `${dist}/standalone`
    return {
      kind: 'server',
      folder,
      // Next leaves these to whoever deploys, thinking of a CDN; its server.js serves them when they are there.
      copies: [
        { from: `${dist}/static`, to: `${folder}/${dist}/static` },
        { from: 'public', to: `${folder}/public` },
      ],
      start: { argv: ['node', 'server.js'] },
      writable: writableIn(dist),
    }
  }
  const start = nextStart(project, startScript(project))
  return { kind: 'server', folder: '.', copies: [], start, writable: writableIn(dist) }
}

/** Fetched data and optimised images, and pages that are rendered again while the app runs. */
const writableIn = (dist: string): string[] =>
  ['cache', 'server/app', 'server/pages', 'server/route-cache'].map((folder) => `${dist}/${folder}`)

/** `next start` without npm, whatever port the script names: the app is told its port by PORT. */
function nextStart(project: Project, script: string | undefined): Command {
  if (script === undefined || isDevelopmentServer(project, script)) return { argv: [BINARY, 'start'] }
  const text = productionText(project, script)
  const isNext = /^next start(?: |$)/.test(text) && isAlone(project, script)
  const words = isNext ? plainWords(text.replaceAll(ADDRESS, '')) : undefined
  return words === undefined ? startCommand(project, script) : { argv: [BINARY, ...words.slice(1)] }
}

const ADDRESS = / +(?:-p|--port|-H|--hostname)(?: +|=|(?=\d))\S+/g
