/** Which script of package.json builds the app, which one starts it, and how to run that one. */
import type { Command } from './plan.ts'
import type { Project } from './project.ts'

/** Made for a host like this one, so they say what is wanted whatever the framework; the second is another host's. */
const NAMED_BUILDS = ['headland-build', 'wpe-build']
const NAMED_STARTS = ['headland-start', 'wpe-start']

/**
 * Many starters map `start` to a server for development, which answers but is slow, large and not meant to be public.
 * Found among the words of a script, so that `cross-env PORT=1 webpack serve` is one as well.
 */
const DEVELOPMENT_SERVER = new RegExp(
  `(?:^|[\\s/])(?:${[
    'react-scripts start',
    'vue-cli-service serve',
    '(?:astro|gatsby|next|nuxi|nuxt|remix|vinxi|vitepress|vuepress|react-router) dev(?:elop)?',
    '(?:astro|vitepress) preview',
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

export const buildScript = (project: Project): string | undefined => firstOf(project, [...NAMED_BUILDS, 'build'])

export const startScript = (project: Project): string | undefined => firstOf(project, [...NAMED_STARTS, 'start'])

/** A start script that somebody wrote for a host, not for a framework. */
export const namedStart = (project: Project): string | undefined => firstOf(project, NAMED_STARTS)

export const scriptText = (project: Project, name: string): string => project.packageJson?.scripts[name]?.trim() ?? ''

export function isDevelopmentServer(project: Project, script: string): boolean {
  return !NAMED_STARTS.includes(script) && DEVELOPMENT_SERVER.test(scriptText(project, script))
}

export const buildCommand = (project: Project): Command | undefined => {
  const script = buildScript(project)
  return script === undefined ? undefined : { argv: ['npm', 'run', script] }
}

/**
 * Without npm where that is the same: npm costs 60 MB beside every app, and on SIGTERM it ends without the server that
 * it started.
 */
export function startCommand(project: Project, script: string): Command {
  const direct = isAlone(project, script) ? plainNode(project, script) : undefined
  return { argv: direct ?? ['npm', 'run', '--silent', script] }
}

/** Whether npm would run this script and nothing before or after it. */
export const isAlone = (project: Project, script: string): boolean =>
  scriptText(project, `pre${script}`) === '' && scriptText(project, `post${script}`) === ''

/** `node server.js` as its words, if words are all it is. */
export function plainNode(project: Project, script: string): string[] | undefined {
  const text = productionText(project, script)
  return /^node +\S/.test(text) ? plainWords(text) : undefined
}

/** Without the one variable that many scripts set and every app is given anyway. */
export const productionText = (project: Project, script: string): string =>
  scriptText(project, script).replace(/^(?:cross-env +)?NODE_ENV=production +/, '')

export const plainWords = (text: string): string[] | undefined =>
  PLAIN_WORDS.test(text) ? text.split(/ +/) : undefined

const firstOf = (project: Project, names: readonly string[]): string | undefined =>
  names.find((name) => scriptText(project, name) !== '')
