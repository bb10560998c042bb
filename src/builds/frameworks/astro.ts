/** Astro: files, unless an adapter makes a server of it. */
import { posix } from 'node:path'
import type { Project } from '../project.ts'
import { buildCommand, installedCommand, nodeCommand } from '../scripts.ts'
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
import { readSaid, type Said } from './said.ts'
import { customStart, serve, serveByScript } from './serve.ts'

const NODE_ADAPTER = '@astrojs/node'

export const astro: Framework = {
  name: 'astro',
  reads: namesWith('astro.config', ['mjs', 'js', 'ts', 'mts', 'cjs', 'cts']),

  choose(project) {
    const version = rangeOf(project, 'astro')
    if (version === undefined) return undefined
    const said = readSaid(project, astro.reads, 'astro build')
    const folder = said.folder('outDir', '--outDir') ?? 'dist'
    const adapter = adapterOf(said)
    // Until version 5 the adapter did nothing for an output that was not said to be a server.
    const mode = said.string('output')
    const isServer = adapter !== undefined && (majorIn(version) >= 5 || mode === 'server' || mode === 'hybrid')
    const { output, because } = isServer
      ? serverOf(project, said, adapter, folder)
      : { output: filesIn(folder, { basePath: basePathOf(said.string('base', '--base') ?? '') }), because: [] }
    return {
      version,
      because: ['package.json depends on astro', ...said.because, ...because],
      build: buildCommand(project) ?? installedCommand(project, 'astro', 'build'),
      output,
      // The content of a CMS and its images are fetched into the folders of the second kind.
      caches: { compile: ['node_modules/.vite'], data: ['node_modules/.astro', '.astro'] },
      environment: { ASTRO_TELEMETRY_DISABLED: '1' },
    }
  },
}

/** The package that `adapter` is called from; under a condition, the one that can run here. */
function adapterOf({ settings, imports }: Said): string | undefined {
  const [, name] = /^([\w$]{1,99})\s{0,9}\(/.exec(settings.get('adapter') ?? '') ?? []
  if (name !== undefined) return imports.get(name) ?? name
  if (!settings.has('adapter')) return undefined
  const adapters = [...imports.values()].filter((module) => ADAPTER.test(module))
  return adapters.find((module) => module === NODE_ADAPTER) ?? adapters[0]
}

const ADAPTER = /^@astrojs\/(?:node|vercel|netlify|cloudflare|deno)\b/

function serverOf(project: Project, said: Said, adapter: string, folder: string): Pick<Choice, 'output' | 'because'> {
  // Sessions are files, unless the app says otherwise.
  const writable = ['node_modules/.astro/sessions']
  const mode = said.string('adapter.mode')
  if (adapter === NODE_ADAPTER && mode !== 'middleware') {
    const entry = said.string('build.serverEntry') ?? 'entry.mjs'
    const path = posix.join(said.folder('build.server') ?? posix.join(folder, 'server'), entry)
    return serve(project, {
      folder: '.',
      start: nodeCommand(project, path),
      isWritten: new RegExp(`^node (?:\\./)?${RegExp.escape(path)}$`),
      writable,
    })
  }
  const custom = customStart(project)
  if (custom !== undefined) return serveByScript(project, custom, { writable })
  if (adapter === NODE_ADAPTER)
    throw cannotRun(
      `${said.path} says mode: 'middleware'`,
      `Set the mode of ${NODE_ADAPTER} to 'standalone', or start a server of your own by the script start.`,
    )
  throw cannotRun(
    `Astro builds with ${adapter}`,
    `Install ${NODE_ADAPTER} and use it as the adapter in ${said.path}, or use none for files alone.`,
  )
}
