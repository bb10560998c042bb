/** How an app with a server is started: by the framework's server, or by one of its own. */
import { posix } from 'node:path'
import type { Command, ServerOutput } from '../plan.ts'
import type { Project } from '../project/project.ts'
import { isAlone, isDevelopmentServer, productionText, startCommand, startScript } from '../project/scripts.ts'

export type OwnServer = {
  /** What must be kept to run it. */
  folder: string
  start: Command
  /** Matches a script that does the same. */
  isWritten: RegExp
  /** Commands of the framework that start a server for production. */
  commands?: readonly string[]
  writable?: string[]
  environment?: Record<string, string>
  /** The folder in `folder` with the files for browsers. */
  client?: string
}

export const serverIn = (
  folder: string,
  start: Command,
  more: Partial<Omit<ServerOutput, 'kind' | 'folder' | 'start'>> = {},
): ServerOutput => ({ kind: 'server', folder, copies: [], start, writable: [], environment: {}, ...more })

/** The folder of files for browsers, which are served from the top of the app. */
export const assetsIn = (client: string | undefined): Pick<ServerOutput, 'assets'> =>
  client === undefined ? {} : { assets: [{ folder: client, address: '' }] }

/** The script that starts the app's own server; undefined where it starts the framework's server, or none. */
export function customStart(project: Project, isWritten?: RegExp): string | undefined {
  const script = startScript(project)
  if (script === undefined || isDevelopmentServer(project, script)) return undefined
  return isWritten?.test(productionText(project, script)) && isAlone(project, script) ? undefined : script
}

type Served = { output: ServerOutput; because: string[] }

/** By a script of the app. It may need any file, so everything is kept. */
export const serveByScript = (
  project: Project,
  script: string,
  { commands = [], writable = [], environment = {}, client }: Partial<OwnServer> = {},
): Served => ({
  output: serverIn('.', startCommand(project, script, commands), { writable, environment, ...assetsIn(client) }),
  because: [`the script ${script} of package.json starts it`],
})

/** By the framework's server, unless the app has its own. */
export function serve(project: Project, own: OwnServer): Served {
  const { folder, start, isWritten, writable = [], environment = {}, client } = own
  const custom = customStart(project, isWritten)
  if (custom !== undefined)
    return serveByScript(project, custom, {
      ...own,
      writable: writable.map((path) => posix.join(folder, path)),
      ...(client === undefined ? {} : { client: posix.join(folder, client) }),
    })
  const ignored = startScript(project)
  const because =
    ignored !== undefined && isDevelopmentServer(project, ignored)
      ? [`the script ${ignored} starts a server for development, so it is not used`]
      : []
  return { output: serverIn(folder, start, { writable, environment, ...assetsIn(client) }), because }
}
