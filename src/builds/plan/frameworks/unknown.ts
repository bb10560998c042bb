/** Anything else with a script that builds it: a server if a script starts one, and otherwise files. */
import type { Project } from '../project/project.ts'
import {
  buildCommand,
  buildScript,
  isDevelopmentServer,
  scriptText,
  startCommand,
  startScript,
} from '../project/scripts.ts'
import { type Framework, filesIn, firstDependencyOf } from './framework.ts'
import { HOST_FILES, namedFolder } from './named-folder.ts'
import { serverIn } from './serve.ts'
import { BUILT_FOLDERS } from './static.ts'

/** Tools whose output is a single-page app. */
const SINGLE_PAGE_TOOLS = ['react-scripts', '@vue/cli-service', 'parcel']

/** Commands that build every workspace in its own folder, and leave no output in the current one. */
const BUILDS_WORKSPACES =
  /^(?:npx |pnpm |yarn )?(?:turbo|nx|lerna|wsrun)(?: |$)|^pnpm (?:-r|--recursive|--filter)|^yarn workspaces? |--workspaces?(?: |=|$)/

export const unknown: Framework = {
  name: 'unknown',
  reads: HOST_FILES,

  choose(project) {
    const build = buildCommand(project)
    if (build === undefined) return undefined
    const caches = { compile: ['node_modules/.cache'], data: [] }
    const because = [`the script ${buildScript(project)} of package.json builds the app`]
    const script = startScript(project)
    if (script !== undefined && !isDevelopmentServer(project, script)) {
      because.push(`the script ${script} of package.json starts it`)
      return { because, build, caches, output: serverIn('.', startCommand(project, script)) }
    }
    if (buildsWorkspaces(project)) return undefined
    because.push(
      script === undefined
        ? 'no script starts it, so the build leaves files to serve'
        : `the script ${script} starts a server for development, so the build leaves files to serve`,
    )
    const named = namedFolder(project)
    // The top has the sources, and what was installed: it is never published.
    const isNamed = named !== undefined && named.folder !== '.'
    if (isNamed) because.push(named.because)
    const [folder, ...candidates] = isNamed ? [...new Set([named.folder, ...BUILT_FOLDERS])] : BUILT_FOLDERS
    const singlePage = firstDependencyOf(project, SINGLE_PAGE_TOOLS) !== undefined
    return { because, build, caches, output: filesIn(folder, { candidates, singlePage }) }
  },
}

/** Then the app is one of the workspaces, and the tenant must set which. */
function buildsWorkspaces(project: Project): boolean {
  const text = scriptText(project, buildScript(project) ?? '')
  return project.packageJson?.workspaces !== undefined || project.files.has('pnpm-workspace.yaml')
    ? BUILDS_WORKSPACES.test(text) && !/[&|;]/.test(text)
    : false
}
