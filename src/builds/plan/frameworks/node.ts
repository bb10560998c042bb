/** A plain Node server: a start script, or a file that is a server by its name. */
import type { Command } from '../plan.ts'
import type { Project } from '../project/project.ts'
import {
  buildCommand,
  isDevelopmentServer,
  isPlainNode,
  nodeCommand,
  startCommand,
  startScript,
} from '../project/scripts.ts'
import { type Framework, firstDependencyOf } from './framework.ts'
import { serverIn } from './serve.ts'

const SERVER_LIBRARIES = [
  '@hapi/hapi',
  '@hono/node-server',
  '@nestjs/core',
  'express',
  'fastify',
  'h3',
  'hono',
  'koa',
  'polka',
  'restify',
]

export const node: Framework = {
  name: 'node',
  reads: [],

  choose(project) {
    const build = buildCommand(project)
    const way = byScript(project, build !== undefined) ?? byFile(project, build !== undefined)
    if (way === undefined) return undefined
    return {
      because: [way.because],
      ...(build && { build }),
      output: serverIn('.', way.start),
      ...(build && { caches: { compile: ['node_modules/.cache'], data: [] } }),
    }
  },
}

/** Whether the app has its own server, so that the files of a bundler are only a part of it. */
export function runsServer(project: Project): boolean {
  const library = firstDependencyOf(project, SERVER_LIBRARIES)
  const script = startScript(project)
  return library !== undefined && script !== undefined && isPlainNode(project, script)
}

type Way = { because: string; start: Command }

function byScript(project: Project, isBuilt: boolean): Way | undefined {
  const script = startScript(project)
  if (script === undefined) return undefined
  const start = startCommand(project, script)
  const because = `the script ${script} of package.json`
  if (isPlainNode(project, script)) return { because: `${because} runs node`, start }
  const library = firstDependencyOf(project, SERVER_LIBRARIES)
  if (library !== undefined && !isDevelopmentServer(project, script))
    return { because: `package.json depends on ${library} and has a script ${script}`, start }
  return isBuilt ? undefined : { because: `${because} starts the app, and no script builds it`, start }
}

/** Like npm, which runs `server.js` without a start script. `npm init` always writes a `main`, so its file must exist. */
function byFile(project: Project, isBuilt: boolean): Way | undefined {
  if (project.packageJson === undefined || isBuilt) return undefined
  if (project.files.has('server.js'))
    return { because: 'there is a server.js, and no script starts the app', start: nodeCommand(project, 'server.js') }
  const main = project.packageJson.main?.replace(/^\.\//, '')
  if (main === undefined || !project.files.has(main) || project.files.has('index.html')) return undefined
  return {
    because: `package.json names ${main} as main, and no script starts the app`,
    start: nodeCommand(project, main),
  }
}
