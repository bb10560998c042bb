/** Nitro, with which Nuxt and SolidStart make their servers: one folder with everything in it, for a host of many. */
import type { ServerOutput, StaticOutput } from '../plan.ts'
import type { Project } from '../project.ts'
import { cannotRun, filesIn } from './framework.ts'
import { customStart, serve, serveByScript } from './serve.ts'

/** Those that make a server for Node, as every host of such has them. */
const SERVERS = [
  'node-server',
  'node-cluster',
  'alwaysdata',
  'cleavr',
  'digital-ocean',
  'flight-control',
  'heroku',
  'koyeb',
  'platform-sh',
  'render-com',
  'zerops',
]
const FILES = ['static', 'github-pages', 'gitlab-pages']

export type Nitro = {
  /** The framework, for messages. */
  name: string
  preset: string | undefined
  folder: string | undefined
  basePath: string
  /** Whether the build leaves files, whatever the preset. */
  isGenerated: boolean
  singlePage: boolean
}

export function nitroOutput(
  project: Project,
  { name, preset, folder = '.output', basePath, isGenerated, singlePage }: Nitro,
): { output: StaticOutput | ServerOutput; because: string[] } {
  const kind = preset?.replaceAll('_', '-') ?? 'node-server'
  if (isGenerated || FILES.includes(kind))
    return { output: filesIn(`${folder}/public`, { basePath, singlePage }), because: [] }
  if (SERVERS.includes(kind))
    return serve(project, { folder, start: { argv: ['node', 'server/index.mjs'] }, isWritten: OWN_START })
  const custom = customStart(project, OWN_START)
  if (custom === undefined)
    throw cannotRun(`${name} builds for ${kind}`, `Set the preset to 'node-server', or to 'static' for files alone.`)
  return serveByScript(project, custom)
}

const OWN_START = /^(?:node (?:\.\/)?\.output\/server\/index\.mjs|(?:nuxt|nuxi|vinxi) start)$/
