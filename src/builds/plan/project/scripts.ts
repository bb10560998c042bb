/** Which script of package.json builds the app, which one starts it, and how to run that one. */
import type { Command } from '../plan.ts'
import type { Project } from './project.ts'

/** Scripts for a hosting service, which take precedence over the framework; the second names are those of another service. */
const NAMED_BUILDS = ['headland-build', 'wpe-build']
const NAMED_STARTS = ['headland-start', 'wpe-start']

/** Only the beginning of a very long script is read. */
const SCRIPT_LENGTH = 2_000

/**
 * Many starters map `start` to a development server, which works but is slow, large and not meant to be public. Found
 * anywhere in a script, so that `cross-env PORT=1 webpack serve` is recognized too.
 */
const DEVELOPMENT_SERVER = new RegExp(
  `(?:^|[\\s/])(?:${[
    'react-scripts start',
    'vue-cli-service serve',
    '(?:astro|gatsby|next|nuxi|nuxt|remix|vinxi|vitepress|vuepress|react-router) dev(?:elop)?',
    'remix vite:dev',
    '(?:astro|nuxi|nuxt|vitepress) preview',
    'gatsby (?:serve|start)',
    'docusaurus (?:start|serve)',
    'eleventy .*--(?:serve|watch)',
    'ng s(?:erve)?',
    'parcel(?! build)',
    'vite(?! build)',
    'webpack(?:-dev-server| s(?:erve)?)',
  ].join('|')})(?:\\s|$)`,
)

/** Words without quotes, variables, globs or operators, which can be run without a shell. */
const PLAIN_WORDS = /^[A-Za-z0-9_./=-]+(?: +[A-Za-z0-9_./=-]+)*$/

export const namedBuild = (project: Project): string | undefined => firstOf(project, NAMED_BUILDS)

export const buildScript = (project: Project): string | undefined => firstOf(project, [...NAMED_BUILDS, 'build'])

export const startScript = (project: Project): string | undefined => firstOf(project, [...NAMED_STARTS, 'start'])

/** A start script that is meant for a hosting service. */
export const namedStart = (project: Project): string | undefined => firstOf(project, NAMED_STARTS)

export const scriptText = (project: Project, name: string): string =>
  project.packageJson?.scripts[name]?.trim().slice(0, SCRIPT_LENGTH) ?? ''

export function isDevelopmentServer(project: Project, script: string): boolean {
  return !NAMED_STARTS.includes(script) && DEVELOPMENT_SERVER.test(scriptText(project, script))
}

export const buildCommand = (project: Project): Command | undefined => {
  const script = buildScript(project)
  return script === undefined ? undefined : runScript(project, script)
}

export const runScript = (project: Project, script: string): Command => ({
  argv: project.packages.manager.run(script, false),
})

/** A command of an installed package, found by PATH, or only by Yarn with Plug'n'Play. */
export const installedCommand = (project: Project, ...words: string[]): Command => ({
  argv: project.packages.isPlugAndPlay ? ['yarn', 'run', ...words] : words,
})

/** Node with access to the installed packages. */
export const nodeCommand = (project: Project, ...words: string[]): Command => ({
  argv: project.packages.isPlugAndPlay ? ['yarn', 'node', ...words] : ['node', ...words],
})

/**
 * Without the package manager where the result is the same: npm takes 60 MB of memory for every app, and on SIGTERM it ends
 * without ending the server that it started. This is possible for `node`, and for the given `commands`.
 */
export function startCommand(project: Project, script: string, commands: readonly string[] = []): Command {
  const [first = '', ...rest] = isAlone(project, script) ? (plainWords(productionText(project, script)) ?? []) : []
  if (first === 'node' && rest.length > 0) return nodeCommand(project, ...rest)
  if (commands.includes(first)) return installedCommand(project, first, ...rest)
  return { argv: project.packages.manager.run(script, true) }
}

/** Whether npm would run this script and nothing before or after it. */
export const isAlone = (project: Project, script: string): boolean =>
  scriptText(project, `pre${script}`) === '' && scriptText(project, `post${script}`) === ''

/** Whether a script is a plain call such as `node server.js`. */
export const isPlainNode = (project: Project, script: string): boolean => {
  const [first, second] = plainWords(productionText(project, script)) ?? []
  return first === 'node' && second !== undefined
}

/** Without `NODE_ENV=production`, which many scripts set and every app gets anyway. */
export const productionText = (project: Project, script: string): string =>
  scriptText(project, script).replace(/^(?:cross-env +)?NODE_ENV=production +/, '')

export const plainWords = (text: string): string[] | undefined =>
  PLAIN_WORDS.test(text) ? text.split(/ +/) : undefined

const firstOf = (project: Project, names: readonly string[]): string | undefined =>
  names.find((name) => scriptText(project, name) !== '')
