/** React Router as a framework: a server, or a single-page app. */
import { posix } from 'node:path'
import { Problem } from '../../../contract/index.ts'
import type { Project } from '../project/project.ts'
import { buildCommand, installedCommand } from '../project/scripts.ts'
import { type ConfigFile, readConfigFile } from './config.ts'
import { basePathOf, type Choice, type Framework, filesIn, namesWith, rangeOf } from './framework.ts'
import { customStart, serve, serveByScript } from './serve.ts'

export const reactRouter: Framework = {
  name: 'react-router',
  reads: namesWith('react-router.config', ['ts', 'js', 'mts', 'mjs']),

  choose(project) {
    const version = rangeOf(project, '@react-router/dev')
    if (version === undefined) return undefined
    const config = readConfigFile(project, reactRouter.reads, 'react-router build')
    const { output, because } = outputOf(project, config, '', '@react-router/serve')
    return {
      version,
      because: ['package.json depends on @react-router/dev', ...config.because, ...because],
      build: buildCommand(project) ?? installedCommand(project, 'react-router', 'build'),
      output,
      caches: { compile: ['node_modules/.vite', 'node_modules/.cache'], data: [] },
    }
  },
}

/** Also for Remix, whose settings are among the plugins of Vite. */
export function outputOf(
  project: Project,
  config: ConfigFile,
  prefix: string,
  server: '@react-router/serve' | '@remix-run/serve',
): Pick<Choice, 'output' | 'because'> {
  const folder = config.folder(`${prefix}buildDirectory`) ?? 'build'
  if (config.boolean(`${prefix}ssr`) === false) {
    const basePath = basePathOf(config.string(`${prefix}basename`) ?? '')
    return {
      output: filesIn(posix.join(folder, 'client'), { singlePage: !hasPrerenderedHome(config, prefix), basePath }),
      because: [],
    }
  }
  const entry = posix.join(folder, 'server', config.string(`${prefix}serverBuildFile`) ?? 'index.js')
  return serveBy(project, server, `./${entry}`, posix.join(folder, 'client'))
}

/** By the framework's server, where it is installed. */
export function serveBy(
  project: Project,
  server: '@react-router/serve' | '@remix-run/serve',
  entry: string,
  client?: string,
): Pick<Choice, 'output' | 'because'> {
  const files = client === undefined ? {} : { client }
  const command = server === '@react-router/serve' ? 'react-router-serve' : 'remix-serve'
  if (rangeOf(project, server) !== undefined)
    return serve(project, {
      folder: '.',
      start: installedCommand(project, command, entry),
      isWritten: new RegExp(`^${command} ${RegExp.escape(entry)}$`),
      commands: [command],
      ...files,
    })
  const custom = customStart(project)
  if (custom !== undefined) return serveByScript(project, custom, files)
  throw new Problem(
    'PLAN_FAILED',
    `Nothing starts the app's server. Install ${server}, or start a server of your own by the script start.`,
  )
}

/** Then `index.html` is the home page, and wrong for any other path. */
function hasPrerenderedHome({ settings, code }: ConfigFile, prefix: string): boolean {
  if (/\bprerender\s{0,9}\(/.test(code)) return true
  const expression = settings.get(`${prefix}prerender`)
  if (expression === undefined || /^false\b/.test(expression)) return false
  const [, list] = /^\[([^\]]*)\]/.exec(expression) ?? []
  return list === undefined || /['"`]\/['"`]/.test(list)
}
