/** How an app with a server is started: by the framework's own server, or by one that the app brings. */
import { posix } from 'node:path'
import type { Command, ServerOutput } from '../plan.ts'
import type { Project } from '../project/project.ts'
import { isAlone, isDevelopmentServer, productionText, startCommand, startScript } from '../project/scripts.ts'

export type OwnServer = {
  /** What must be kept to run it. */
  folder: string
  start: Command
  /** How scripts write the same. */
  isWritten: RegExp
  /** Commands of the framework that start a server for production. */
  commands?: readonly string[]
  writable?: string[]
  environment?: Record<string, string>
}

export const serverIn = (
  folder: string,
  start: Command,
  more: Partial<Omit<ServerOutput, 'kind' | 'folder' | 'start'>> = {},
): ServerOutput => ({ kind: 'server', folder, copies: [], start, writable: [], environment: {}, ...more })

/** The script that starts a server of the app's own making; undefined where the framework's is meant, or none at all. */
export function customStart(project: Project, isWritten?: RegExp): string | undefined {
  const script = startScript(project)
  if (script === undefined || isDevelopmentServer(project, script)) return undefined
  return isWritten?.test(productionText(project, script)) && isAlone(project, script) ? undefined : script
}

type Served = { output: ServerOutput; because: string[] }

/** By a script of the app. It may need anything, so everything is kept. */
export const serveByScript = (
  project: Project,
  script: string,
  { commands = [], writable = [], environment = {} }: Partial<OwnServer> = {},
): Served => ({
  output: serverIn('.', startCommand(project, script, commands), { writable, environment }),
  because: [`the script ${script} of package.json starts it`],
})

/** By the framework's own server, unless the app brings one. */
export function serve(project: Project, own: OwnServer): Served {
  const { folder, start, isWritten, writable = [], environment = {} } = own
  const custom = customStart(project, isWritten)
  if (custom !== undefined)
    return serveByScript(project, custom, { ...own, writable: writable.map((path) => posix.join(folder, path)) })
  const ignored = startScript(project)
  const because =
    ignored !== undefined && isDevelopmentServer(project, ignored)
      ? [`the script ${ignored} starts a server for development, so it is not used`]
      : []
  return { output: serverIn(folder, start, { writable, environment }), because }
}
