/** What planning asks of each framework, and the few questions that several of them ask in turn. */
import { posix } from 'node:path'
import { Problem } from '../../contract/index.ts'
import type { Plan, ServerOutput, StaticOutput } from '../plan.ts'
import type { Project } from '../project.ts'

export type Framework = {
  name: string
  /** Its configuration files: of several that are there, the first is the one that counts. */
  reads: readonly string[]
  /** Nothing if the app is not made with this framework. */
  choose(project: Project): Choice | undefined
}

/** The part of a plan that the framework decides. */
export type Choice = Partial<Pick<Plan, 'build' | 'caches' | 'environment'>> & {
  version?: string
  because: string[]
  output: StaticOutput | ServerOutput
}

export const rangeOf = (project: Project, name: string): string | undefined => project.packageJson?.dependencies[name]

export const firstDependencyOf = (project: Project, names: readonly string[]): string | undefined =>
  names.find((name) => rangeOf(project, name) !== undefined)

/** The configuration file that the framework will read, if there is one. */
export function configOf(project: Project, reads: readonly string[]): { path: string; text: string } | undefined {
  const path = reads.find((name) => project.files.has(name))
  return path === undefined ? undefined : { path, text: project.texts[path] ?? '' }
}

/** A folder that a configuration names, relative to the root directory. */
export function folderInside(written: string, whoSays: string): string {
  const folder = posix.normalize(written).replace(/(?<=.)\/$/, '')
  if (!posix.isAbsolute(folder) && folder !== '..' && !folder.startsWith('../')) return folder
  throw new Problem('PLAN_FAILED', `${whoSays} puts the output into ${written}, outside of the app's own folder.`)
}

/** `/docs/` and `/docs` as `/docs`; empty for the top, for a relative base and for another host. */
export const basePathOf = (written: string): string => (/^\/(?!\/)./.test(written) ? written.replace(/\/+$/, '') : '')
