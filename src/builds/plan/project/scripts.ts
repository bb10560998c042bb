/** Which script of package.json builds the app, which one starts it, and how to run that one. */
import type { Command } from '../plan.ts'
import type { Project } from './project.ts'

/** Made for a host like this one, so they say what is wanted whatever the framework; the second is another host's. */
const NAMED_BUILDS = ['headland-build', 'wpe-build']
const NAMED_STARTS = ['headland-start', 'wpe-start']

/** More of a script is not looked at than a person would write. */
const SCRIPT_LENGTH = 2_000

/**
 * Many starters map `start` to a server for development, which answers but is slow, large and not meant to be public.
 * Found among the words of a script, so that `cross-env PORT=1 webpack serve` is one as well.
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

/** Every word may be handed over as it is: no quotes, variables, globs or operators that a shell would have to read. */
const PLAIN_WORDS = /^[A-Za-z0-9_./=-]+(?: +[A-Za-z0-9_./=-]+)*$/

export const namedBuild = (project: Project): string | undefined => firstOf(project, NAMED_BUILDS)

export const buildScript = (project: Project): string | undefined => firstOf(project, [...NAMED_BUILDS, 'build'])

export const startScript = (project: Project): string | undefined => firstOf(project, [...NAMED_STARTS, 'start'])

/** A start script that somebody wrote for a host, not for a framework. */
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

/** A command that an installed package brings, which is found by PATH, or only by Yarn where packages stay packed. */
export const installedCommand = (project: Project, ...words: string[]): Command => ({
  argv: project.packages.isPlugAndPlay ? ['yarn', 'run', ...words] : words,
})

/** Node with what the app has installed. */
export const nodeCommand = (project: Project, ...words: string[]): Command => ({
  argv: project.packages.isPlugAndPlay ? ['yarn', 'node', ...words] : ['node', ...words],
})

/**
 * Without the package manager where that is the same: npm costs 60 MB beside every app, and on SIGTERM it ends without the
 * server that it started. That is so for Node, and for the commands that are known to be no words of a shell.
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

/** Whether a script is `node server.js`, and words are all it is. */
export const isPlainNode = (project: Project, script: string): boolean => {
  const [first, second] = plainWords(productionText(project, script)) ?? []
  return first === 'node' && second !== undefined
}

/** Without the one variable that many scripts set and every app is given anyway. */
export const productionText = (project: Project, script: string): string =>
  scriptText(project, script).replace(/^(?:cross-env +)?NODE_ENV=production +/, '')

export const plainWords = (text: string): string[] | undefined =>
  PLAIN_WORDS.test(text) ? text.split(/ +/) : undefined

const firstOf = (project: Project, names: readonly string[]): string | undefined =>
  names.find((name) => scriptText(project, name) !== '')
