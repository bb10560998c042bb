/** What planning needs of each framework, and helpers that several frameworks share. */
import { posix } from 'node:path'
import semver from 'semver'
import { Problem } from '../../../contract/index.ts'
import type { Plan, ServerOutput, StaticOutput } from '../plan.ts'
import type { Project } from '../project/project.ts'

export type Framework = {
  name: string
  /** Its configuration files, in the order of precedence. */
  reads: readonly string[]
  /** More configuration files, where they can be in any folder. */
  readsBeside?(files: ReadonlySet<string>): string[]
  /** Undefined if the app does not use this framework. */
  choose(project: Project): Choice | undefined
}

/** The part of a plan that the framework decides. */
export type Choice = Partial<Pick<Plan, 'build' | 'caches' | 'environment' | 'adapter'>> & {
  version?: string
  because: string[]
  output: StaticOutput | ServerOutput
}

const MAX_RANGE_LENGTH = 100

/** Cut to a maximum length, since it is stored with the build. */
export const rangeOf = (project: Project, name: string): string | undefined =>
  project.packageJson?.dependencies[name]?.slice(0, MAX_RANGE_LENGTH)

export const firstDependencyOf = (project: Project, names: readonly string[]): string | undefined =>
  names.find((name) => rangeOf(project, name) !== undefined)

/** The lowest major version of a range; infinity for `*` and for names such as `latest`. */
export function majorIn(range: string): number {
  const isRange = range.length < MAX_RANGE_LENGTH && range !== '*' && semver.validRange(range) !== null
  return (isRange ? semver.minVersion(range)?.major : undefined) ?? Number.POSITIVE_INFINITY
}

export const namesWith = (name: string, extensions: readonly string[]): string[] =>
  extensions.map((extension) => `${name}.${extension}`)

/** The configuration file that the framework reads, if there is one. */
export function configOf(project: Project, reads: readonly string[]): { path: string; text: string } | undefined {
  const path = reads.find((name) => project.files.has(name))
  return path === undefined ? undefined : { path, text: project.texts[path] ?? '' }
}

/** A folder that a configuration names, relative to the root directory; throws if it is outside. */
export function folderInside(written: string, whoSays: string): string {
  const folder = posix.normalize(written).replace(/(?<=.)\/$/, '')
  if (!posix.isAbsolute(folder) && folder !== '..' && !folder.startsWith('../')) return folder
  throw new Problem('PLAN_FAILED', `${whoSays} puts the output into ${written}, outside of the app's own folder.`)
}

/** `/docs/` and `/docs` as `/docs`; empty for the top, for a relative base and for another host. */
export const basePathOf = (written: string): string => (/^\/(?!\/)./.test(written) ? written.replace(/\/+$/, '') : '')

/** Files that need no server. */
export const filesIn = (folder: string, more: Partial<Omit<StaticOutput, 'kind' | 'folder'>> = {}): StaticOutput => ({
  kind: 'static',
  folder,
  candidates: [],
  singlePage: false,
  basePath: '',
  ...more,
})

/** `remedy` names the package with which the app can run here. */
export const cannotRun = (what: string, remedy: string): Problem =>
  new Problem('PLAN_FAILED', `${what}, which cannot run here. ${remedy}`)
