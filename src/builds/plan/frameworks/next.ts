/** Next.js: a server of its own, the same as a `standalone` folder, or an `export` of plain files. */
import semver from 'semver'
import type { Command, ServerOutput, StaticOutput } from '../plan.ts'
import type { Project } from '../project/project.ts'
import { wordsAfter } from '../project/script-arguments.ts'
import {
  buildCommand,
  buildScript,
  installedCommand,
  isAlone,
  isDevelopmentServer,
  namedStart,
  plainWords,
  productionText,
  scriptText,
  startCommand,
  startScript,
} from '../project/scripts.ts'
import { readConfigFile } from './config.ts'
import { basePathOf, type Framework, filesIn, folderInside, namesWith, rangeOf } from './framework.ts'
import { serverIn } from './serve.ts'

const DIST_FOLDER = '.next'
const EXPORT_FOLDER = 'out'

export const next: Framework = {
  name: 'nextjs',
  reads: namesWith('next.config', ['js', 'mjs', 'ts', 'mts', 'cjs']),

  choose(project) {
    const version = rangeOf(project, 'next')
    if (version === undefined) return undefined
    const config = readSettings(project)
    // An export puts its files into distDir, and still builds in .next.
    const dist = config.output === 'export' ? DIST_FOLDER : (config.distDir ?? DIST_FOLDER)
    return {
      version,
      because: ['package.json depends on next', ...config.because],
      build: buildCommand(project) ?? installedCommand(project, 'next', 'build'),
      output: outputOf(project, config, dist),
      caches: {
        compile: compilersOf(project, version).map((name) => `${dist}/cache/${name}`),
        // Data that the build fetched from the CMS. If kept, the next build would publish old content.
        data: [`${dist}/cache/fetch-cache`, `${dist}/cache/images`],
      },
      environment: { NEXT_TELEMETRY_DISABLED: '1' },
    }
  },
}

/** The cache folders of the bundler that builds the app, without those of the other bundler. */
function compilersOf(project: Project, range: string): string[] {
  const words = wordsAfter(project, 'next build') ?? []
  const has = (...flags: string[]): boolean => flags.some((flag) => words.includes(flag))
  if (has('--turbopack', '--turbo')) return TURBOPACK
  if (has('--webpack')) return WEBPACK
  const isWithin = (majors: string) => semver.validRange(range) !== null && semver.subset(range, majors)
  if (isWithin('>=16.0.0-0')) return TURBOPACK
  return isWithin('<16.0.0-0') ? WEBPACK : [...TURBOPACK, ...WEBPACK]
}

const TURBOPACK = ['turbopack']
const WEBPACK = ['webpack', 'swc']

type Config = {
  output: 'server' | 'standalone' | 'export'
  distDir: string | undefined
  basePath: string
  because: string[]
}

function readSettings(project: Project): Config {
  const { path, settings, because, string } = readConfigFile(project, next.reads, 'next build')
  const expression = settings.get('output') ?? ''
  let output: Config['output'] | undefined = outputIn(expression)
  if (output !== undefined) because.push(`${path} says output: '${output}'`)
  else if (/^[^,;}]*['"`](?:export|standalone)['"`]/.test(expression))
    because.push(`${path} computes output, so the app is taken for a server`)
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

  const distDir = string('distDir')
  return {
    output: output ?? 'server',
    distDir: distDir && folderInside(distDir, path ?? ''),
    basePath: basePathOf(string('basePath') ?? ''),
    because,
  }
}

/** With these settings Next uses another folder as the top, and repeats its path inside of the standalone output. */
const ROOT_SETTINGS = ['outputFileTracingRoot', 'experimental.outputFileTracingRoot', 'turbopack.root']

/** `'export'`, or the value of a condition on production, since a build is always for production. */
const OUTPUT =
  /^(?:process\.env\.NODE_ENV\s*===?\s*['"]production['"]\s*\?\s*)?['"`](export|standalone)['"`](?!\s*[?=&|+.])/

const outputIn = (expression: string): 'standalone' | 'export' | undefined =>
  OUTPUT.exec(expression)?.[1] as 'standalone' | 'export' | undefined

function outputOf(project: Project, config: Config, dist: string): StaticOutput | ServerOutput {
  if (config.output === 'export') return filesIn(config.distDir ?? EXPORT_FOLDER, { basePath: config.basePath })
  const assets = [{ folder: `${dist}/static`, address: '/_next/static' }]
  const more = { writable: writableIn(project, dist), environment: COHERENT, assets }
  if (config.output === 'server') return serverIn('.', nextStart(project, startScript(project)), more)
  const folder = `${dist}/standalone`
  // Next does not copy these, since they may be served by a CDN; its server.js serves them when they are there.
  const copies = [
    { from: `${dist}/static`, to: `${folder}/${dist}/static` },
    { from: 'public', to: `${folder}/public` },
  ]
  return serverIn(folder, { argv: ['node', 'server.js'] }, { copies, ...more })
}

/** What Next.js revalidates is also purged from the edge's cache: see runtime/hooks. A variable of the app switches it off. */
const COHERENT = { HEADLAND_NEXT_COHERENCE: 'on' }

/**
 * Folders for fetched data, optimised images and pages that are rendered again while the app runs. Missing ones are created;
 * Next.js before 14 takes a folder `server/app` for an app router, and does not start without its manifest.
 */
function writableIn({ files }: Project, dist: string): string[] {
  const has = (folder: string): boolean =>
    [...files].some((path) => path.startsWith(`${folder}/`) || path.startsWith(`src/${folder}/`))
  const rendered = has('pages') && !has('app') ? ['server/pages'] : ['server/app', 'server/pages', 'server/route-cache']
  return ['cache', ...rendered].map((folder) => `${dist}/${folder}`)
}

/** `next start` without npm and without the port of the script: the app gets its port by PORT. */
function nextStart(project: Project, script: string | undefined): Command {
  if (script === undefined || isDevelopmentServer(project, script)) return installedCommand(project, 'next', 'start')
  const text = productionText(project, script)
  const isNext = /^next start(?: |$)/.test(text) && isAlone(project, script)
  const words = isNext ? plainWords(text.replaceAll(ADDRESS, '')) : undefined
  return words === undefined ? startCommand(project, script) : installedCommand(project, ...words)
}

const ADDRESS = / +(?:-p|--port|-H|--hostname)(?: +|=|(?=\d))\S+/g
