/** Anything else with a script that builds it: a server if a script starts one, and otherwise files. */
import { buildCommand, buildScript, isDevelopmentServer, startCommand, startScript } from '../scripts.ts'
import { type Framework, firstDependencyOf } from './framework.ts'
import { BUILT_FOLDERS } from './static.ts'

/** Tools whose output is one page that finds its way by script. */
const SINGLE_PAGE_TOOLS = ['react-scripts', '@vue/cli-service', 'parcel']

export const unknown: Framework = {
  name: 'unknown',
  reads: [],

  choose(project) {
    const build = buildCommand(project)
    if (build === undefined) return undefined
    const caches = { compile: ['node_modules/.cache'], data: [] }
    const because = [`the script ${buildScript(project)} of package.json builds the app`]
    const script = startScript(project)
    if (script !== undefined && !isDevelopmentServer(project, script)) {
      because.push(`the script ${script} of package.json starts it`)
      const start = startCommand(project, script)
      return { because, build, caches, output: { kind: 'server', folder: '.', copies: [], start, writable: [] } }
    }
    because.push(
      script === undefined
        ? 'no script starts it, so the build leaves files to serve'
        : `the script ${script} starts a server for development, so the build leaves files to serve`,
    )
    const [folder, ...candidates] = BUILT_FOLDERS
    const singlePage = firstDependencyOf(project, SINGLE_PAGE_TOOLS) !== undefined
    return { because, build, caches, output: { kind: 'static', folder, candidates, singlePage, basePath: '' } }
  },
}
