/** Makes the plan of a build from the files of an app. Pure: no clock, no network, no disk. */
import { Problem } from '../../contract/index.ts'
import { FRAMEWORKS } from './frameworks/index.ts'
import { namedCommandHint } from './frameworks/named-folder.ts'
import { serverIn } from './frameworks/serve.ts'
import { STATIC_FOLDERS } from './frameworks/static.ts'
import { packageManagerOf, planInstall } from './package-managers/index.ts'
import type { Plan } from './plan.ts'
import { chooseNode, DEFAULT_NODE } from './project/node-range.ts'
import type { Project } from './project/project.ts'
import { namedStart, startCommand } from './project/scripts.ts'

export function planBuild(project: Project): Plan {
  for (const framework of FRAMEWORKS) {
    const choice = framework.choose(project)
    if (choice === undefined) continue
    const { version = null, build = null, caches, environment, because, adapter } = choice
    const named = choice.output.kind === 'static' ? namedStart(project) : undefined
    const output = named === undefined ? choice.output : serverIn('.', startCommand(project, named))
    const needsNode = build !== null || output.kind === 'server'
    const { install, because: aboutInstall } = needsNode ? planInstall(project) : { install: null, because: [] }
    const node = needsNode ? chooseNode(project) : DEFAULT_NODE
    return {
      framework: framework.name,
      frameworkVersion: version,
      detectedBy: [
        ...because,
        ...(named === undefined ? [] : [`the script ${named} of package.json serves the app`]),
        ...aboutInstall,
        ...node.because,
      ],
      packageManager: packageManagerOf(project),
      node: node.range,
      ...(node.setBy === undefined ? {} : { nodeSetBy: node.setBy }),
      rootDirectory: project.rootDirectory,
      install,
      build,
      ...(adapter ? { adapter } : {}),
      output,
      caches: caches ?? { compile: [], data: [] },
      environment: { ...environment, ...(needsNode ? project.packages.manager.environment(project.home) : {}) },
    }
  }
  throw nothingRecognised(project)
}

/** Names what was looked for, so that the tenant sees what to add, or that the app is in another folder. */
function nothingRecognised(project: Project): Problem {
  const { packageJson, rootDirectory } = project
  const where = rootDirectory === '' ? 'at the top of the archive' : `in ${rootDirectory}`
  const missing =
    packageJson === undefined
      ? 'a package.json'
      : 'a script build or start in package.json, a file server.js or one that its main names'
  const folders = STATIC_FOLDERS.filter((folder) => folder !== '.').map((folder) => `${folder}/`)
  const message = `The app has nothing that defines how to build or serve it. Looked for and not found ${where}: ${missing}; an index.html, there or in ${folders.join(', ')}.`
  return new Problem('PLAN_FAILED', [message, namedCommandHint(project) ?? [], hintsOf(project)].flat().join(' '))
}

const MAX_HINTS = 5

/** Other folders that may be the app: in a monorepo the workspaces that can be built or started. */
function hintsOf({ files, home, rootDirectory }: Project): string[] {
  const isApp = ({ scripts }: { scripts: Readonly<Record<string, string>> }): boolean =>
    scripts.build !== undefined || scripts.start !== undefined
  const members = home.folder === rootDirectory ? (home.members ?? []) : []
  const apps = members.filter(({ packageJson }) => isApp(packageJson)).map(({ folder }) => folder)
  if (apps.length > 0) return [`Its workspaces are ${listOf(apps)}: set rootDirectory to the one that is the app.`]
  const elsewhere = [...files].filter((path) => /^[^/]+(\/[^/]+)?\/(package\.json|index\.html)$/.test(path))
  return elsewhere.length === 0
    ? []
    : [`There is ${listOf(elsewhere)}: if that is the app, set rootDirectory to its folder.`]
}

const listOf = (names: readonly string[]): string =>
  names.slice(0, MAX_HINTS).join(', ') + (names.length > MAX_HINTS ? ', …' : '')
